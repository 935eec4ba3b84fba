import type { StorageKernel } from '../../kernel/storage/storage';

interface Stored {
  readonly allowedOrigins: readonly string[];
  readonly allowedHeaders: readonly string[];
}

/** Headers pages may always send. */
const standardHeaders = [
  'Content-Type',
  'X-Requested-With',
  'X-Service-Token',
  'X-Service-Namespace',
  'X-Service-Wrap-TTL',
  'X-Service-MFA',
  'X-Service-Request',
  'Authorization',
] as const;

/** What the edge asks of every request from a web page. */
interface Rules extends Stored {
  readonly enabled: boolean;
}

const closed: Rules = { enabled: false, allowedOrigins: [], allowedHeaders: [] };
const setting = 'cors';

/** Which web pages may call the service: one row for all nodes, kept in memory. */
export class Origins {
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
