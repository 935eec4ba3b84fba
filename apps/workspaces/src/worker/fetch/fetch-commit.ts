import path from 'node:path';
import { PassThrough } from 'node:stream';
import type { Reach } from '@keystead/outside';
import type { Fetch } from '../../resources/runs/vcs/fetches';
import { runCommand, Stopping } from '../isolation/command';
import type { Isolation } from '../isolation/isolation';
import { usedBelow, watchDisk } from '../isolation/limits';
import { type ScratchOptions, type Slot, takeSlot } from '../isolation/scratch';
import { FetchFailed, fetchCommands, placeOf, writeGitFiles } from './git';

/** The dependencies of fetching commits. */
export interface Fetcher {
  readonly isolation: Isolation;
  readonly scratch: ScratchOptions;
  readonly reach: Reach;
  /** Why a repository is not fetched from an address; undefined if it may be. */
  readonly refusal?: (url: string) => string | undefined;
  /** The hosts that Git may call, also for submodules; all by default. */
  readonly origins?: ReadonlySet<string>;
  readonly proxies: Readonly<Record<string, string>>;
  readonly limits: { readonly seconds: number; readonly bytes: number };
}

const longestReason = 600;

/** Matches failures that another attempt cannot change. */
const lasting =
  /not our ref|authentication failed|error: 40[134]|not found|could not read|transport .* not allowed|another commit/i;

function reasonOf(output: string): string {
  const lines = output.split('\n').flatMap((line) => line.replace(/^(?:fatal|error|remote): |\0/g, '').trim() || []);
  return lines.slice(-3).join('; ').slice(0, longestReason) || 'git failed';
}

/**
 * Fetches a commit. Like a run, the fetch is confined, has limits of time and size, and uses a separate folder that is
 * deleted afterwards. `take` receives the archive. Throws FetchFailed.
 */
export async function fetchCommit(
  fetcher: Fetcher,
  fetch: Fetch,
  take: (archive: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  const { isolation, limits } = fetcher;
  const refusal = fetcher.refusal?.(fetch.cloneUrl);
  // Another agent of the pool may succeed.
  if (refusal !== undefined) throw new FetchFailed(`the repository is not fetched: ${refusal}`, true);
  const place = await placeOf(fetch.cloneUrl, fetcher.reach);
  const slot = await takeSlot(fetcher.scratch, isolation, `run-fetch-${fetch.configurationVersionId}`);
  const stopping = new Stopping();
  const folder = path.dirname(slot.jobFolder.folder);
  const disk = watchDisk(folder, {
    bytes: limits.bytes,
    everyMs: 1000,
    stopping,
    graceMs: 1000,
  });
  const late = setTimeout(() => stopping.kill('timeout'), limits.seconds * 1000);
  try {
    await writeGitFiles(isolation, slot.jobFolder, fetch, { place, ...fetcher });
    const { lay, pack } = fetchCommands(fetch);
    await run(fetcher, slot, stopping, lay, () => undefined);
    // A quick download may have ended before its first measurement.
    if ((await usedBelow(folder)) > limits.bytes) throw tooLarge(limits);
    const archive = new PassThrough();
    const packing = run(fetcher, slot, stopping, pack, (bytes) => {
      if (archive.write(bytes) || archive.destroyed) return;
      return new Promise<void>((resolve) => {
        archive.once('drain', resolve);
        archive.once('close', resolve);
      });
    }).then(
      () => void archive.end(),
      (error: Error) => void archive.destroy(error),
    );
    try {
      await take(archive);
    } finally {
      archive.destroy();
      await packing;
    }
  } finally {
    clearTimeout(late);
    disk.stop();
    await slot.release();
  }
}

const tooLarge = ({ bytes }: Fetcher['limits']): FetchFailed =>
  new FetchFailed(`the commit needs more than ${bytes} bytes`, false);

async function run(
  { isolation, limits }: Fetcher,
  { jobFolder, group }: Slot,
  stopping: Stopping,
  argv: readonly string[],
  stdout: (bytes: Buffer) => Promise<void> | void,
): Promise<void> {
  let output = '';
  const ended = await runCommand(isolation.launch(jobFolder, '', { argv, cwd: '.' }), {
    outlets: {
      stdout,
      stderr: (bytes) => {
        output = (output + bytes.toString('utf8')).slice(-4000);
      },
      started: (pid) => void group(pid).catch(() => undefined),
    },
    stopping,
    endAll: isolation.endAll(jobFolder),
  });
  if (stopping.reason === 'timeout')
    throw new FetchFailed(`the commit was not fetched within ${limits.seconds} seconds`, true);
  if (stopping.reason === 'disk') throw tooLarge(limits);
  if (stopping.reason) throw new FetchFailed('the worker was stopped', true);
  if (ended.code !== 0)
    throw new FetchFailed(`the commit could not be fetched: ${reasonOf(output)}`, !lasting.test(output));
}
