import { setTimeout as sleep } from 'node:timers/promises';
import type { Keyring } from '@keystead/keyring';
import type { Logger } from '@keystead/server';
import type { Database } from '../../kernel/database/database';
import { claimFetch, type Fetch, failFetch, finishFetch } from '../../resources/runs/vcs/fetches';
import { type Fetcher, fetchCommit } from './fetch-commit';
import { FetchFailed } from './git';

/** A worker that fetches commits. */
export interface FetchParts {
  readonly db: Database;
  readonly keyring: Keyring;
  readonly log: Logger;
  readonly fetcher: Fetcher;
  readonly configurationBytes: number;
}

/** Fetches the next commit there is; false where there is none. */
async function fetchNext(parts: FetchParts): Promise<boolean> {
  const { db, keyring, log, fetcher } = parts;
  const fetch = await claimFetch(db, keyring);
  if (!fetch) return false;
  const startedAtMs = performance.now();
  try {
    await fetchCommit(fetcher, fetch, (archive) => finishFetch(db, parts, fetch, archive));
    log.info(
      { configuration: fetch.configurationVersionId, ms: Math.round(performance.now() - startedAtMs) },
      'fetched',
    );
  } catch (error) {
    await fail(parts, fetch, error as Error);
  }
  return true;
}

async function fail({ db, log }: FetchParts, fetch: Fetch, error: Error): Promise<void> {
  const known = error instanceof FetchFailed;
  if (!known) log.error({ err: error, configuration: fetch.configurationVersionId }, 'a commit was not fetched');
  const reason = known ? error.message : 'the worker failed while it fetched the commit; its log says why';
  await failFetch(db, fetch, reason, !known || error.again);
}

/** Fetches commits, one at a time, until it is closed. */
export function startFetching(parts: FetchParts, pollMs: number): { close(): Promise<void> } {
  let closing = false;
  const waiting = new AbortController();
  const looping = (async () => {
    while (!closing) {
      const more = await fetchNext(parts).catch((error) => {
        parts.log.error({ err: error }, 'no commit could be taken');
        return false;
      });
      if (!more && !closing) await sleep(pollMs, undefined, { signal: waiting.signal }).catch(() => undefined);
    }
  })();
  return {
    async close() {
      closing = true;
      waiting.abort();
      await looping;
    },
  };
}
