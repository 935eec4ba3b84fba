import { setTimeout as sleep } from 'node:timers/promises';
import type { Keyring } from '@keystead/keyring';
import type { Database } from '../database/database';

/** What things are read with. */
export interface WatchParts {
  readonly db: Database;
  readonly keyring: Keyring;
}

/** Something that many may look at while it changes: how it is read, for all that are looked at, in one go. */
export interface Watched<T> {
  readonly name: string;
  readonly everyMs: number;
  /** Values by key, and for each what was read before it; a key without a value is gone. */
  read(parts: WatchParts, keys: readonly string[], before: ReadonlyMap<string, T>): Promise<ReadonlyMap<string, T>>;
}

/** Told what was read, at every look, whether it changed or not; undefined when there is no such thing any more. */
type Tell<T> = (value: T | undefined) => void;

interface Watching {
  readonly tellers: Map<string, Set<Tell<never>>>;
  values: ReadonlyMap<string, unknown>;
}

/** Looks at things for all who watch them on this node: one read of a kind at a time, however many watch. */
export class Watches {
  private readonly kinds = new Map<Watched<never>, Watching>();
  private closed = false;

  constructor(
    private readonly parts: WatchParts,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Watches one thing until the answer is called. What was read a moment ago is not told: the first look comes soon. */
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
    // Callers that come together are served by one read.
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
