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
    const row = await this.storage.database.prisma.setting.findUnique({ where: { name: setting } });
    const stored = row?.value as Stored | null | undefined;
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
      async ({ prisma }) => {
        const value = { ...rules };
        const where = { name: setting };
        if (rules) await prisma.setting.upsert({ where, create: { ...where, value }, update: { value } });
        else await prisma.setting.deleteMany({ where });
      },
      [{ topic: 'setting', key: setting }],
    );
    await this.load();
  }
}
