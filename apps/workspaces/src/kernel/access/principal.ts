import type { AddressRanges } from '@keystead/outside';

/**
 * Kinds of tokens that may call this service. Audit-trail tokens may only read audit trails, SCIM tokens may only
 * manage people and groups, agent tokens may only carry out runs, and tokens of runs may only read modules and
 * providers.
 */
export type PrincipalKind = 'user' | 'team' | 'organization' | 'audit-trails' | 'scim' | 'agent' | 'run';

/**
 * The caller, to whom the token belongs. It is read from the database for each request and never cached.
 *
 * `id` is that of the user, team, agent pool or organization (`org-…`). All tokens except those of users and
 * directories belong to `organizationId`. `siteAdmin` and `twoFactor` are only ever true for users.
 */
export interface Principal {
  readonly kind: PrincipalKind;
  readonly id: string;
  readonly name: string;
  readonly tokenId: string;
  /** The lifetime of the token from creation to expiry; undefined if it never expires. */
  readonly tokenLifeMs?: number;
  readonly organizationId?: string;
  readonly siteAdmin: boolean;
  readonly twoFactor: boolean;
  /**
   * Set if an earlier request takes effect now, without a token. The sign-in was checked when the request was sent;
   * permissions are checked again now.
   */
  readonly requested?: 'earlier';
  /** The address of the request; undefined if an earlier request takes effect now. */
  readonly address?: string;
  /** For an agent: the addresses from which it may connect. */
  readonly onlyFrom?: AddressRanges;
  /** Set for an agent of the installation itself, which does not belong to a pool. */
  readonly isOwnWorker?: true;
  /**
   * Set if the token came from signing in: the time of the sign-in, the last use before this request, and the longest
   * idle time before that.
   */
  readonly session?: { readonly startedAtMs: number; readonly idleSinceMs: number; readonly longestRestMs: number };
  /** Set if the console sends the request for a user: the time until which their last proof of identity is valid. */
  readonly console?: { readonly stepUpUntilMs: number };
}
