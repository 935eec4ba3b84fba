import { execFile } from 'node:child_process';
import { cleanPath } from '../files/clean-path';
import { type Confinement, launchAtOnce } from './launcher';
import { processors, systemCallFilter } from './system-calls';

/** The first version of Landlock that knows scopes (Linux 6.12). */
const scopesSince = 6;

/** Finds out whether system calls can be taken away here, by doing it. Answers why not where they cannot. */
export async function findConfinement(): Promise<Confinement | string> {
  const processor = processors.find((known) => known === process.arch);
  if (!processor) return `there is no list of system calls for this processor (${process.arch})`;
  const version = await tell(['perl', '-e', 'print syscall(444, 0, 0, 1)']);
  if (version instanceof Error) return reasonOf(version);
  const confinement = {
    processor,
    filter: systemCallFilter(processor).toString('hex'),
    scoped: Number(version) >= scopesSince,
  };
  const free = { cgroupProcsFiles: [], namespaces: undefined, root: undefined, owner: undefined, limits: [] };
  const argv = launchAtOnce(confinement, { ...free, keepsRights: true });
  const tried = await tell([...argv, 'cat', '/proc/self/status']);
  if (tried instanceof Error) return reasonOf(tried);
  return /^Seccomp:\s+2$/m.test(tried) ? confinement : 'the kernel does not filter them';
}

function tell([file = '', ...args]: readonly string[]): Promise<string | Error> {
  return new Promise((resolve) => {
    execFile(file, args, { env: { PATH: cleanPath }, timeout: 20_000 }, (error, stdout) => resolve(error ?? stdout));
  });
}

function reasonOf(error: Error): string {
  const { code, stderr, message } = error as Error & { code?: unknown; stderr?: string };
  if (code === 'ENOENT') return 'perl is missing';
  return (stderr || message).trim().split('\n').at(-1) ?? message;
}
