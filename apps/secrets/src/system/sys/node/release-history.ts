import type { StorageKernel } from '../../../kernel/storage/storage';

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
    const row = await this.storage.database.prisma.setting.findUnique({ where: { name: setting } });
    return (row?.value ?? []) as unknown as Release[];
  }

  async add(): Promise<void> {
    const known = await this.versions();
    if (known.some(({ version }) => version === this.version)) return;
    const entry = JSON.stringify([{ version: this.version, installedAtMs: this.storage.clock.now() }]);
    // Two nodes that come to it at once both add theirs.
    await this.storage.database.prisma.$executeRaw`
      INSERT INTO setting (name, value) VALUES (${setting}, ${entry}::jsonb)
      ON CONFLICT (name) DO UPDATE SET value = setting.value || excluded.value`;
  }
}
