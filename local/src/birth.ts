import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Distinguishes a process from a later one with the same id: its start time if the system provides it, otherwise `-`.
 * `undefined` if there is no such process, or only one that has ended and waits to be reaped.
 */
export function birthOf(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined;
  }
  const { state, birth } = (process.platform === 'linux' ? fromProc : fromPs)(pid);
  return /^[ZX]/.test(state) ? undefined : birth;
}

const unknown = { state: '', birth: '-' };

function fromProc(pid: number): typeof unknown {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0]!, birth: fields[19]! };
  } catch {
    return unknown;
  }
}

function fromPs(pid: number): typeof unknown {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const [state, ...birth] = (stdout ?? '').trim().split(/\s+/);
  return state && birth.length > 0 ? { state, birth: birth.join('-') } : unknown;
}
