/**
 * Kinds of token that may call this service. Audit-trail tokens may only read audit trails, SCIM tokens only manage people
 * and groups, agent tokens only carry out runs, and those of runs only read modules and providers.
 */
export type PrincipalKind = 'user' | 'team' | 'organization' | 'audit-trails' | 'scim' | 'agent' | 'run';

/**
 * Who is calling, as the token says; read from the database for each request, never remembered.
 *
 * `id` names the user, team, agent pool or organization (its `org-…` id). A token of another kind than a person's belongs
 * to `organizationId`, except a directory's. `siteAdmin` and `twoFactor` are only ever true for users.
 */
export interface Principal {
  readonly kind: PrincipalKind;
  readonly id: string;
  readonly name: string;
  readonly tokenId: string;
  /** From when the token was made until it expires; undefined if it never does. */
  readonly tokenLifeMs?: number;
  readonly organizationId?: string;
  readonly siteAdmin: boolean;
  readonly twoFactor: boolean;
  /**
   * Present where what they asked for earlier takes effect now, without a token: how they came in was asked then, what they
   * may do is asked again.
   */
  readonly asked?: 'earlier';
  /** An agent of the installation itself, which belongs to no pool. */
  readonly isOwnWorker?: true;
  /**
   * Present when the token came from signing in: when that was, when it was used before this request, and the longest
   * that it had lain idle by then.
   */
  readonly session?: { readonly startedAtMs: number; readonly idleSinceMs: number; readonly longestRestMs: number };
  /** Present when the console asks for its person: until when they count as having just proved who they are. */
  readonly console?: { readonly stepUpUntilMs: number };
}
