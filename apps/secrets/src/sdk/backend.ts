import type { BackgroundCall } from './call';
import type { Path } from './path';
import type { Login } from './reply';

/** How a kind of secret is revoked and renewed. `internal` is the data that was stored when the secret was registered. */
export interface SecretKind {
  /**
   * Revokes the secret in the outside system. A secret that no longer exists there is treated as done. Throwing keeps
   * the lease for a retry. Absent for secrets that end by themselves.
   */
  revoke?(internal: Readonly<Record<string, unknown>>, call: BackgroundCall): Promise<void>;
  /** The lifetimes for a renewal, from the current configuration; default: the lifetimes of the mount. */
  renew?(
    internal: Readonly<Record<string, unknown>>,
    call: BackgroundCall,
  ): Promise<{ ttlSeconds?: number; maxTtlSeconds?: number; data?: Readonly<Record<string, unknown>> }>;
  /** Sets the new end in the outside system, before the lease is renewed. Throwing refuses the renewal. */
  prolong?(internal: Readonly<Record<string, unknown>>, call: BackgroundCall, expiresAtMs: number): Promise<void>;
}

/** A kind of mount: its endpoints, and how its secrets are revoked. */
export interface Backend {
  readonly type: string;
  readonly kind: 'secret' | 'auth' | 'system';
  readonly summary: string;
  readonly paths: readonly Path[];
  /** `per-token` gives every token a separate storage, cleared when the token ends. */
  readonly storage: 'shared' | 'per-token';
  readonly secrets: Readonly<Record<string, SecretKind>>;
  /** For auth methods: computes the login again, to renew its token. Throws a refusal to forbid the renewal. */
  readonly renewLogin?: (login: StoredLogin, call: BackgroundCall) => Promise<Partial<Login>>;
  /** Undoes outside effects whose call never finished, by intent kind. */
  readonly undo: Readonly<
    Record<string, (undo: Readonly<Record<string, unknown>>, call: BackgroundCall) => Promise<void>>
  >;
  /**
   * Whether its endpoints call other systems, which may refuse or be unavailable. The entry `config` and the entries
   * under `config/` define how to reach these systems, so a write there ends the pauses of leases that could not be
   * revoked.
   */
  readonly outside?: boolean;
  /**
   * Scheduled work, called every few seconds on every node: it usually reads from storage whether something is due, and
   * if so, makes sure through the database that only one node does it. Failures are logged. It may return when
   * something is due next, in epoch milliseconds: if this is earlier than the next regular call, it is called at this
   * time.
   */
  readonly tick?: (call: BackgroundCall) => Promise<number | undefined | void>;
  /** A warning for callers of a path that only has an endpoint in other versions of the type. */
  readonly elsewhere?: string;
  /** The content of its index by expiry, if it has one: see `endEntry`. */
  readonly expiring?: 'certificates' | 'secrets';
  /** Mount options this type understands, with their defaults (kv: version). */
  readonly optionDefaults?: Readonly<Record<string, string>>;
}

/** The stored data of a login for its renewals. */
export interface StoredLogin {
  readonly internal: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly policies: readonly string[];
  readonly displayName: string;
  readonly entityId: string;
  /** The certificates of the renewing client: see `Call.certificates`. */
  certificates(): readonly Buffer[];
}

/** Declares a kind of mount. */
export function backend(spec: Pick<Backend, 'type' | 'kind' | 'summary' | 'paths'> & Partial<Backend>): Backend {
  return { storage: 'shared', secrets: {}, undo: {}, ...spec };
}
