import type { Notice, Topic } from './types';

/** What the heartbeat learns about the seal of the whole installation. */
export interface SealBeat {
  readonly initialised: boolean;
  readonly sealed: boolean;
  /** Grows whenever the wrapped keyring changes. */
  readonly generation: number;
  /** When the database was asked, on this process's own scale (`performance.now`). */
  readonly askedMs: number;
}

/** Columns, of a query that joins `seal`, from which `Listeners.seen` tells. */
export const SEAL_COLUMNS = 'seal.id IS NOT NULL AS seal_there, seal.sealed, seal.generation AS seal_generation';

export interface SealRow {
  readonly seal_there: boolean;
  readonly sealed: boolean | null;
  readonly seal_generation: number | null;
}

/** Those who want to know what to forget, and how the installation is sealed. */
export class Listeners {
  private readonly beats = new Set<(seal: SealBeat) => void>();
  private readonly listeners = new Map<Topic, Set<(key: string) => void>>();

  listen(topic: Topic, forget: (key: string) => void): void {
    const listeners = this.listeners.get(topic) ?? new Set();
    listeners.add(forget);
    this.listeners.set(topic, listeners);
  }

  /** Calls back at every heartbeat with what the database says about the seal. */
  onBeat(seen: (seal: SealBeat) => void): void {
    this.beats.add(seen);
  }

  /** Forgets on this node; called after the commit that made the notices true. */
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

  /** Passes on the seal as a heartbeat found it that began at `askedMs`. */
  protected seen({ seal_there, sealed, seal_generation }: SealRow, askedMs: number): void {
    const beat = { initialised: seal_there, sealed: sealed ?? false, generation: seal_generation ?? 0, askedMs };
    for (const seen of this.beats) seen(beat);
  }
}
