import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanPath } from './command';

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
