import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cleanPath, type Stopping } from './command';
import type { ControlGroups, Exceeded } from './control-groups';

/** The limits of one run. */
export interface RunLimits {
  readonly memoryBytes: number;
  /** Processes and threads. */
  readonly processes: number;
  readonly openFiles: number;
  /** The size of the largest file that a process may write. */
  readonly fileBytes: number;
}

/** A limit of one process, by its name in `prlimit`. */
export interface ProcessLimit {
  readonly name: 'core' | 'fsize' | 'nofile' | 'data' | 'nproc';
  readonly most: number;
}

/**
 * The limits of one process of a run; never higher than this process may set. `counted` means that the kernel counts
 * the memory of the run as a whole.
 */
export function processLimits(limits: RunLimits, options: { ownUid: boolean; counted: boolean }): ProcessLimit[] {
  const hard = hardLimits();
  const limit = (name: ProcessLimit['name'], row: string, value: number) => ({
    name,
    most: Math.min(value, hard.get(row) ?? Number.POSITIVE_INFINITY),
  });
  return [
    { name: 'core', most: 0 },
    limit('fsize', 'Max file size', limits.fileBytes),
    limit('nofile', 'Max open files', limits.openFiles),
    ...(options.counted ? [] : [limit('data', 'Max data size', limits.memoryBytes)]),
    // The kernel counts processes per uid, so this limit is meaningful only if each run has a separate uid.
    ...(options.ownUid ? [limit('nproc', 'Max processes', limits.processes)] : []),
  ];
}

function hardLimits(): Map<string, number> {
  try {
    const rows = readFileSync('/proc/self/limits', 'utf8').matchAll(/^(Max [a-z ]+?) {2,}\S+ +(\d+)/gm);
    return new Map(Array.from(rows, ([, name = '', hard]) => [name, Number(hard)]));
  } catch {
    return new Map();
  }
}

const mebibytes = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MiB`;

/** A sentence with the limit that made a run fail; undefined if it failed for another reason. */
export async function whatWasExceeded(
  limits: RunLimits,
  options: { groups: ControlGroups | undefined; name: string; tail: string },
): Promise<string | undefined> {
  const found = (await options.groups?.exceeded(options.name)) ?? toldIn(options.tail);
  const whose = options.groups ? 'the run' : 'a process of the run';
  if (found === 'memory') return `${whose} exceeded the memory limit of ${mebibytes(limits.memoryBytes)}`;
  if (found === 'processes') return `the run exceeded the limit of ${limits.processes} processes`;
  return undefined;
}

/** The limit that the programs' error messages mention, if the kernel does not count. */
function toldIn(tail: string): Exceeded | undefined {
  if (/cannot allocate memory|out of memory|memory exhausted|MemoryError/i.test(tail)) return 'memory';
  if (/cannot fork|fork: .*temporarily unavailable|newosproc|pthread_create failed/i.test(tail)) return 'processes';
  return undefined;
}

/** Measures regularly how much disk a run uses, and reports once if it is over its limit. */
export function watchDisk(
  folder: string,
  options: { bytes: number; everyMs: number; stopping: Stopping; graceMs: number },
): { stop(): void } {
  let isStopped = false;
  let timer: NodeJS.Timeout;
  const look = async () => {
    const used = await usedBelow(folder);
    if (isStopped) return;
    if (used > options.bytes) {
      options.stopping.interrupt('disk');
      setTimeout(() => options.stopping.kill('disk'), options.graceMs).unref();
      return;
    }
    timer = setTimeout(() => void look(), options.everyMs);
  };
  timer = setTimeout(() => void look(), options.everyMs);
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Bytes on disk below a folder. */
export function usedBelow(folder: string): Promise<number> {
  const options = { env: { PATH: cleanPath }, timeout: 60_000, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    // `du` complains about files that disappeared in the meantime, but still counts the rest.
    execFile('du', ['-s', '-k', '-x', '--', folder], options, (_, stdout) => {
      resolve((Number.parseInt(stdout, 10) || 0) * 1024);
    });
  });
}
