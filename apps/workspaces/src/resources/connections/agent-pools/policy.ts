import { policy } from '../../../kernel/access/policy';

/** Who may see and who may change agent pools. */
export const poolPolicy = policy<{ readonly organizationId: string }>()({
  'can-read': (access, { organizationId }) => access.isMember(organizationId),
  'can-update': (access, { organizationId }) => access.can(organizationId, 'manage-agent-pools'),
});
