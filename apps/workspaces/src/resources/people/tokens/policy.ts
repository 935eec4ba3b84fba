import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { teamPolicy } from '../teams/policy';
import type { Team } from '../teams/team';
import type { Token } from './service';

/** A token, with its team if it has one. */
export interface JudgedToken extends Token {
  readonly team?: Team;
}

function manages(access: Access, token: JudgedToken): boolean {
  switch (token.kind) {
    case 'user':
    case 'session':
      return access.isUser && token.userId === access.principal.id;
    case 'team':
      return token.team !== undefined && teamPolicy['can-view-api-token'](access, token.team);
    case 'organization':
    case 'audit-trails':
      return ownsOrganization(access, token.organizationId ?? '');
    case 'scim':
      return access.principal.siteAdmin;
    case 'agent':
      return access.can(token.organizationId ?? '', 'manage-agent-pools');
  }
}

/**
 * Whether the caller may manage the organization's own token. The token of the owners team acts as an owner in all
 * other cases, but not here.
 */
export function ownsOrganization(access: Access, organizationId: string): boolean {
  return access.isUser && access.isOwner(organizationId);
}

/** The permission rules of tokens. A caller who may see a token may also revoke it. */
export const tokenPolicy = policy<JudgedToken>()({ 'can-manage': manages });
