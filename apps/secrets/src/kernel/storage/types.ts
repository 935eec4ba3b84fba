import type { Cell } from '@keystead/keyring';
import type pg from 'pg';
import type { Prisma } from '../../generated/prisma/client';
import type { Soon } from '../../sdk/soon';

/** The namespace that is always there; its path is `''`. */
export const ROOT_NAMESPACE_ID = '00000000-0000-0000-0000-000000000000';

/** Time in epoch milliseconds; replaced in tests. */
export interface Clock {
  now(): number;
}

/**
 * Encrypts values at rest and makes keyed hashes. Every method throws `sealed` while the service is sealed.
 *
 * A cell identifies the location of a value, so two sealed values that are swapped become unreadable.
 */
export interface Barrier {
  readonly sealed: boolean;
  seal(plain: Uint8Array, at: Cell): Buffer<ArrayBuffer>;
  open(sealed: Uint8Array, at: Cell): Buffer;
  /** Seals a value as JSON. The caller must convert maps and big numbers. */
  sealJson(value: unknown, at: Cell): Buffer<ArrayBuffer>;
  openJson<T>(sealed: Uint8Array, at: Cell): T;
  /** HMAC-SHA256 under a key that rotation never changes, for looking up values that must not be stored. */
  mac(purpose: string, data: string | Uint8Array): Buffer<ArrayBuffer>;
  derive(purpose: string): Buffer;
}

/**
 * The name of an entry. It contains its mount's uuid instead of the mount's path, so that moving a mount changes only
 * one row.
 */
export interface EntryKey {
  readonly mountId: string;
  readonly path: string;
}

/** The result of parsing a value. */
export interface ParsedValue {
  readonly parse: unknown;
  /** Frozen, because all readers get the same object. */
  readonly parsed: unknown;
}

/** A stored value, decrypted. The same object is returned while it stays cached, so it may key a WeakMap. */
export interface Entry extends EntryKey {
  readonly value: Buffer;
  /** The parsed value of the last reader that parsed the entry. */
  memo: ParsedValue | undefined;
  /** 1 when created; increases by one with every write. */
  readonly revision: number;
  /** When the entry starts to be treated as absent, and is deleted. */
  readonly expiresAtMs?: number;
}

/** A condition at commit; if it is not met, the set fails with `PreconditionFailed` and nothing changes. */
export type Precondition = 'absent' | 'present' | { readonly revision: number };

/** Writes one entry, whole. */
export interface EntryPut extends EntryKey {
  readonly value: Uint8Array;
  /** The parsed value, if the writer already has it. */
  readonly memo?: ParsedValue;
  readonly expiresAtMs?: number;
  readonly require?: Precondition;
}

/** Removes one entry; removing an absent entry is an error only if `require` demands that it exists. */
export interface EntryDelete extends EntryKey {
  readonly require?: Exclude<Precondition, 'absent'>;
}

/** Removes every entry of a mount whose path begins with `prefix` (`''` for all). */
export interface PrefixDelete {
  readonly mountId: string;
  readonly prefix: string;
}

/** The kinds of data that other nodes may have cached and must forget. */
export type Topic =
  | 'entry'
  | 'token'
  | 'policy'
  | 'entity'
  | 'group'
  | 'mount'
  | 'namespace'
  | 'mfa'
  | 'quota'
  | 'setting'
  | 'seal'
  | 'audit';

/** One thing to forget. Key `*` means everything of the topic. */
export interface Notice {
  readonly topic: Topic;
  /** Chosen by the topic's owner; no line breaks. */
  readonly key: string;
}

/** A row of the token table, already sealed, created by `kernel/tokens`. */
export interface TokenRow {
  readonly hash: Buffer;
  readonly accessorHash: Buffer;
  /** The parent must be live at commit, otherwise the set fails with `denied`. */
  readonly parentHash?: Buffer;
  readonly namespaceId: string;
  readonly mountId?: string;
  readonly entityId?: string;
  readonly path: string;
  readonly usesLeft?: number;
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
  readonly sealed: Buffer;
}

/** A row of the lease table, already sealed, created by `kernel/leases`. */
export interface LeaseRow {
  readonly hash: Buffer;
  readonly namespaceId: string;
  readonly mountId: string;
  /** Without the random tail: `scheduler/creds/ops`. */
  readonly path: string;
  readonly role: string;
  /** The token must be live at commit, otherwise the set fails with `denied`. */
  readonly tokenHash?: Buffer;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  readonly sealed: Buffer;
  /** Lease-count quotas this lease counts towards; at the limit the set fails with `limited`. */
  readonly quotaIds: readonly string[];
}

/** Something that is about to be created in another system. `undo` describes how to remove it. */
export interface IntentRow {
  readonly id: string;
  readonly mountId: string;
  readonly kind: string;
  readonly undo: unknown;
  /** Set if no running call completes this intent, so that it is undone after a while in any case. */
  readonly later?: boolean;
}

/**
 * Everything that one call changes, committed together or not at all. Sets without `prefixes` and `run` are merged with
 * other simultaneous sets. Fill the lists in place. The commit of an empty set does not use the database.
 */
export interface WriteSet {
  // An entry is in either `puts` or `deletes`, and only once. Prefixes are removed before both. The `add…` functions of
  // write-set.ts ensure this. Lists are replaced by `add`: empty sets share one empty list, because most calls only
  // read.
  puts: readonly EntryPut[];
  deletes: readonly EntryDelete[];
  prefixes: readonly PrefixDelete[];
  tokens: readonly TokenRow[];
  leases: readonly LeaseRow[];
  intents: readonly IntentRow[];
  /** Ids of intents that are now settled. If one no longer exists, the set fails, because the intent was undone. */
  settled: readonly string[];
  /** Intents that this call recorded separately; those not settled when it ends are released. */
  opened: readonly string[];
  /** Whether a decision of this call, committed separately, wrote the configuration of its mount's outside system. */
  configured: boolean;
  notices: readonly Notice[];
  /** Lines for the chained audit table; see `kernel/audit`. */
  audit: readonly string[];
  /**
   * Functions that write other rows in the same transaction. A set with such functions is never merged. They may run
   * again after a serialization failure.
   */
  run: readonly ((tx: Tx) => Promise<void>)[];
  /** Tokens that must be live at commit, otherwise the set fails with `denied`. */
  authorities: readonly Buffer[];
}

/** An open transaction. Statements with a name are prepared once per connection. */
export interface Tx {
  /** The same transaction through Prisma, for queries that need not be fast. */
  readonly prisma: Prisma.TransactionClient;
  query<R extends pg.QueryResultRow>(
    statement: string | { readonly name: string; readonly text: string },
    values?: readonly unknown[],
  ): Promise<pg.QueryResult<R>>;
}

/**
 * Commits a set: see `GroupCommitter`. Resolves after the commit. Then this node's caches are up to date; other nodes
 * follow within 1 s.
 */
export interface Committer {
  /**
   * Entries are written by one statement: `PUT_ENTRIES`, or `CHANGE_ENTRIES` if there are conditions or removals. Other
   * rows, and notices to other nodes, need a transaction. Throws `PreconditionFailed` if a condition is not met.
   */
  commit(set: WriteSet): Promise<void>;
  /**
   * Runs `decide` in a transaction and commits what it writes. Only one node at a time decides under a name, and all
   * nodes take turns. `decide` runs again after a serialization failure.
   */
  decide(name: string, decide: (tx: Tx) => Promise<WriteSet>): Promise<void>;
  /** Within a transaction: waits for the turn of a name, and holds it until the end of the transaction. */
  takeTurn(tx: Tx, name: string): Promise<void>;
  /**
   * Like `transaction`, for names that many callers may change at once. Only one node at a time runs under a name.
   * Callers run in order of arrival, and waiting callers of this node use no connection.
   */
  inTurn<T>(
    name: string,
    run: (tx: Tx) => Promise<T>,
    notices?: readonly Notice[] | ((result: T) => readonly Notice[]),
  ): Promise<T>;
  /** Changes other rows in a separate transaction. Notices are sent when it commits. */
  transaction<T>(
    run: (tx: Tx) => Promise<T>,
    notices?: readonly Notice[] | ((result: T) => readonly Notice[]),
  ): Promise<T>;
}

/** A part of a listing, in bytewise order of keys. */
export interface ListPage {
  /** Only keys after this one. */
  readonly after?: string;
  readonly limit?: number;
}

/** Reads entries. */
export interface EntryReader {
  read(key: EntryKey): Soon<Entry | undefined>;
  /** One query for all uncached keys; the result has the order of the keys. */
  readMany(keys: readonly EntryKey[]): Promise<(Entry | undefined)[]>;
  /** Names directly under a folder prefix (`''` or ending in `/`), sorted bytewise; folders end in `/`. */
  list(mountId: string, prefix: string, page?: ListPage): Promise<string[]>;
  /** Full paths of all entries under a prefix, sorted bytewise. */
  listDeep(mountId: string, prefix: string, page?: ListPage): Promise<string[]>;
}

/** Reads entries, through a bounded cache that is coherent across nodes: see `DatabaseEntries`. */
export interface EntryStore extends EntryReader {
  /** Reads in a transaction, without the cache, and locks the entries until it ends. */
  within(tx: Tx): EntryReader;
}

/** Tells caches what has changed, on this node or another: see `NodeChanges`. */
export interface ChangeNotices {
  /**
   * Called for every notice of the topic; `*` means that everything must be forgotten. Also called with `*` after
   * missed notices.
   */
  listen(topic: Topic, forget: (key: string) => void): void;
  /** False while this node may have missed changes of other nodes: then cached permissions must be read again. */
  readonly fresh: boolean;
  /** True if other nodes may make changes, which this node notices slightly later. */
  readonly mustTell: boolean;
  /** Resolves when all notices of earlier commits have arrived, or this node is not fresh. */
  catchUp(): Promise<void>;
}

/** A cache of values that can be loaded from storage again. */
export interface Cache<V> {
  /** The cached value, or the loaded one; `undefined` (absent) is cached, too. */
  get(key: string, load: () => Promise<V | undefined>): Soon<V | undefined>;
  /** The cached value, without loading. `null`: known to be absent; `undefined`: not cached. */
  peek(key: string): V | null | undefined;
  forget(key: string): void;
  clear(): void;
}

/** Called at named places so that tests can stop or kill a process there. */
export type Fault = (name: string) => void | Promise<void>;
