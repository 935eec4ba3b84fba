import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanPath, type Stopping } from './command';

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

/** The limits of one run on a machine, for all its processes together. */
export interface Share {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Number of processors, such as 1.5; undefined for all. */
  readonly cpus: number | undefined;
}

/** The limit that a run hit. */
export type Exceeded = 'memory' | 'processes';

/** The kernel's control groups, one for each run. */
export interface ControlGroups {
  /** Creates the group of a run. */
  make(name: string): Promise<void>;
  /** Files to which a process writes its id to join. */
  cgroupProcsFiles(name: string): readonly string[];
  /** The limit that the run reached, if any. */
  exceeded(name: string): Promise<Exceeded | undefined>;
  /** Removes the group, once its processes have ended. */
  remove(name: string): Promise<void>;
}

/** Shell text that joins groups and then runs the command after `--`. */
export const joinScript = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@"';

const parent = 'keystead-runs';
const periodMicroseconds = 100_000;

/**
 * A controller: the location of its groups, the limits written into a group, and the file with the count of refusals.
 */
interface Controller {
  readonly folder: string;
  readonly settings: readonly (readonly [file: string, value: string, optional?: 'optional'])[];
  readonly refusalFiles: readonly (readonly [file: string, word: string, what: Exceeded])[];
}

/**
 * Finds groups that this process may create, below its own or at the root, in the unified hierarchy or the older ones.
 * Tests one of them. If this is not possible, returns the reason.
 */
export async function findControlGroups(share: Share, root = '/sys/fs/cgroup'): Promise<ControlGroups | string> {
  const own = await ownGroups();
  const unified = existsSync(path.join(root, 'cgroup.controllers'));
  let why = 'there are no control groups here';
  if (!unified && !existsSync(path.join(root, 'memory', 'memory.limit_in_bytes'))) return why;
  for (const place of ['own', 'root'] as const) {
    try {
      const at = (name: string) => (place === 'own' ? (own.get(name) ?? '/') : '/');
      const groups = groupsOf(
        unified ? await unifiedController(root, at(''), share) : olderControllers(root, at, share),
      );
      await tryOne(groups);
      return groups;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      why = code ? `control groups cannot be created here (${code})` : (message.split('\n')[0] ?? why);
    }
  }
  return why;
}

/** The group of this process, by controller; the controller of the unified hierarchy has an empty name. */
async function ownGroups(): Promise<Map<string, string>> {
  const text = await readFile('/proc/self/cgroup', 'utf8').catch(() => '');
  const found = new Map<string, string>();
  for (const line of text.split('\n').filter(Boolean)) {
    const [, names = '', ...at] = line.split(':');
    for (const name of names.split(',')) found.set(name, at.join(':'));
  }
  return found;
}

async function unifiedController(root: string, at: string, share: Share): Promise<Controller[]> {
  const above = path.join(root, at);
  const there = (await readFile(path.join(above, 'cgroup.controllers'), 'utf8')).trim().split(/\s+/);
  const needed = ['memory', 'pids', ...(share.cpus === undefined ? [] : ['cpu'])];
  const missing = needed.filter((name) => !there.includes(name));
  if (missing.length > 0) throw new Error(`no controller for ${missing.join(' and ')} in ${above}`);
  const folder = path.join(above, parent);
  await mkdir(folder, { recursive: true });
  const enable = needed.map((name) => `+${name}`).join(' ');
  await writeFile(path.join(above, 'cgroup.subtree_control'), enable).catch(async (error) => {
    // A group that contains processes cannot have subgroups, so the worker moves into a subgroup if no other process is
    // in the group.
    const processes = (await readFile(path.join(above, 'cgroup.procs'), 'utf8')).trim();
    if (processes !== String(process.pid)) throw error;
    await mkdir(path.join(above, 'keystead-worker'), { recursive: true });
    await writeFile(path.join(above, 'keystead-worker', 'cgroup.procs'), processes);
    await writeFile(path.join(above, 'cgroup.subtree_control'), enable);
  });
  await writeFile(path.join(folder, 'cgroup.subtree_control'), enable);
  const cpu = share.cpus === undefined ? [] : [['cpu.max', `${quotaOf(share.cpus)} ${periodMicroseconds}`] as const];
  return [
    {
      folder,
      settings: [
        ['memory.max', String(share.memoryBytes)],
        ['memory.swap.max', '0', 'optional'],
        ['pids.max', String(share.processes)],
        ...cpu,
      ],
      refusalFiles: [
        ['memory.events', 'oom_kill', 'memory'],
        ['pids.events', 'max', 'processes'],
      ],
    },
  ];
}

function olderControllers(root: string, at: (name: string) => string, share: Share): Controller[] {
  const bytes = String(share.memoryBytes);
  const memory: Controller = {
    folder: path.join(root, 'memory', at('memory'), parent),
    settings: [
      ['memory.limit_in_bytes', bytes],
      ['memory.memsw.limit_in_bytes', bytes, 'optional'],
    ],
    refusalFiles: [['memory.oom_control', 'oom_kill', 'memory']],
  };
  const processes: Controller = {
    folder: path.join(root, 'pids', at('pids'), parent),
    settings: [['pids.max', String(share.processes)]],
    refusalFiles: [['pids.events', 'max', 'processes']],
  };
  if (share.cpus === undefined) return [memory, processes];
  const cpu: Controller = {
    folder: path.join(root, 'cpu', at('cpu'), parent),
    settings: [
      ['cpu.cfs_period_us', String(periodMicroseconds)],
      ['cpu.cfs_quota_us', String(quotaOf(share.cpus))],
    ],
    refusalFiles: [],
  };
  return [memory, processes, cpu];
}

const quotaOf = (cpus: number): number => Math.round(cpus * periodMicroseconds);

function groupsOf(controllers: readonly Controller[]): ControlGroups {
  return {
    async make(name) {
      for (const { folder, settings } of controllers) {
        const group = path.join(folder, name);
        await mkdir(group, { recursive: true });
        for (const [file, value, optional] of settings) {
          const written = writeFile(path.join(group, file), value);
          await (optional ? written.catch(() => undefined) : written);
        }
      }
    },
    cgroupProcsFiles: (name) => controllers.map(({ folder }) => path.join(folder, name, 'cgroup.procs')),
    async exceeded(name) {
      for (const { folder, refusalFiles } of controllers) {
        for (const [file, word, what] of refusalFiles) {
          const text = await readFile(path.join(folder, name, file), 'utf8').catch(() => '');
          if (Number(new RegExp(`^${word} (\\d+)$`, 'm').exec(text)?.[1] ?? 0) > 0) return what;
        }
      }
      return undefined;
    },
    async remove(name) {
      for (const { folder } of controllers) await removeGroup(path.join(folder, name));
    },
  };
}

/** Removes a group. This is repeated, because its last processes may still be exiting. */
async function removeGroup(group: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await rmdir(group);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EBUSY' || tries === 50) return;
      await sleep(100);
    }
  }
}

async function tryOne(groups: ControlGroups): Promise<void> {
  const name = `trial-${process.pid}`;
  await groups.make(name);
  try {
    const args = ['-c', joinScript, 'sh', ...groups.cgroupProcsFiles(name), '--', 'true'];
    const { status, stderr } = spawnSync('/bin/sh', args, { env: { PATH: cleanPath }, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr.trim() || 'no process can join a group');
  } finally {
    await groups.remove(name);
  }
}
