import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import type { Membership } from './service';

const isOwn = (access: Access, { userId }: Membership): boolean => access.isUser && access.principal.id === userId;

/** Whether the caller sees a membership. Members see each other. Users also see their own invitations. */
export function seesMembership(access: Access, membership: Membership): boolean {
  return access.isMember(membership.organizationId) || isOwn(access, membership);
}

/** The permission rules of memberships. Only owners may remove owners; everyone else may leave. */
export const membershipPolicy = policy<Membership>()({
  'can-destroy': (access, membership) =>
    isOwn(access, membership) ||
    access.isOwner(membership.organizationId) ||
    (!membership.isOwner && access.can(membership.organizationId, 'manage-membership')),
});
