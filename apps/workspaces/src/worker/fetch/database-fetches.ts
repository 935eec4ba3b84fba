import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../kernel/database/database';
import { claimFetch, failFetch, finishFetch, releaseUnheard } from '../../resources/runs/vcs/fetches';
import type { Fetcher } from './fetch-commit';
import type { FetchSource } from './fetch-loop';

/** Commits from the database, for workers with access to it. */
export function databaseFetches(parts: {
  db: Database;
  keyring: Keyring;
  workerId: string;
  configurationBytes: number;
  fetcher: Fetcher;
}): FetchSource {
  const { db, keyring, workerId, fetcher } = parts;
  return {
    async claim() {
      await releaseUnheard(db, workerId);
      const fetch = await claimFetch(db, keyring, workerId);
      return fetch && { fetch, fetcher };
    },
    finish: (fetch, archive) => finishFetch(db, parts, fetch, archive),
    fail: (fetch, reason, again) => failFetch(db, fetch, reason, again),
  };
}
