import type { Access, WorkspaceTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';

/** An object that has the rights of the workspace it belongs to. */
export interface RunTarget {
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget;
}

const applies = (access: Access, { workspace }: RunTarget): boolean => access.has(workspace, 'runs:apply');

/** Whether the caller may see a run, with its plan, apply, events and comments. */
export const readsRun = (access: Access, { workspace }: RunTarget): boolean => access.has(workspace, 'runs:read');

/** Whether the caller may read a complete plan, which shows sensitive values. */
export const administers = (access: Access, { workspace }: RunTarget): boolean =>
  access.has(workspace, 'settings:write');

/** The permission rules of runs, by the names that the API shows. */
export const runPolicy = policy<RunTarget>()({
  'can-apply': applies,
  'can-cancel': applies,
  'can-comment': (access, { workspace }) => access.has(workspace, 'runs:plan'),
  'can-discard': applies,
  'can-force-execute': applies,
  'can-force-cancel': administers,
  'can-override-tasks': (access, { organizationId }) => access.can(organizationId, 'manage-run-tasks'),
  'can-override-policy-check': (access, { workspace }) => access.has(workspace, 'policies:override'),
});

/** The organizations whose rules apply to an object. */
export const organizationsOf = ({ organizationId }: { organizationId?: string }): string[] =>
  organizationId ? [organizationId] : [];
