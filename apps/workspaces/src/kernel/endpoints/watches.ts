import { setTimeout as sleep } from 'node:timers/promises';
import type { Keyring } from '@keystead/keyring';
import type { Database } from '../database/database';

/** The dependencies of the functions that read watched objects. */
export interface WatchParts {
  readonly db: Database;
  readonly keyring: Keyring;
}

/** A kind of object that clients watch for changes, and the function that reads all watched objects together. */
export interface Watched<T> {
  readonly name: string;
  readonly everyMs: number;
  /** The values by key, each with its previous value. A key without a value no longer exists. */
  read(parts: WatchParts, keys: readonly string[], before: ReadonlyMap<string, T>): Promise<ReadonlyMap<string, T>>;
}

/** Receives every value that was read, changed or not; undefined if the object no longer exists. */
type Tell<T> = (value: T | undefined) => void;

interface Watching {
  readonly tellers: Map<string, Set<Tell<never>>>;
  values: ReadonlyMap<string, unknown>;
}

/**
 * Reads objects for all clients of this node that watch them. For each kind of object, one read at a time serves all
 * clients.
 */
export class Watches {
  private readonly kinds = new Map<Watched<never>, Watching>();
  private closed = false;

  constructor(
    private readonly parts: WatchParts,
    private readonly onError: (error: unknown) => void,
  ) {}

  /**
   * Watches one object until the returned function is called. Earlier values are not passed on; the first read follows
   * soon.
   */
  watch<T>(kind: Watched<T>, key: string, tell: Tell<T>): () => void {
    let watching = this.kinds.get(kind as Watched<never>);
    if (watching === undefined) {
      watching = { tellers: new Map(), values: new Map() };
      this.kinds.set(kind as Watched<never>, watching);
      void this.look(kind, watching);
    }
    const { tellers } = watching;
    const mine = tellers.get(key) ?? new Set();
    tellers.set(key, mine);
    mine.add(tell as Tell<never>);
    return () => {
      mine.delete(tell as Tell<never>);
      if (mine.size === 0 && tellers.get(key) === mine) tellers.delete(key);
    };
  }

  close(): void {
    this.closed = true;
  }

  private async look<T>(kind: Watched<T>, watching: Watching): Promise<void> {
    const { tellers } = watching;
    // Callers that arrive at the same time share one read.
    await sleep(0);
    while (tellers.size > 0 && !this.closed) {
      const keys = [...tellers.keys()];
      try {
        const found = await kind.read(this.parts, keys, watching.values as ReadonlyMap<string, T>);
        watching.values = found;
        for (const key of keys) {
          for (const answer of tellers.get(key) ?? []) (answer as Tell<T>)(found.get(key));
        }
      } catch (error) {
        this.onError(error);
      }
      await sleep(kind.everyMs, undefined, { ref: false });
    }
    this.kinds.delete(kind as Watched<never>);
  }
}
