import type { ChildProcess } from 'node:child_process';

/** Whether a child process has ended. */
export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Asks a live process to end and waits until it has; if the process does not end in time, it is killed. */
export async function endProcess(child: ChildProcess, patienceSeconds: number): Promise<void> {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceSeconds * 1000);
  await ended;
  clearTimeout(timer);
}
