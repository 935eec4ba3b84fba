import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { birthOf } from './birth';
import { Stop } from './stop';

const LOCK_FILE = 'running.pid';

/** A process, identified by its id and start time. */
interface ProcessId {
  readonly pid: number;
  readonly birth: string;
}

/** A data folder that only this process uses. */
export interface DataFolderLock {
  /**
   * Records a process that this one has started. If this process is killed, the next start waits for the recorded
   * process.
   */
  note(pid: number): void;
  /**
   * Resolves when all processes that an earlier, killed start has left have ended. Processes that take longer than
   * `seconds` are killed.
   */
  leftOversEnd(seconds: number): Promise<void>;
  release(): void;
}

/** Creates the data folder, readable only by its owner. Throws `Stop` if it cannot be written. */
export function prepareDataFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const probe = path.join(dataDir, `.probe-${process.pid}`);
    closeSync(openSync(probe, 'w'));
    rmSync(probe);
    if ((statSync(dataDir).mode & 0o077) !== 0) chmodSync(dataDir, 0o700);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Stop(`${dataDir} cannot be written (${code}): make it writable or set KEYSTEAD_DATA to another folder`);
  }
}

/**
 * Locks the data folder for this process, so that two starts never share one. The lock of a killed process is taken
 * over, even before that process is reaped. Throws `Stop` if the process that holds the lock is alive.
 */
export function lockDataFolder(dataDir: string): DataFolderLock {
  const file = path.join(dataDir, LOCK_FILE);
  let leftOvers: ProcessId[] = [];
  for (;;) {
    try {
      const own = { pid: process.pid, birth: birthOf(process.pid) ?? '-' };
      // The remaining processes are recorded again at once, because this start may also be killed.
      write(file, 'wx', [own, ...leftOvers]);
      return {
        note: (pid) => write(file, 'a', [{ pid, birth: birthOf(pid) ?? '-' }]),
        leftOversEnd: (seconds) => allEnd(leftOvers, seconds),
        release: () => rmSync(file, { force: true }),
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const [holder, ...others] = read(file);
    if (holder && lives(holder)) {
      throw new Stop(`${dataDir} is in use by process ${holder.pid}: stop it, or set KEYSTEAD_DATA to another folder`);
    }
    leftOvers = others.filter(lives);
    rmSync(file, { force: true });
  }
}

function write(file: string, flags: 'wx' | 'a', processes: readonly ProcessId[]): void {
  const descriptor = openSync(file, flags, 0o600);
  writeSync(descriptor, processes.map(({ pid, birth }) => `${pid} ${birth}\n`).join(''));
  closeSync(descriptor);
}

/** Reads the lock: first the process that holds it, then the processes that it has started. */
function read(file: string): ProcessId[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // The holder has just released the lock.
    return [];
  }
  return text.split('\n').flatMap((line) => {
    const [pid, birth] = line.split(' ');
    return pid && birth ? [{ pid: Number(pid), birth }] : [];
  });
}

const lives = ({ pid, birth }: ProcessId): boolean => birthOf(pid) === birth;

async function allEnd(processes: readonly ProcessId[], seconds: number): Promise<void> {
  const giveUpAt = Date.now() + seconds * 1000;
  let killed = false;
  while (processes.some(lives)) {
    if (!killed && Date.now() > giveUpAt) {
      for (const one of processes) if (lives(one)) process.kill(one.pid, 'SIGKILL');
      killed = true;
    }
    await sleep(30);
  }
}
