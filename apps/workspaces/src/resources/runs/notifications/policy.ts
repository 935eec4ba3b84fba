import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { hearsForTeam, seesTeam } from '../../people/teams/policy';
import { projectPolicy } from '../../workspaces/projects/policy';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import type { NotificationConfiguration } from './notification-configuration';

/** The address is often a credential: callers who may not change it do not see it either. */
function manages(access: Access, { workspace, project, team }: NotificationConfiguration): boolean {
  if (workspace) return workspacePolicy['can-update'](access, workspace);
  if (team) return hearsForTeam(access, team);
  return project !== null && projectPolicy['can-update'](access, { ...project, isDefault: false });
}

export const notificationPolicy = policy<NotificationConfiguration>()({ 'can-update': manages });

/** Whether a caller may know that it exists. */
export function sees(access: Access, { workspace, project, team }: NotificationConfiguration): boolean {
  if (workspace) return workspacePolicy['can-read-settings'](access, workspace);
  if (team) return seesTeam(access, team);
  return project !== null && projectPolicy['can-read'](access, { ...project, isDefault: false });
}
