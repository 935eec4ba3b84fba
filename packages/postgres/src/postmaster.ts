import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';

/** The file that a running server writes into its data directory. */
export interface Postmaster {
  pid: number;
  port: number;
  /** The folder of its socket, if it does not listen on a port. */
  socketFolder: string | undefined;
  ready: boolean;
}

/** Reads `postmaster.pid`; `undefined` if no server uses the directory or the file is only half written. */
export function readPostmaster(dataDir: string): Postmaster | undefined {
  let lines: string[];
  try {
    lines = readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return undefined;
  }
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  // The first listen address comes after the first socket folder; either may be empty.
  const socketFolder = lines[5]?.trim() ? undefined : lines[4] || undefined;
  return { pid, port, socketFolder, ready: lines[7]?.trim() === 'ready' };
}

/**
 * Finds the living server of a data directory. After a crash of the machine, the process id in the file may belong to
 * another process. PostgreSQL would then refuse to start, so such a file is removed.
 */
export function findPostmaster(dataDir: string): Postmaster | undefined {
  const found = readPostmaster(dataDir);
  if (!found) return undefined;
  if (isAlive(found.pid) && isPostgres(found.pid)) return found;
  rmSync(path.join(dataDir, 'postmaster.pid'), { force: true });
  return undefined;
}

/** Whether a process with this id is running; a zombie is not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    // Either this is not Linux, or the process has just ended and the next check will notice it.
    return true;
  }
}

function isPostgres(pid: number): boolean {
  try {
    if (process.platform === 'linux') return /(^|\/)postgres( \(deleted\))?$/.test(readlinkSync(`/proc/${pid}/exe`));
    return /postgres/.test(execFileSync('ps', ['-p', String(pid), '-o', 'comm='], { encoding: 'utf8' }));
  } catch (error) {
    // If we may not read the executable of a process, we treat it as the server: a refused start is better than two
    // servers.
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}
