import type { BackgroundCall } from './call';
import type { Path } from './path';
import type { Login } from './reply';

/** How a kind of secret ends and lives on. `internal` is what the secret was registered with. */
export interface SecretKind {
  /**
   * Ends the secret in the outside system. Absent there already counts as done. Throwing keeps the lease for a retry.
   * Absent for secrets that end by themselves.
   */
  revoke?(internal: Readonly<Record<string, unknown>>, call: BackgroundCall): Promise<void>;
  /** The lifetimes a renewal goes by, read from configuration as it is now; absent: the mount's. */
  renew?(
    internal: Readonly<Record<string, unknown>>,
    call: BackgroundCall,
  ): Promise<{ ttlSeconds?: number; maxTtlSeconds?: number; data?: Readonly<Record<string, unknown>> }>;
  /** Tells the outside system of the new end, before the lease has it. Throwing refuses the renewal. */
  prolong?(internal: Readonly<Record<string, unknown>>, call: BackgroundCall, expiresAtMs: number): Promise<void>;
}

/** A kind of mount: its endpoints, and how what it hands out is ended. */
export interface Backend {
  readonly type: string;
  readonly kind: 'secret' | 'auth' | 'system';
  readonly summary: string;
  readonly paths: readonly Path[];
  /** `per-token` gives every token a separate storage, cleared when the token ends. */
  readonly storage: 'shared' | 'per-token';
  readonly secrets: Readonly<Record<string, SecretKind>>;
  /** Auth methods: the login as it would be now, when its token is renewed. Throws a refusal to forbid the renewal. */
  readonly renewLogin?: (login: StoredLogin, call: BackgroundCall) => Promise<Partial<Login>>;
  /** Undoes outside effects whose call never finished, by intent kind. */
  readonly undo: Readonly<
    Record<string, (undo: Readonly<Record<string, unknown>>, call: BackgroundCall) => Promise<void>>
  >;
  /**
   * Its endpoints ask other systems, which may refuse or be away. What it stores under `config/` says how they are reached:
   * a write there ends the rests of leases that could not be ended.
   */
  readonly outside?: boolean;
  /**
   * Work by the clock, asked for every few seconds on every node: usually it reads when something is due, from storage,
   * and where it is, makes sure in the database that only one node does it. Failures are logged.
   */
  readonly tick?: (call: BackgroundCall) => Promise<void>;
  /** A warning for callers of a path that has no endpoint here, but has one in other versions of the type. */
  readonly elsewhere?: string;
  /** Mount options this type understands, with their defaults (kv: version). */
  readonly optionDefaults?: Readonly<Record<string, string>>;
}

/** What is remembered of a login for its renewals. */
export interface StoredLogin {
  readonly internal: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly policies: readonly string[];
  readonly displayName: string;
  readonly entityId: string;
  /** The certificates that the renewing client has shown: see `Call.certificates`. */
  certificates(): readonly Buffer[];
}

/** Declares a kind of mount. */
export function backend(spec: Pick<Backend, 'type' | 'kind' | 'summary' | 'paths'> & Partial<Backend>): Backend {
  return { storage: 'shared', secrets: {}, undo: {}, ...spec };
}
