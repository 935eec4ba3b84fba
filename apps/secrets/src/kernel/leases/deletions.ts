import type { Database } from '../storage/database';
import { DELETE } from './statements';

interface QueuedDeletion {
  readonly hash: Buffer;
  resolve(): void;
  fail(error: unknown): void;
}

const MOST = 500;

/** Deletes ended leases in batches: one statement deletes all that are waiting. */
export class LeaseDeletions {
  private waiting: QueuedDeletion[] = [];
  private running = false;

  constructor(private readonly database: Database) {}

  delete(hash: Buffer): Promise<void> {
    return new Promise((resolve, fail) => {
      this.waiting.push({ hash, resolve, fail });
      if (!this.running) void this.run();
    });
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, MOST);
      try {
        await this.database.query(DELETE, [batch.map(({ hash }) => hash)]);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { fail } of batch) fail(error);
      }
    }
    this.running = false;
  }
}
