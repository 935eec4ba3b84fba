import type { StorageKernel } from '../storage/storage';
import { add, newWriteSet } from '../storage/write-set';
import type { LeaseHosts } from './types';

interface TidyState {
  readonly mounts: readonly string[];
  readonly after?: string;
}

const KIND = 'token-tidy';
const FOLDERS_AT_ONCE = 500;
const LIVING = { name: 'token-living', text: 'SELECT hash FROM token WHERE hash = ANY($1::bytea[])' };

/** Removes what ended tokens may have left in per-token storage, by a late write or a restored backup. */
export class PrivateTidy {
  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: Pick<LeaseHosts, 'privateMountIds'>,
  ) {
    storage.jobs.define<TidyState>(KIND, (state) => this.step(state));
  }

  /** Starts the job unless it is already running. Returns its id. */
  async start(): Promise<string> {
    const running = await this.storage.jobs.newest(KIND, '');
    if (running?.running) return running.id;
    return this.storage.jobs.start(KIND, '', { mounts: this.hosts.privateMountIds() });
  }

  private async step({ mounts, after }: TidyState) {
    const [mountId, ...rest] = mounts;
    if (mountId === undefined) return { state: { mounts }, advanced: 0, finished: true };
    const { entries, database, committer } = this.storage;
    const names = await entries.list(mountId, '', { after, limit: FOLDERS_AT_ONCE });
    const folders = names.filter((name) => /^[0-9a-f]{64}\/$/.test(name));
    const hashes = folders.map((name) => Buffer.from(name.slice(0, -1), 'hex'));
    const { rows } = await database.query<{ hash: Buffer }>(LIVING, [hashes]);
    const living = new Set(rows.map((row) => `${row.hash.toString('hex')}/`));
    const orphans = folders.filter((name) => !living.has(name));
    const set = newWriteSet();
    for (const prefix of orphans) add(set, 'prefixes', { mountId, prefix });
    await committer.commit(set);
    const more = names.length === FOLDERS_AT_ONCE;
    const state: TidyState = more ? { mounts, after: names.at(-1) } : { mounts: rest };
    return { state, advanced: orphans.length, finished: !more && rest.length === 0 };
  }
}
