import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, open, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Owner } from '../files/archive';
import { end } from './command';
import { type Isolation, type JobFolder, makeFolder } from './isolation';

/** A folder that only one job uses until it is released, and a uid if each job has a separate one. */
export interface Slot {
  /** The name of its folder and of its control group. */
  readonly name: string;
  readonly jobFolder: JobFolder;
  /** Records a process group of the job, for the cleanup after a worker that was killed. */
  group(pid: number): Promise<void>;
  /** Records data about the job, for the same cleanup. */
  note(note: object): Promise<void>;
  /** Removes the folder and frees the uid. */
  release(): Promise<void>;
}

interface SlotHolder {
  readonly pid: number;
  readonly start: string;
  readonly folder: string;
  readonly groups: { pid: number; start: string }[];
  note?: object;
}

/** The remains of a job whose worker was killed. */
export interface Leftover {
  readonly jobFolder: JobFolder;
  readonly note: object | undefined;
}

/** The folder of the jobs' folders. Several workers on one machine may share it. */
export interface ScratchOptions {
  readonly root: string;
  readonly firstUid: number;
  readonly slots: number;
}

const slotFile = (root: string, index: number): string => path.join(root, `slot-${index}`);

/** Creates the folder. Other users cannot list it, but a job can reach its own folder below it. */
export async function makeScratch(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o711 });
  const found = await lstat(root);
  if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid)) {
    throw new Error(`${root} belongs to another user`);
  }
  await chmod(root, 0o711);
}

/** The owner of a slot's files. */
export function ownerOf(options: ScratchOptions, index: number): Owner {
  return { uid: options.firstUid + index, gid: options.firstUid + index };
}

/**
 * Takes a free slot for a run. Its folder is named after the run, so that a plan and its apply usually see the same
 * path.
 */
export async function takeSlot(options: ScratchOptions, isolation: Isolation, runId: string): Promise<Slot> {
  const { root } = options;
  for (let index = 0; index < options.slots; index++) {
    const file = slotFile(root, index);
    const base = await freeName(path.join(root, runId));
    const holder: SlotHolder = { pid: process.pid, start: await startOf(process.pid), folder: base, groups: [] };
    if (!(await claim(file, holder))) continue;
    const owner = isolation.ownUid ? ownerOf(options, index) : undefined;
    await mkdir(base, { mode: 0o711 });
    await chmod(base, 0o711);
    const name = path.basename(base);
    const jobFolder: JobFolder = {
      folder: path.join(base, 'box'),
      mountPoint: path.join(base, 'root'),
      owner,
      cgroupProcsFiles: isolation.groups?.cgroupProcsFiles(name),
    };
    await isolation.groups?.make(name);
    await mkdir(jobFolder.mountPoint);
    await makeFolder(jobFolder.folder, owner, 0o700);
    for (const name of ['config', 'home', 'tmp', 'state']) {
      await makeFolder(path.join(jobFolder.folder, name), owner, 0o700);
    }
    let writing: Promise<void> = Promise.resolve();
    const write = () => {
      // The file is written atomically, so that the cleanup after a kill finds either the whole file or no file.
      writing = writing.then(async () => {
        await writeFile(`${file}.new`, JSON.stringify(holder), { mode: 0o600 });
        await rename(`${file}.new`, file);
      });
      return writing;
    };
    return {
      name,
      jobFolder,
      async group(pid) {
        holder.groups.push({ pid, start: await startOf(pid) });
        await write();
      },
      note(note) {
        holder.note = note;
        return write();
      },
      async release() {
        await writing.catch(() => undefined);
        await removeFolder(base);
        await isolation.groups?.remove(name);
        await unlink(file);
      },
    };
  }
  throw new Error(`all ${options.slots} folders below ${root} are in use`);
}

/**
 * A free name for the folder of a job. The usual name is taken if another worker has lost this job but not stopped it
 * yet.
 */
async function freeName(at: string): Promise<string> {
  const exists = await stat(at).then(
    () => true,
    () => false,
  );
  return exists ? `${at}.${randomBytes(4).toString('hex')}` : at;
}

async function claim(file: string, holder: SlotHolder): Promise<boolean> {
  try {
    const handle = await open(file, 'wx', 0o600);
    await handle.writeFile(JSON.stringify(holder));
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Cleans up after dead workers: processes of their jobs, folders, slots. Returns the removed folders. `before` is
 * called for each folder first. If it throws, the folder is kept for the next time.
 */
export async function sweepScratch(
  options: ScratchOptions,
  isolation: Isolation,
  before: (leftover: Leftover) => Promise<void> = async () => undefined,
): Promise<string[]> {
  const { root } = options;
  const names = await readdir(root);
  const inUse = new Set<string>();
  const removed: string[] = [];
  for (const name of names) {
    const index = Number(/^slot-(\d+)$/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(index)) continue;
    const holder = await readHolder(slotFile(root, index));
    if (!holder && (await ageMs(slotFile(root, index))) > abandonedMs) await rm(slotFile(root, index), { force: true });
    if (!holder || (holder.start !== '' && (await startOf(holder.pid)) === holder.start)) {
      inUse.add(holder ? path.basename(holder.folder) : name);
      continue;
    }
    const owner = isolation.ownUid ? ownerOf(options, index) : undefined;
    await endLeftovers(holder, owner);
    if (path.dirname(holder.folder) === root) {
      const jobFolder = {
        folder: path.join(holder.folder, 'box'),
        mountPoint: path.join(holder.folder, 'root'),
        owner,
      };
      try {
        await before({ jobFolder, note: holder.note });
      } catch {
        inUse.add(path.basename(holder.folder));
        continue;
      }
      await removeFolder(holder.folder);
      await isolation.groups?.remove(path.basename(holder.folder));
      removed.push(holder.folder);
    }
    await rm(slotFile(root, index), { force: true });
  }
  for (const name of names.filter((name) => /^(run-|trial-)/.test(name) && !inUse.has(name))) {
    const folder = path.join(root, name);
    if ((await ageMs(folder)) < abandonedMs) continue;
    await removeFolder(folder);
    removed.push(folder);
  }
  return removed;
}

/** The age at which a slot without an owner is treated as abandoned. A younger slot may just be in creation. */
const abandonedMs = 600_000;

async function ageMs(at: string): Promise<number> {
  const found = await stat(at).catch(() => undefined);
  return found ? Date.now() - found.mtimeMs : 0;
}

async function readHolder(file: string): Promise<SlotHolder | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as SlotHolder;
  } catch {
    return undefined;
  }
}

async function endLeftovers(holder: SlotHolder, owner: Owner | undefined): Promise<void> {
  for (const { pid, start } of holder.groups) {
    if (start === '' || (await startOf(pid)) !== start) continue;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The process ended between the two checks.
    }
  }
  if (!owner) return;
  const args = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--', '/bin/sh', '-c', 'kill -9 -1'];
  await end({ file: 'setpriv', args });
}

/**
 * The start time of a process by the kernel's clock; empty if it does not exist. It distinguishes reused process ids.
 */
async function startOf(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    if (process.platform === 'linux') return '';
    try {
      process.kill(pid, 0);
      return 'alive';
    } catch {
      return '';
    }
  }
}

/** Removes a job's folder, even if the job has removed its own rights to it. */
async function removeFolder(at: string): Promise<void> {
  try {
    await rm(at, { recursive: true, force: true });
  } catch {
    await end({ file: 'chmod', args: ['-R', 'u+rwx', at] });
    await rm(at, { recursive: true, force: true });
  }
}
