import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@keystead/server';
import type { Fetch } from '../../resources/runs/vcs/fetches';
import { Failing } from '../job/retry';
import { type Fetcher, fetchCommit } from './fetch-commit';
import { FetchFailed } from './git';

/** The source of commits to fetch: the database, or a service over HTTP. */
export interface FetchSource {
  /**
   * Takes the next commit. May wait a few seconds, until `closing` is aborted. Undefined if there is no commit to
   * fetch.
   */
  claim(closing: AbortSignal): Promise<{ fetch: Fetch; fetcher: Fetcher } | undefined>;
  finish(fetch: Fetch, archive: AsyncIterable<Uint8Array>): Promise<void>;
  fail(fetch: Fetch, reason: string, again: boolean): Promise<void>;
}

/** Fetches the next commit. Returns false if there is no commit to fetch. */
async function fetchNext(source: FetchSource, log: Logger, closing: AbortSignal): Promise<boolean> {
  const claim = await source.claim(closing);
  if (!claim) return false;
  const { fetch, fetcher } = claim;
  const startedAtMs = performance.now();
  try {
    await fetchCommit(fetcher, fetch, (archive) => source.finish(fetch, archive));
    log.info(
      { configuration: fetch.configurationVersionId, ms: Math.round(performance.now() - startedAtMs) },
      'fetched',
    );
  } catch (error) {
    await fail(source, log, fetch, error as Error);
  }
  return true;
}

async function fail(source: FetchSource, log: Logger, fetch: Fetch, error: Error): Promise<void> {
  const isExpected = error instanceof FetchFailed;
  if (!isExpected) log.error({ err: error, configuration: fetch.configurationVersionId }, 'a commit was not fetched');
  const reason = isExpected ? error.message : 'the worker failed while fetching the commit; see its log';
  await source.fail(fetch, reason, !isExpected || error.again);
}

const longestPauseMs = 10_000;

/**
 * Repeats work until it is closed. It is repeated immediately while there is more to do, and less often while it fails.
 */
export function startLoop(
  next: (closing: AbortSignal) => Promise<boolean>,
  { log, pollMs, problem }: { readonly log: Logger; readonly pollMs: number; readonly problem: string },
): { close(): Promise<void> } {
  const failing = new Failing(log, problem);
  let pauseMs = pollMs;
  let closing = false;
  const waiting = new AbortController();
  const looping = (async () => {
    while (!closing) {
      const more = await next(waiting.signal).catch((error) => {
        if (!closing) failing.failed(error);
        return undefined;
      });
      if (more !== undefined) failing.worked();
      pauseMs = more === undefined ? Math.min(pauseMs * 2, longestPauseMs) : pollMs;
      if (!more && !closing) await sleep(pauseMs, undefined, { signal: waiting.signal }).catch(() => undefined);
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

/** Fetches commits, one at a time, until it is closed. */
export const startFetching = (source: FetchSource, log: Logger, pollMs: number) =>
  startLoop((closing) => fetchNext(source, log, closing), { log, pollMs, problem: 'no commit could be taken' });
