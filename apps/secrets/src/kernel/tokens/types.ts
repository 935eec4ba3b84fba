import type { Soon } from '../../sdk/soon';
import type { WriteSet } from '../storage/types';

/** Whether a token is a stored row or a self-contained encrypted blob. */
export type TokenType = 'service' | 'batch';

/** A live token, decrypted. Times are epoch milliseconds, durations whole seconds. */
export interface TokenRecord {
  /** Keyed hash of the token; for batch tokens of the whole blob. */
  readonly hash: Buffer;
  /** Hex of `hash`, for use as a key: the private folder of cubbyhole, cache keys. */
  readonly key: string;
  readonly type: TokenType;
  /** Empty for batch tokens. */
  readonly accessor: string;
  readonly parentHash?: Buffer;
  readonly namespaceId: string;
  /** The path that created the token, relative to its namespace: `auth/token/create` or a login path. */
  readonly path: string;
  readonly displayName: string;
  /** The token's own policies, sorted, without those of the entity and its groups. */
  readonly policies: readonly string[];
  readonly meta: Readonly<Record<string, string>> | null;
  readonly entityId?: string;
  /** The alias of the login that created the token. */
  readonly aliasId?: string;
  /** Uuid of the auth mount that issued it. */
  readonly mountId?: string;
  /** The token role, if the token was created with one. */
  readonly role?: string;
  readonly createdAtMs: number;
  /** The time of the login; a child token has its parent's. */
  readonly authenticatedAtMs: number;
  /** Absent if the token never expires. */
  readonly expiresAtMs?: number;
  readonly lastRenewalMs?: number;
  /** The TTL at creation or at the last renewal. */
  readonly ttlSeconds: number;
  /** The cap of the issuing role or auth method, 0 for none; renewals observe it. */
  readonly maxTtlSeconds: number;
  readonly explicitMaxTtlSeconds: number;
  readonly periodSeconds: number;
  readonly renewable: boolean;
  /** The value at creation; 0 is unlimited. */
  readonly numUses: number;
  /** Undefined for unlimited; -1 when the last use has been taken: the token can no longer be used. */
  readonly usesLeft?: number;
  readonly boundCidrs: readonly string[];
  readonly orphan: boolean;
  /** Data of the issuing auth method for renewals. */
  readonly internal?: Readonly<Record<string, unknown>>;
  /** Set for wrapping tokens, whose only policy is the internal one; see `kernel/wrapping`. */
  readonly wrapping?: { readonly creationPath: string; readonly ttlSeconds: number };
}

/** The properties of a new token; all rules about who may request it have been checked already. */
export interface TokenSpec {
  readonly type: TokenType;
  /** Chosen by a sudo caller; otherwise random. */
  readonly id?: string;
  /** Undefined if the token is an orphan. */
  readonly parent?: TokenRecord;
  /** The time of the login. By default, the login time of the parent, or now if there is no parent. */
  readonly authenticatedAtMs?: number;
  readonly namespaceId: string;
  /** Appended to the token of a child namespace; `''` for root. */
  readonly namespaceShortId: string;
  readonly path: string;
  readonly displayName: string;
  readonly policies: readonly string[];
  readonly meta?: Readonly<Record<string, string>> | null;
  readonly entityId?: string;
  readonly aliasId?: string;
  readonly mountId?: string;
  readonly role?: string;
  /** 0 means that the token never expires; only root tokens may have it. */
  readonly ttlSeconds: number;
  readonly maxTtlSeconds?: number;
  readonly explicitMaxTtlSeconds?: number;
  readonly periodSeconds?: number;
  readonly renewable: boolean;
  readonly numUses?: number;
  readonly boundCidrs?: readonly string[];
  readonly internal?: Readonly<Record<string, unknown>>;
  readonly wrapping?: { readonly creationPath: string; readonly ttlSeconds: number };
}

/** A new token. Only this object contains the token itself. */
export interface MintedToken {
  readonly token: string;
  readonly record: TokenRecord;
}

/** Creates, finds and uses tokens. `kernel/leases` ends them. */
export interface Tokens {
  /**
   * The live record of a request's own token; undefined if it is unknown, expired or revoked, or if it is a batch token
   * whose parent has ended. Tokens that a request refers to are found with `findWithin`.
   */
  find(token: string): Soon<TokenRecord | undefined>;
  findByHash(hash: Buffer): Promise<TokenRecord | undefined>;
  /**
   * A live token that is visible in a namespace, because it was created there or below. Undefined for any other token.
   */
  findWithin(namespaceId: string, token: string): Promise<TokenRecord | undefined>;
  /** Like `findWithin`, by accessor. */
  findByAccessor(namespaceId: string, accessor: string): Promise<TokenRecord | undefined>;
  /**
   * Counts one use in the database and returns the record after it; unlimited tokens cost nothing. `usesLeft` is -1
   * after the last use: the caller ends the token after the request. Throws `denied` if another request took the last
   * use.
   */
  spend(record: TokenRecord): Promise<TokenRecord>;
  /** Adds a new token to the write set. It can be found after the set's commit. */
  mint(spec: TokenSpec, set: WriteSet): MintedToken;
  /**
   * The results of `each` for the tokens of a namespace, all or in pages. They are in the order of the keyed hashes of
   * their accessors, which is the only indexed order. `after` is an accessor.
   */
  listLive<T>(
    namespaceId: string,
    each: (token: TokenRecord) => T,
    page?: { after?: string; limit?: number },
  ): Promise<T[]>;
  /**
   * Tokens of a namespace that another token created with a TTL of a day or longer, and that expire in a range of time,
   * earliest first.
   */
  listExpiring(namespaceId: string, range: { fromMs: number; untilMs: number; limit: number }): Promise<TokenRecord[]>;
}
