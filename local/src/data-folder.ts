import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Stop } from './stop';

const LOCK_FILE = 'running.pid';

/** Makes the data folder, for its owner alone. Throws `Stop` when it cannot be written. */
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
 * Takes the data folder for this process, so that two starts never share one. Returns what gives it back.
 * A lock left by a killed process is taken over. Throws `Stop` when the other one lives.
 */
export function lockDataFolder(dataDir: string): () => void {
  const file = path.join(dataDir, LOCK_FILE);
  for (;;) {
    try {
      const descriptor = openSync(file, 'wx', 0o600);
      writeSync(descriptor, `${process.pid} ${birthOf(process.pid)}\n`);
      closeSync(descriptor);
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = livingHolder(file);
    if (holder) {
      throw new Stop(`${dataDir} is in use by process ${holder}: stop it, or set KEYSTEAD_DATA to another folder`);
    }
    rmSync(file, { force: true });
  }
}

function livingHolder(file: string): number | undefined {
  const [pid, birth] = readFileSync(file, 'utf8').trim().split(' ');
  const alive = birthOf(Number(pid));
  return alive !== undefined && alive === birth ? Number(pid) : undefined;
}

/** Tells a process from a later one with the same id: when it was started, where the system says so. */
function birthOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return '-';
  }
}
