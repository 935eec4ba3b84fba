import { claimFetch, failFetch, finishFetch, releaseFetch } from '../src/resources/runs/vcs/fetches';
import type { Service } from '../src/service';
import { archiveOf } from './worker-fixture';

/** How commits are fetched: by default successfully, by a worker. */
interface Fetching {
  /** Why the commits cannot be fetched. */
  readonly fails?: string;
  readonly again?: boolean;
  readonly agentPoolId?: string;
  /** The content of the commits. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Fetches all waiting commits once, like a worker; returns how many there were. */
export async function fetchAll(
  { db, env }: Service,
  { fails, again = false, agentPoolId, files = { 'main.tf': '' } }: Fetching = {},
): Promise<number> {
  const { keyring } = env;
  const seen = new Set<string>();
  for (;;) {
    const fetch = await claimFetch(db, keyring, 'worker', agentPoolId);
    if (!fetch) return seen.size;
    if (seen.has(fetch.configurationVersionId)) {
      // The pause of this fetch was shorter than the time that this machine needed.
      await releaseFetch(db, fetch);
      return seen.size;
    }
    seen.add(fetch.configurationVersionId);
    if (fails) await failFetch(db, fetch, fails, again);
    else {
      const archive = await archiveOf(files);
      const pieces = (async function* () {
        yield archive;
      })();
      await finishFetch(db, { keyring, configurationBytes: 1e6 }, fetch, pieces);
    }
  }
}
