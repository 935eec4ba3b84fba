import type { StorageKernel } from '../../kernel/storage/storage';

interface Release {
  readonly version: string;
  readonly installedAtMs: number;
}

const setting = 'releases';

/** Releases that ran on this database; each adds itself when it first opens it. */
export class ReleaseHistory {
  constructor(
    private readonly storage: StorageKernel,
    private readonly version: string,
  ) {}

  async versions(): Promise<readonly Release[]> {
    const { rows } = await this.storage.database.query<{ value: Release[] }>(
      'SELECT value FROM setting WHERE name = $1',
      [setting],
    );
    return rows[0]?.value ?? [];
  }

  async add(): Promise<void> {
    const known = await this.versions();
    if (known.some(({ version }) => version === this.version)) return;
    const entry = JSON.stringify([{ version: this.version, installedAtMs: this.storage.clock.now() }]);
    await this.storage.database.query(
      `INSERT INTO setting (name, value) VALUES ($1, $2::jsonb)
       ON CONFLICT (name) DO UPDATE SET value = setting.value || excluded.value`,
      [setting, entry],
    );
  }
}
