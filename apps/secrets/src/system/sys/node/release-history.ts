import { addToSetting, readSetting } from '../../../kernel/storage/settings';
import type { StorageKernel } from '../../../kernel/storage/storage';

interface Release {
  readonly version: string;
  readonly installedAtMs: number;
}

const setting = 'releases';

/** Releases that ran on this database. Each release adds itself when it first opens the database. */
export class ReleaseHistory {
  constructor(
    private readonly storage: StorageKernel,
    private readonly version: string,
  ) {}

  async versions(): Promise<readonly Release[]> {
    return (await readSetting<Release[]>(this.storage.database.prisma, setting)) ?? [];
  }

  async add(): Promise<void> {
    const versions = await this.versions();
    if (versions.some(({ version }) => version === this.version)) return;
    const { clock, database } = this.storage;
    await addToSetting(database.prisma, setting, { version: this.version, installedAtMs: clock.now() });
  }
}
