import { deleteSetting, readSetting, storeSetting } from '../../../kernel/storage/settings';
import type { StorageKernel } from '../../../kernel/storage/storage';

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
    const stored = await readSetting<Stored>(this.storage.database.prisma, setting);
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
      ({ prisma }) => (rules ? storeSetting(prisma, setting, rules) : deleteSetting(prisma, setting)),
      [{ topic: 'setting', key: setting }],
    );
    await this.load();
  }
}
