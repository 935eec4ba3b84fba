import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';

/** The use of cores: the server under test has one for itself; load and PostgreSQL share the others. */
export interface Pinning {
  server: string;
  others: string;
}

/** Splits the cores this process may use, or returns undefined if there is one core or no `taskset`. */
export function choosePinning(): Pinning | undefined {
  const cores = allowedCores();
  if (cores.length < 2) return undefined;
  return { server: String(cores[0]), others: cores.slice(1).join(',') };
}

/** Puts a command on cores. */
export function pinned(cores: string | undefined, command: string, args: readonly string[]): [string, string[]] {
  return cores === undefined ? [command, [...args]] : ['taskset', ['-c', cores, command, ...args]];
}

/** Moves a running process, its threads and its future children to cores. */
export function pinProcess(cores: string | undefined, pid: number): void {
  if (cores !== undefined) execFileSync('taskset', ['-apc', cores, String(pid)], { stdio: 'ignore' });
}

/** True when a program of this name can be run. */
export function found(program: string, args: readonly string[] = ['--version']): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).error === undefined;
}

/** One line about the machine behind the figures. */
export function machine(): string {
  const cpu = os.cpus()[0]?.model.trim() ?? 'unknown processor';
  return `${os.cpus().length} × ${cpu}, ${os.type()} ${os.release()}, Node ${process.version}`;
}

function allowedCores(): number[] {
  const shown = spawnSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' });
  const list = /:\s*([\d,-]+)\s*$/.exec(shown.stdout ?? '')?.[1];
  if (list === undefined) return [];
  return list.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

/** Processor time a process has used, in ms. Linux counts it in hundredths of a second. */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The resident memory of a process now, in KiB. Linux only. */
export function residentKib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

const enough = 0.8;

/**
 * Throws if this machine is too busy for meaningful figures: a program that only counts for `ms` gets less than four
 * fifths of a core.
 */
export function requireIdleMachine(ms = 1000): void {
  const [begin, before] = [performance.now(), process.cpuUsage()];
  while (performance.now() - begin < ms);
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1000 / (performance.now() - begin);
  if (share >= enough) return;
  throw new Error(
    `this machine gives a program ${Math.round(share * 100)} % of a core, so figures would be meaningless; --busy measures anyway`,
  );
}
