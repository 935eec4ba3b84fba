import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

const suffix = '.heapsnapshot';

/** Flags for a Node process that writes a heap snapshot into a folder when `keptInHeap` asks for it. */
export const heapFlags = (folder: string): readonly string[] => [
  '--heapsnapshot-signal=SIGUSR2',
  `--diagnostic-dir=${folder}`,
];

/**
 * All strings in the heap of a process after a garbage collection. `ready` sends the process a request: an answer after
 * the file appears means that the file is complete.
 */
async function stringsInHeap(pid: number, folder: string, ready: () => Promise<unknown>): Promise<readonly string[]> {
  const files = () => readdirSync(folder).filter((name) => name.endsWith(suffix));
  process.kill(pid, 'SIGUSR2');
  while (files().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await ready();
  const [name] = files();
  const file = path.join(folder, name!);
  const { strings } = await dumpHeap(pid, file);
  rmSync(file);
  return strings;
}

/**
 * A heap snapshot, once it is complete: on a busy machine the answer can come earlier. Throws if the process ends
 * first.
 */
async function dumpHeap(pid: number, file: string): Promise<{ readonly strings: readonly string[] }> {
  for (;;) {
    const text = readFileSync(file, 'utf8');
    if (text.trimEnd().endsWith(']}')) return JSON.parse(text);
    process.kill(pid, 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * The strings of `secrets` that the heap of a process keeps: those that remain after several collections with requests
 * in between. Transient data, such as the last request of a connection, has been freed by then; a cache is not.
 */
export async function keptInHeap(
  pid: number,
  folder: string,
  secrets: Iterable<string>,
  ready: () => Promise<unknown>,
): Promise<readonly string[]> {
  let missing = [...secrets];
  for (let looks = 0; looks < 5 && missing.length > 0; looks++) {
    for (let i = 0; i < 20; i++) await ready();
    const strings = await stringsInHeap(pid, folder, ready);
    if (strings.length < 10_000) throw new Error(`the heap of ${pid} was not read`);
    const all = strings.join('\n');
    missing = missing.filter((text) => all.includes(text));
  }
  return missing;
}
