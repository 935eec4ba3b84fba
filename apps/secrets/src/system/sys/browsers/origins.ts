import { deleteSetting, readSetting, storeSetting } from '../../../kernel/storage/settings';
import type { StorageKernel } from '../../../kernel/storage/storage';
import { WholeTable } from '../../../kernel/storage/whole-table';

interface Stored {
  readonly allowedOrigins: readonly string[];
  readonly allowedHeaders: readonly string[];
}

/** Headers that pages may always send: ours, also under the names that existing clients use. */
const standardHeaders = [
  'Content-Type',
  'X-Requested-With',
  'Authorization',
  ...['X-Service', 'X-Vault'].flatMap((family) =>
    ['Token', 'Namespace', 'Wrap-TTL', 'MFA', 'Request'].map((name) => `${family}-${name}`),
  ),
] as const;

/** The functions that the HTTP edge calls for every request from a web page. */
interface Rules extends Stored {
  readonly enabled: boolean;
  /** The `allowedHeaders` that an operator added, shown by reads. */
  readonly furtherHeaders: readonly string[];
}

const closed: Rules = { enabled: false, allowedOrigins: [], allowedHeaders: [], furtherHeaders: [] };
const setting = 'cors';

/** Which web pages may call the service. This is one row for all nodes, cached and refreshed like quotas. */
export class Origins {
  current = closed;
  private readonly table: WholeTable;

  constructor(private readonly storage: StorageKernel) {
    this.table = new WholeTable(storage.changes, 'setting', () => this.read());
    storage.changes.listen('setting', () => void this.refresh()?.catch(() => {}));
    // Changes that this node missed, because it could not read or receive notices, are read as soon as possible.
    storage.background.every('origins', 1000, async () => {
      await this.refresh();
      return undefined;
    });
  }

  /** Reads the rules again if they may have changed. */
  refresh(): Promise<void> | undefined {
    return this.table.refresh();
  }

  private async read(): Promise<void> {
    const stored = await readSetting<Stored>(this.storage.database.prisma, setting);
    this.current = stored
      ? {
          enabled: true,
          allowedOrigins: stored.allowedOrigins,
          allowedHeaders: [...standardHeaders, ...stored.allowedHeaders],
          furtherHeaders: stored.allowedHeaders,
        }
      : closed;
  }

  async save(rules: Stored | undefined): Promise<void> {
    await this.storage.committer.transaction(
      ({ prisma }) => (rules ? storeSetting(prisma, setting, rules) : deleteSetting(prisma, setting)),
      [{ topic: 'setting', key: setting }],
    );
    this.table.forget();
    await this.table.reload();
  }
}
