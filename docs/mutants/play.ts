import { type Manner, runNamed } from './harness';
import { type Mutant, play, wasReached } from './mutant';
import type { Planned } from './plan';

/** A mutant that no test of its row noticed. */
export interface Survivor {
  readonly mutant: Mutant;
  /** The tests used what it changes. */
  readonly reached: boolean;
}

/** How the tests of a row pass where nothing is wrong, by file and row. */
const manners = new Map<string, Manner>();

async function mannerOf(file: string, row: string): Promise<Manner> {
  const key = `${file} ${row}`;
  const known = manners.get(key);
  if (known !== undefined) return known;
  for (const manner of ['alone', 'after others'] as const) {
    const { named, failed, reason } = await runNamed(file, row, manner);
    if (named > 0 && failed.length === 0 && reason === undefined) {
      manners.set(key, manner);
      return manner;
    }
    if (manner === 'after others') throw new Error(`${file} fails for ${row} without any mutant: ${reason}`);
  }
  throw new Error('unreachable');
}

/** How many mutants the tests of a file have killed: those that kill most are asked first. */
const kills = new Map<string, number>();

/** Plays the mutants of a row against its tests, each until a test fails; answers those that none failed for. */
export async function playRow({ row, files, mutants }: Planned): Promise<Survivor[]> {
  const survivors: Survivor[] = [];
  const known: { file: string; manner: Manner }[] = [];
  for (const file of files) known.push({ file, manner: await mannerOf(file, row.id) });
  for (const mutant of mutants) {
    let killed = false;
    let reached = false;
    known.sort((a, b) => (kills.get(b.file) ?? 0) - (kills.get(a.file) ?? 0));
    for (const { file, manner } of known) {
      play(mutant);
      const { failed, reason } = await runNamed(file, row.id, manner);
      reached ||= wasReached();
      killed = failed.length > 0 || reason !== undefined;
      if (!killed) continue;
      kills.set(file, (kills.get(file) ?? 0) + 1);
      break;
    }
    play(undefined);
    if (!killed || !reached) survivors.push({ mutant, reached });
  }
  return survivors;
}
