import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

const suffix = '.heapsnapshot';

/** Flags of a Node process that writes what its heap holds into a folder when it is asked by `stringsInHeap`. */
export const heapFlags = (folder: string): readonly string[] => [
  '--heapsnapshot-signal=SIGUSR2',
  `--diagnostic-dir=${folder}`,
];

/**
 * Every text that the heap of a process holds after a garbage collection. `answers` asks the process for something: what
 * is answered after the file is there is answered when the file is whole.
 */
export async function stringsInHeap(
  pid: number,
  folder: string,
  answers: () => Promise<unknown>,
): Promise<readonly string[]> {
  const files = () => readdirSync(folder).filter((name) => name.endsWith(suffix));
  process.kill(pid, 'SIGUSR2');
  while (files().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await answers();
  const [name] = files();
  const file = path.join(folder, name!);
  const { strings } = JSON.parse(readFileSync(file, 'utf8')) as { strings: string[] };
  rmSync(file);
  return strings;
}
