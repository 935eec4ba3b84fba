import type { Call } from '../../sdk/call';
import type { AuthBlock } from '../../sdk/reply';

/** A live token as its own backend sees it. Times are epoch milliseconds, durations whole seconds. */
export interface TokenDetails {
  readonly key: string;
  readonly type: 'service' | 'batch';
  readonly accessor: string;
  readonly namespaceId: string;
  readonly path: string;
  readonly displayName: string;
  readonly policies: readonly string[];
  readonly meta: Readonly<Record<string, string>> | null;
  readonly entityId?: string;
  readonly role?: string;
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
  readonly lastRenewalMs?: number;
  readonly ttlSeconds: number;
  readonly explicitMaxTtlSeconds: number;
  readonly periodSeconds: number;
  readonly renewable: boolean;
  readonly numUses: number;
  readonly usesLeft?: number;
  readonly boundCidrs: readonly string[];
  readonly orphan: boolean;
}

/** Token records and their endings. */
export interface TokenPort {
  /** The token a call is made with. */
  findOwn(token: string): Promise<TokenDetails | undefined>;
  /** A token as a namespace sees it: made there or below. */
  find(namespaceId: string, token: string): Promise<TokenDetails | undefined>;
  /** The same by accessor. */
  findByAccessor(namespaceId: string, accessor: string): Promise<TokenDetails | undefined>;
  listAccessors(namespaceId: string, page: { after?: string; limit?: number }): Promise<readonly string[]>;
  /** Prolongs a token. Throws `invalid` when it cannot be. */
  renew(token: TokenDetails, incrementSeconds: number): Promise<{ ttlSeconds: number; warnings: readonly string[] }>;
  /** Ends a token, its descendants, and everything they own. */
  revoke(token: TokenDetails): Promise<void>;
  /** Ends a token and makes orphans of its children. */
  revokeOrphan(token: TokenDetails): Promise<void>;
  /** Looks for remains of ended tokens in the background. */
  tidy(): void;
  /** The `auth` block of a token; `token` is empty where only its accessor is known. */
  describe(token: string, details: TokenDetails, ttlSeconds: number): Promise<AuthBlock>;
  /** Policies of an entity and its groups, in its own namespace and in others by their path. */
  identityPolicies(
    entityId: string,
  ): Promise<{ own: readonly string[]; external: Readonly<Record<string, readonly string[]>> }>;
  /** The entity an alias of the token mount stands for, made if absent. */
  entityOfAlias(namespaceId: string, mountUuid: string, name: string): Promise<string>;
  /** Those of the names no policy has. */
  missingPolicies(namespaceId: string, names: readonly string[]): Promise<readonly string[]>;
  namespacePath(namespaceId: string): string;
}

/** The token that a text names: the one the call is made with, or one that the namespace of the call sees. */
export function findNamed(
  tokens: TokenPort,
  { namespace, sentToken }: Pick<Call, 'namespace' | 'sentToken'>,
  token: string,
): Promise<TokenDetails | undefined> {
  return token === sentToken ? tokens.findOwn(token) : tokens.find(namespace.uuid, token);
}
