import type { OriginRules } from '../http/cross-origin';
import type { StorageKernel } from '../kernel/storage/storage';
import type { OriginsPort } from '../system/sys/cors';
import { standardHeaders } from '../system/sys/cors';

interface Stored {
  readonly allowedOrigins: readonly string[];
  readonly allowedHeaders: readonly string[];
}

const closed: OriginRules['current'] = { enabled: false, allowedOrigins: [], allowedHeaders: [] };
const setting = 'cors';

/** Which web pages may call the service: one row for all nodes, kept in memory. */
export class Origins implements OriginsPort, OriginRules {
  current = closed;

  constructor(private readonly storage: StorageKernel) {
    storage.changes.listen('setting', (key) => {
      if (key === setting || key === '*') void this.load().catch(() => {});
    });
  }

  async load(): Promise<void> {
    const { rows } = await this.storage.database.query<{ value: Stored | null }>(
      'SELECT value FROM setting WHERE name = $1',
      [setting],
    );
    const stored = rows[0]?.value;
    this.current = stored
      ? {
          enabled: true,
          allowedOrigins: stored.allowedOrigins,
          allowedHeaders: [...standardHeaders, ...stored.allowedHeaders],
        }
      : closed;
  }

  async save(rules: Stored | undefined): Promise<void> {
    await this.storage.committer.transaction(
      (tx) =>
        rules
          ? tx.query(
              'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
              [setting, JSON.stringify(rules)],
            )
          : tx.query('DELETE FROM setting WHERE name = $1', [setting]),
      [{ topic: 'setting', key: setting }],
    );
    await this.load();
  }
}
