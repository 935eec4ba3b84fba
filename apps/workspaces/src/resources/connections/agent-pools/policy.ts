import type { Access, WorkspaceTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';

interface PoolTarget {
  readonly organizationId: string;
  /** The workspaces that use the pool or may use it. */
  readonly workspaces?: readonly WorkspaceTarget[];
}

/**
 * Callers who see all pools of an organization: those who manage pools, choose a pool for workspaces, or read all
 * settings.
 */
export const seesPools = (access: Access, organizationId: string): boolean =>
  access.can(organizationId, 'manage-agent-pools') ||
  access.can(organizationId, 'read-workspaces') ||
  access.administersSome(organizationId) ||
  access.createsInSome(organizationId);

/** Who may see and who may change agent pools. Other callers see the pools of workspaces that they see. */
export const poolPolicy = policy<PoolTarget>()({
  'can-read': (access, { organizationId, workspaces = [] }) =>
    seesPools(access, organizationId) || workspaces.some((one) => access.has(one, 'runs:read')),
  'can-update': (access, { organizationId }) => access.can(organizationId, 'manage-agent-pools'),
});
