import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

const suffix = '.heapsnapshot';

/** Flags of a Node process that writes what its heap holds into a folder when it is asked by `keptInHeap`. */
export const heapFlags = (folder: string): readonly string[] => [
  '--heapsnapshot-signal=SIGUSR2',
  `--diagnostic-dir=${folder}`,
];

/**
 * Every text that the heap of a process holds after a garbage collection. `answers` asks the process for something: what
 * is answered after the file is there is answered when the file is whole.
 */
async function stringsInHeap(pid: number, folder: string, answers: () => Promise<unknown>): Promise<readonly string[]> {
  const files = () => readdirSync(folder).filter((name) => name.endsWith(suffix));
  process.kill(pid, 'SIGUSR2');
  while (files().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await answers();
  const [name] = files();
  const file = path.join(folder, name!);
  const { strings } = await whole(pid, file);
  rmSync(file);
  return strings;
}

/**
 * What a heap is written as, once its last byte is there: an answer can come before that, by as much as the machine is busy.
 * Throws when its process ends meanwhile.
 */
async function whole(pid: number, file: string): Promise<{ readonly strings: readonly string[] }> {
  for (;;) {
    const text = readFileSync(file, 'utf8');
    if (text.trimEnd().endsWith(']}')) return JSON.parse(text);
    process.kill(pid, 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * The texts of `wanted` that the heap of a process keeps: those that are still there after several collections with requests
 * in between. What is only under way, such as the last request of a connection, is gone by then; a cache is not.
 */
export async function keptInHeap(
  pid: number,
  folder: string,
  wanted: Iterable<string>,
  answers: () => Promise<unknown>,
): Promise<readonly string[]> {
  let left = [...wanted];
  for (let looks = 0; looks < 5 && left.length > 0; looks++) {
    for (let i = 0; i < 20; i++) await answers();
    const strings = await stringsInHeap(pid, folder, answers);
    if (strings.length < 10_000) throw new Error(`the heap of ${pid} was not read`);
    const all = strings.join('\n');
    left = left.filter((text) => all.includes(text));
  }
  return left;
}
