import { during } from '@keystead/tracing';
import { LRUCache } from 'lru-cache';
import type { Database, Decision, Decisions } from './database';

interface QueuedDecision {
  readonly item: unknown;
  resolve(result: never): void;
  reject(error: unknown): void;
}

/** After another node was faster, decisions take the lock immediately for this long. */
const CONTESTED_MS = 1000;

/**
 * Decisions under the lock of their row. All decisions that wait when the lock is granted are made together and written
 * by one commit, so they share the wait for other nodes.
 */
export class LockedDecisions implements Decisions {
  private readonly waiting = new Map<string, QueuedDecision[]>();
  private readonly contested = new LRUCache<string, true>({ max: 10_000, ttl: CONTESTED_MS });

  constructor(private readonly transaction: Database['transaction']) {}

  /**
   * Whether another node, or another kind of write, has just won a race. Then an attempt without the lock would be
   * useless.
   */
  isContested(key: string): boolean {
    return this.contested.has(key);
  }

  /** Another request was faster. */
  lost(key: string): void {
    this.contested.set(key, true);
  }

  decide<Item, Result>(kind: Decision<Item, Result>, key: string, item: Item): Promise<Result> {
    const name = `${kind.name} ${key}`;
    const others = this.waiting.get(name);
    const decision = new Promise<Result>((resolve, reject) => {
      const mine = { item, resolve, reject } as QueuedDecision;
      if (others !== undefined) others.push(mine);
      else {
        this.waiting.set(name, [mine]);
        void this.run(kind as Decision<unknown, unknown>, key, name);
      }
    });
    return others ? during('waiting', 'turn', undefined, () => decision) : decision;
  }

  private async run(kind: Decision<unknown, unknown>, key: string, name: string): Promise<void> {
    for (let line = this.waiting.get(name)!; line.length > 0; line = this.waiting.get(name)!) {
      await this.decideAll(kind, key, line);
    }
    this.waiting.delete(name);
  }

  private async decideAll(kind: Decision<unknown, unknown>, key: string, line: QueuedDecision[]): Promise<void> {
    let batch: readonly QueuedDecision[] = [];
    try {
      const results = await this.transaction(async (tx) => {
        await kind.hold(tx, key);
        if (batch.length === 0) batch = line.splice(0);
        return kind.decide(
          tx,
          key,
          batch.map(({ item }) => item),
        );
      });
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index];
        if (result instanceof Error) reject(result);
        else resolve(result as never);
      }
    } catch (error) {
      for (const { reject } of batch.length === 0 ? line.splice(0) : batch) reject(error);
    }
  }
}
