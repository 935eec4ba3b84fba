import type { Soon } from './soon';

/** One page of a folder: keys after `after` (bytewise), at most `limit`. */
export interface Page {
  readonly after?: string;
  readonly limit?: number;
}

/**
 * A backend's view of the database: only its own mount's entries. Values are JSON, sealed before they leave the
 * process. Writes are added to the call's write set and committed once, after the handler returns and before the
 * response. Reads see the call's own pending writes.
 */
export interface Storage {
  get(key: string): Soon<string | undefined>;
  /**
   * The parsed value of a key. It is parsed once for each stored value and shared by all callers on this node, so it is
   * frozen. `parse` must depend only on the text.
   */
  read<T>(key: string, parse: (text: string) => T): Soon<T | undefined>;
  getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Names directly below `prefix` (empty or ending in `/`), bytewise sorted; folders end in `/`. */
  list(prefix: string, page?: Page): Promise<string[]>;
  /** All paths below `prefix`, at any depth, bytewise sorted; not for calls that have written. */
  scan(prefix: string, page?: Page): Promise<string[]>;
  /** A caller that already has the parsed value (as `read` would parse it) can pass it. It is frozen. */
  put<T>(key: string, value: string, parse?: (text: string) => T, parsed?: T): void;
  delete(key: string): void;
  /** Deletes every key that begins with `prefix`. */
  deletePrefix(prefix: string): void;
  /**
   * Makes a decision, one caller at a time among all nodes: `run` reads, and writes its result into a separate write
   * set, which is committed before this resolves, and only if no entry that it read or wrote has changed since then;
   * otherwise it runs again. `about` is the key that is read first, or a name for the data that is changed. `run` may
   * run more than once, so it must not call other systems. If there are other nodes, cached entries may be from
   * different times. To derive one entry from another, use `asStored`: entries are then read and locked in the
   * database, which costs round trips.
   */
  transaction<T>(about: string, run: (tx: Storage) => Promise<T>, asStored?: boolean): Promise<T>;
  /**
   * Immediately and durably records how to undo an outside effect that is about to happen. The intent is settled in the
   * commit that ends this call successfully; after a crash or a failure the sweeper undoes it, and once more a few
   * minutes after it was recorded, because the outside system may have been slow.
   */
  intent(kind: string, undo: Readonly<Record<string, unknown>>): Promise<Intent>;
  /** Undoes an effect a few minutes after this call's commit, in case it only appears then. */
  undoLater(kind: string, undo: Readonly<Record<string, unknown>>): void;
}

/** An outside effect that is not yet settled. */
export interface Intent {
  readonly id: string;
  /** Settles the intent in the call's write set, because the data that the commit stores now refers to the effect. */
  settle(): void;
  /** Drops the intent immediately, because the outside system reported that nothing was created. */
  drop(): Promise<void>;
}

/**
 * Records an intent, runs the effect, and settles the intent with the call's commit. If the effect throws, the intent
 * stays for the sweeper, because the effect may still have happened.
 */
export async function withIntent<T>(
  storage: Storage,
  what: { kind: string; undo: Readonly<Record<string, unknown>> },
  effect: () => Promise<T>,
): Promise<T> {
  const intent = await storage.intent(what.kind, what.undo);
  const result = await effect();
  intent.settle();
  return result;
}
