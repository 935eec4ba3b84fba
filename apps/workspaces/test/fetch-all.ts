import { claimFetch, failFetch, finishFetch } from '../src/resources/runs/vcs/fetches';
import type { Service } from '../src/service';
import { archiveOf } from './worker-fixture';

/** How commits are fetched; well, by a worker, unless told. */
interface Fetching {
  /** Why they cannot be. */
  readonly fails?: string;
  readonly again?: boolean;
  readonly agentPoolId?: string;
}

/** Fetches everything that is to be, as a worker would; answers how often. */
export async function fetchAll(
  { db, env }: Service,
  { fails, again = false, agentPoolId }: Fetching = {},
): Promise<number> {
  const { keyring } = env;
  for (let count = 0; ; count++) {
    const fetch = await claimFetch(db, keyring, 'worker', agentPoolId);
    if (!fetch) return count;
    if (fails) await failFetch(db, fetch, fails, again);
    else {
      const archive = await archiveOf({ 'main.tf': '' });
      const pieces = (async function* () {
        yield archive;
      })();
      await finishFetch(db, { keyring, configurationBytes: 1e6 }, fetch, pieces);
    }
  }
}
