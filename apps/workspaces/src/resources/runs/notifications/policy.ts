import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { hearsForTeam, seesTeam } from '../../people/teams/policy';
import { projectPolicy } from '../../workspaces/projects/policy';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import type { NotificationConfiguration } from './notification-configuration';

/**
 * Whether the caller may manage a configuration. Only such callers also see its address, because it is often a
 * credential.
 */
function manages(access: Access, { workspace, project, team }: NotificationConfiguration): boolean {
  if (workspace) return workspacePolicy['can-update'](access, workspace);
  if (team) return hearsForTeam(access, team);
  return project !== null && projectPolicy['can-update'](access, { ...project, isDefault: false });
}

export const notificationPolicy = policy<NotificationConfiguration>()({ 'can-update': manages });

/** Whether the caller may know that a configuration exists. */
export function sees(access: Access, { workspace, project, team }: NotificationConfiguration): boolean {
  if (workspace) return workspacePolicy['can-read-settings'](access, workspace);
  if (team) return seesTeam(access, team);
  return project !== null && projectPolicy['can-read'](access, { ...project, isDefault: false });
}
