import type { Access, WorkspaceTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';

/** Whether the caller may start runs. An organization's own token may not. */
const runs = (access: Access, workspace: WorkspaceTarget): boolean => access.has(workspace, 'runs:apply');
const administers = (access: Access, workspace: WorkspaceTarget): boolean => access.has(workspace, 'settings:write');

type DeletedWorkspace = WorkspaceTarget & { readonly projectForceDelete?: boolean | null };

/** Whether a caller who may delete the workspace may do this while it manages resources. */
export const mayForceDelete = (access: Access, { organizationId, projectForceDelete }: DeletedWorkspace): boolean =>
  access.isOwner(organizationId) || (projectForceDelete ?? access.mayForceDelete(organizationId));

/**
 * The permission rules of workspaces, by the names that the API shows.
 * Spec: Workspace (type `workspaces`; id of the form `ws-<id>`)
 */
export const workspacePolicy = policy<DeletedWorkspace>()({
  'can-create-state-versions': (access, ws) => access.has(ws, 'state:write'),
  'can-destroy': (access, ws) => administers(access, ws) || access.has(ws, 'delete'),
  'can-force-unlock': administers,
  'can-lock': (access, ws) => access.has(ws, 'locking'),
  'can-manage-run-tasks': (access, ws) => access.has(ws, 'run-tasks'),
  'can-manage-tags': administers,
  'can-queue-apply': runs,
  'can-queue-destroy': runs,
  'can-queue-run': (access, ws) => access.has(ws, 'runs:plan'),
  'can-read-settings': (access, ws) => access.has(ws, 'runs:read'),
  'can-read-state-versions': (access, ws) => access.has(ws, 'state:read'),
  'can-read-state-outputs': (access, ws) => access.has(ws, 'state:read-outputs'),
  'can-read-variable': (access, ws) => access.has(ws, 'variables:read'),
  'can-unlock': (access, ws) => access.has(ws, 'locking'),
  'can-update': administers,
  'can-update-variable': (access, ws) => access.has(ws, 'variables:write'),
  'can-read-assessment-result': (access, ws) => access.has(ws, 'runs:read'),
  'can-read-assessment-results': (access, ws) => access.has(ws, 'runs:read'),
  'can-manage-assessments': administers,
  'can-force-delete': (access, ws) =>
    (administers(access, ws) || access.has(ws, 'delete')) && mayForceDelete(access, ws),
});
