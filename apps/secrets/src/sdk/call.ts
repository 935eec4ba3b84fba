import type { CanonicalPath, Spelling } from './canonical-path';
import type { Storage } from './storage';

/** The verbs of a request. */
export const verbs = ['read', 'list', 'scan', 'write', 'delete', 'patch'] as const;
export type Verb = (typeof verbs)[number];

/** True for verbs that list a folder: the names in it, or everything below. */
export const isListing = (verb: Verb): verb is 'list' | 'scan' => verb === 'list' || verb === 'scan';

/** True for verbs that change nothing. */
export const isReading = (verb: Verb): boolean => verb === 'read' || isListing(verb);

/** The properties of the caller's token that a handler may see, without the token itself. */
export interface CallerToken {
  readonly hash: string;
  readonly accessor: string;
  readonly type: 'service' | 'batch';
  readonly namespaceId: string;
  /** The token's own policies, without those of its entity. */
  readonly policies: readonly string[];
  readonly displayName: string;
  readonly path: string;
  readonly meta: Readonly<Record<string, string>> | null;
  /** Uuid of the mount that issued it; for a token from a login, the auth method. */
  readonly mountId?: string;
  readonly entityId: string;
  /** 0 is unlimited; -1 means that this request is the last use. */
  readonly usesLeft: number;
  /** Epoch milliseconds; null never expires. */
  readonly expiresAtMs: number | null;
  readonly orphan: boolean;
  readonly role?: string;
  readonly createdAtMs: number;
  /** When its owner logged in. */
  readonly authenticatedAtMs: number;
  readonly lastRenewalMs?: number;
  /** The value at creation, in seconds; 0 for none. */
  readonly ttlSeconds: number;
  readonly explicitMaxTtlSeconds: number;
  readonly periodSeconds: number;
  readonly numUses: number;
  readonly renewable: boolean;
  readonly boundCidrs: readonly string[];
}

/** Who makes this call. */
export interface Caller {
  /** Absent on login paths and in anonymous requests. */
  readonly token?: CallerToken;
  /** Empty for callers without an entity. */
  readonly entityId: string;
  readonly displayName: string;
  /** Token, entity and group policies together; empty for anonymous callers. */
  readonly policies: readonly string[];
  readonly root: boolean;
  /** True if the caller's policies grant sudo on the path of this call (root always). */
  readonly sudo: boolean;
  /** The peer's address, after trusted proxies. */
  readonly address: string;
}

/** The mount that answers this call. */
export interface MountView {
  readonly uuid: string;
  readonly accessor: string;
  /** With its trailing slash, `auth/` included for auth methods: `cubbyhole/`, `auth/userpass/`. */
  readonly path: string;
  readonly type: string;
  readonly kind: 'secret' | 'auth' | 'system';
  readonly options: Readonly<Record<string, string>> | null;
  /** Effective lifetimes: the mount's own, or the system's. */
  readonly defaultLeaseTtlSeconds: number;
  readonly maxLeaseTtlSeconds: number;
  readonly local: boolean;
}

/** The namespace of a call; the root namespace has the id `root` and an empty path. */
export interface NamespaceView {
  /** The kernel's id; `id` is the short one that clients see. */
  readonly uuid: string;
  readonly id: string;
  readonly path: string;
}

/** A request to the same mount that a call executes while it handles another request. */
export interface Included {
  readonly operation: 'create' | 'update' | 'read' | 'delete' | 'list';
  /** Below the mount. */
  readonly path: string;
  /** Its parameters, for rules about them. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /**
   * Whether the call destroys data permanently, so that users of the console must have confirmed their identity
   * recently.
   */
  readonly destroys?: boolean;
}

/** Everything a handler gets: parsed, checked, and already allowed. */
export interface Call<P = Readonly<Record<string, string>>, I = Readonly<Record<string, unknown>>> {
  readonly verb: Verb;
  /** Below the mount, without a leading slash; ends in `/` (or is empty) for lists. */
  readonly path: CanonicalPath;
  readonly params: P;
  /** The folded parameter as the caller wrote it, for names that are shown as first written. */
  readonly written: Spelling | undefined;
  readonly input: I;
  /**
   * For freeform operations, the fields as sent, with the digits of their numbers; for all others, only which fields
   * were sent: null for a field sent as null, true for any other. The values are in `input`, which the parameter rules
   * of policies also check.
   */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The fields as JSON text, every number with its digits: what freeform operations store. */
  fieldsText(): string;
  /** The result of the path's `stored`, if it declares one. */
  readonly stored: unknown;
  readonly storage: Storage;
  readonly caller: Caller;
  readonly mount: MountView;
  readonly namespace: NamespaceView;
  readonly requestId: string;
  /** The token as sent; only for the system's own backends. */
  readonly sentToken?: string;
  /** A client's name and password (`Authorization: Basic`). Only for system backends. */
  readonly sentBasic?: { readonly name: string; readonly password: string };
  /** Second factors sent along with a login. */
  readonly mfa: readonly string[];
  /** The time of this call in epoch milliseconds. It is read only once per call. */
  readonly nowMs: number;
  /** 0 if the answer is not to be wrapped. */
  readonly wrapTtlSeconds: number;
  /**
   * The certificates that the client sent, as DER: its own first, then its chain. Only one thing is verified: that the
   * client has the key of the first certificate. Throws `invalid` if a proxy sent something else instead.
   */
  certificates(): readonly Buffer[];
  /**
   * The text with its identity templates (`{{identity.entity.name}}`) filled from the caller; undefined if one of them
   * has no value. A string without templates is returned unchanged.
   */
  filled(text: string): string | undefined;
  /** Whether the request was HEAD: see `Operation.answersHead`. */
  readonly headOnly: boolean;
  /**
   * Starts work of this mount that the answer does not wait for. The work may end with the process, so anything that
   * must be done must also be in storage.
   */
  alongside(work: (call: BackgroundCall) => Promise<void>): void;
  /**
   * Throws `denied` unless the caller's policies allow a request that this one includes, so that a combined operation
   * requires the same permissions as the single ones.
   */
  requireRight(included: Included): void;
  /** Adds a warning to the answer, if it has a body. */
  warn(message: string): void;
  /**
   * A secret that this caller received earlier under this key and can still use: its lease is valid, and no other token
   * can end it earlier. Callers are distinguished by entity, otherwise by token, and never get each other's secrets.
   */
  findReusable(key: string): Promise<ReusableSecret | undefined>;
  /** Active leases of this mount whose issue paths begin with this prefix, earliest expiry first. */
  liveLeases(below: string, most: number): Promise<readonly LiveLease[]>;
  /**
   * Checks one guess at a password of this mount, counted before `judge` checks it; `judge` returns undefined for a
   * wrong guess. Returns undefined without a check after too many guesses at the subject. Only for operations that
   * declare `judges: 'password'`.
   */
  guess<T>(subject: string, judge: () => Promise<T | undefined>): Promise<T | undefined>;
  /** Whether wrong guesses at a password of this mount have locked the subject, for logins that need no password. */
  isLocked(subject: string): Promise<boolean>;
  /** Ends, for an administrator, the lock after guesses at a password of this mount. */
  forgetGuesses(subject: string): Promise<void>;
}

/** The same call with other parameters or other input. Its warnings are added to the answer of the call itself. */
export function callWith<C extends Pick<Call, 'warn'>, P extends object>(call: C, changes: P): Omit<C, keyof P> & P {
  const warn: Call['warn'] = (message) => call.warn(message);
  // Not a spread: it would lose what the call creates only when it is used.
  return Object.assign(Object.create(call, { warn: { value: warn } }), changes);
}

/** A lease of a secret, and what its revocation needs. */
export interface LiveLease {
  readonly id: string;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  readonly internal: Readonly<Record<string, unknown>>;
}

/** A previously issued secret, with the rest of its lease. */
export interface ReusableSecret {
  readonly leaseId: string;
  readonly renewable: boolean;
  readonly secondsLeft: number;
  /** The remaining share of its lifetime since it was issued or last renewed: between 0 and 1. */
  readonly fractionLeft: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The context of a backend outside a request: to revoke, renew, undo or sweep. */
export interface BackgroundCall {
  readonly storage: Storage;
  readonly mount: MountView;
  readonly nowMs: number;
}
