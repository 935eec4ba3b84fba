import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { projectPolicy } from '../../workspaces/projects/policy';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import type { NotificationConfiguration } from './notification-configuration';

/** Where notifications go is a credential as often as not: who may not change it does not see it either. */
const manages = (access: Access, { workspace, project }: NotificationConfiguration): boolean =>
  workspace
    ? workspacePolicy['can-update'](access, workspace)
    : project !== null && projectPolicy['can-update'](access, { ...project, isDefault: false });

export const notificationPolicy = policy<NotificationConfiguration>()({ 'can-update': manages });

/** Whether a caller may know that it exists. */
export const sees = (access: Access, { workspace, project }: NotificationConfiguration): boolean =>
  workspace
    ? workspacePolicy['can-read-settings'](access, workspace)
    : project !== null && projectPolicy['can-read'](access, { ...project, isDefault: false });
