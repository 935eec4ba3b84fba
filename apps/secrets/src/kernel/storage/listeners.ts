import type { Notice, Topic } from './types';

/** What the heartbeat learns about the seal of the whole installation. */
export interface SealBeat {
  readonly initialised: boolean;
  readonly sealed: boolean;
  /** Increases whenever the wrapped keyring changes. */
  readonly generation: number;
  /** When the query was sent, on this process's clock (`performance.now`). */
  readonly askedMs: number;
}

/** Columns, of a query that joins `seal`, for `Listeners.notify`. */
export const SEAL_COLUMNS = 'seal.id IS NOT NULL AS seal_there, seal.sealed, seal.generation AS seal_generation';

export interface SealRow {
  readonly seal_there: boolean;
  readonly sealed: boolean | null;
  readonly seal_generation: number | null;
}

/** Listeners for cached data to forget, and for the seal state of the installation. */
export class Listeners {
  private readonly beats = new Set<(seal: SealBeat) => void>();
  private readonly listeners = new Map<Topic, Set<(key: string) => void>>();

  listen(topic: Topic, forget: (key: string) => void): void {
    const listeners = this.listeners.get(topic) ?? new Set();
    listeners.add(forget);
    this.listeners.set(topic, listeners);
  }

  /** Calls back at every heartbeat with the seal state from the database. */
  onBeat(listener: (seal: SealBeat) => void): void {
    this.beats.add(listener);
  }

  /** Forgets cached data on this node. Called after the commit that the notices are about. */
  apply(notices: readonly Notice[]): void {
    for (const { topic, key } of notices) {
      const listeners = this.listeners.get(topic);
      if (listeners) for (const forget of listeners) forget(key);
    }
  }

  /** Forgets everything on this node. */
  applyAll(): void {
    for (const listeners of this.listeners.values()) for (const forget of listeners) forget('*');
  }

  /** Passes on the seal state from a heartbeat that began at `askedMs`. */
  protected notify({ seal_there, sealed, seal_generation }: SealRow, askedMs: number): void {
    const beat = { initialised: seal_there, sealed: sealed ?? false, generation: seal_generation ?? 0, askedMs };
    for (const listener of this.beats) listener(beat);
  }
}
