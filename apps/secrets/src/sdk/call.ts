import type { CanonicalPath, Spelling } from './canonical-path';
import type { Storage } from './storage';

/** What a request can ask of a path. */
export const verbs = ['read', 'list', 'scan', 'write', 'delete', 'patch'] as const;
export type Verb = (typeof verbs)[number];

/** True of what names a folder and answers with names: those in it, or everything below. */
export const isListing = (verb: Verb): verb is 'list' | 'scan' => verb === 'list' || verb === 'scan';

/** True of what changes nothing. */
export const isReading = (verb: Verb): boolean => verb === 'read' || isListing(verb);

/** What a handler may know of the token that was used; the token itself is not among it. */
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
  readonly entityId: string;
  /** 0 is unlimited; -1 says that this request was the last use. */
  readonly usesLeft: number;
  /** Epoch milliseconds; null never expires. */
  readonly expiresAtMs: number | null;
  readonly orphan: boolean;
  readonly role?: string;
  readonly createdAtMs: number;
  /** When its owner logged in. */
  readonly authenticatedAtMs: number;
  readonly lastRenewalMs?: number;
  /** As given at creation, in seconds; 0 for none. */
  readonly ttlSeconds: number;
  readonly explicitMaxTtlSeconds: number;
  readonly periodSeconds: number;
  readonly numUses: number;
  readonly renewable: boolean;
  readonly boundCidrs: readonly string[];
}

/** Who makes this call. */
export interface Caller {
  /** Absent on login paths and for anonymous requests. */
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
  /** Effective lifetimes: the mount's own, else the system's. */
  readonly defaultLeaseTtlSeconds: number;
  readonly maxLeaseTtlSeconds: number;
  readonly local: boolean;
}

/** The namespace a call is made in; the root namespace has the id `root` and an empty path. */
export interface NamespaceView {
  /** What the kernel knows it by; `id` is the short name clients see. */
  readonly uuid: string;
  readonly id: string;
  readonly path: string;
}

/** A request to the same mount that a call makes the effect of, without being sent. */
export interface Included {
  readonly operation: 'create' | 'update' | 'read' | 'delete' | 'list';
  /** Below the mount. */
  readonly path: string;
  /** What it would be sent with: rules about parameters judge it. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** It destroys for good: people at the console must have proven who they are minutes ago. */
  readonly destroys?: boolean;
}

/** Everything a handler gets: parsed, checked, and already allowed. */
export interface Call<P = Readonly<Record<string, string>>, I = Readonly<Record<string, unknown>>> {
  readonly verb: Verb;
  /** Below the mount, without a leading slash; ends in `/` (or is empty) for lists. */
  readonly path: CanonicalPath;
  readonly params: P;
  /** The folded parameter as the caller wrote it, for names that are shown as they were first written. */
  readonly written: Spelling | undefined;
  readonly input: I;
  /**
   * Of freeform operations the fields as sent, their numbers with the digits that were sent; of all others only which were
   * sent: null, or true for anything else. What a field says is in `input`, where rules about parameters look as well.
   */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The fields as JSON text, every number with its digits: what freeform operations store. */
  fieldsText(): string;
  /** What the path's `stored` found, if it declares it. */
  readonly stored: unknown;
  readonly storage: Storage;
  readonly caller: Caller;
  readonly mount: MountView;
  readonly namespace: NamespaceView;
  readonly requestId: string;
  /** The token as sent; only the system's own backends are shown it. */
  readonly sentToken?: string;
  /** Name and password that a client proves itself with (`Authorization: Basic`); only the system's own backends are shown them. */
  readonly sentBasic?: { readonly name: string; readonly password: string };
  /** Second factors sent along with a login. */
  readonly mfa: readonly string[];
  /** The clock once per call, epoch milliseconds. */
  readonly nowMs: number;
  /** 0 when the answer is not to be wrapped. */
  readonly wrapTtlSeconds: number;
  /**
   * The certificates that the client has shown, as DER: its own first, then those it sent along. Nothing of them is
   * verified but that the client has the key of the first. Throws `invalid` if a proxy sent something else in their place.
   */
  certificates(): readonly Buffer[];
  /**
   * The text with its identity templates (`{{identity.entity.name}}`) filled from the caller; undefined if one of them has
   * no value. A text without templates is answered as it is.
   */
  filled(text: string): string | undefined;
  /** The request was HEAD: see `Operation.answersHead`. */
  readonly headOnly: boolean;
  /** Begins work of this mount that the answer does not wait for. It may end with the process: what must be done is in the storage. */
  alongside(work: (call: BackgroundCall) => Promise<void>): void;
  /**
   * Throws `denied` unless the caller's policies allow a request that this one includes, so that doing several things at once asks
   * for no other rights than doing them one by one.
   */
  requireRight(included: Included): void;
  /** Adds a warning to the answer, if it has a body. */
  warn(message: string): void;
  /**
   * What this caller was given earlier under this key and can go on using: their lease lives, and no other token can end
   * it sooner. Callers are distinguished by entity, else by token, and never get each other's.
   */
  findReusable(key: string): Promise<ReusableSecret | undefined>;
  /**
   * Judges one guess at a password of this mount: counted before `judge` looks at it, which answers undefined for a wrong
   * one. Undefined as well, and nothing judged, while there have been too many for the subject. Only for operations that
   * declare `judges: 'password'`.
   */
  guess<T>(subject: string, judge: () => Promise<T | undefined>): Promise<T | undefined>;
  /** Ends the lock that guesses at a password of this mount began, because who administers it says so. */
  forgetGuesses(subject: string): Promise<void>;
}

/** A secret that was given out before, with what is left of its lease. */
export interface ReusableSecret {
  readonly leaseId: string;
  readonly renewable: boolean;
  readonly secondsLeft: number;
  /** Of the lifetime since it was made or last renewed: between 0 and 1. */
  readonly fractionLeft: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What is lent to a backend outside a call: to revoke, renew, undo or sweep. */
export interface BackgroundCall {
  readonly storage: Storage;
  readonly mount: MountView;
  readonly nowMs: number;
}
