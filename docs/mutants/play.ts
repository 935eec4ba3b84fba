import { type Manner, type Suite, suitesOf } from './harness';
import { type Mutant, play, wasReached } from './mutant';
import type { Planned } from './plan';

/** A mutant that no test of its row noticed. */
export interface Survivor {
  readonly mutant: Mutant;
  /** The tests used what it changes. */
  readonly reached: boolean;
}

/** The workspace service decides by its database alone; the secrets service remembers what it read. */
const decidesByDatabase = (file: string): boolean => file.startsWith('apps/workspaces/');

interface Ready {
  readonly suite: Suite;
  readonly manner: Manner;
  /** Far longer than the tests take where nothing is wrong, however busy the machine is. */
  readonly limitMs: number;
}

/** Plays rows against their tests, with the services of the files in use kept running. */
export class Player {
  private readonly open = new Map<string, Suite[]>();
  /** How many mutants a suite has killed: those that kill most are asked first. */
  private readonly kills = new Map<Suite, number>();

  /** Plays the mutants of a row, each until a test fails; answers those that none failed for. */
  async play(planned: Planned): Promise<Survivor[]> {
    const { row, mutants } = planned;
    await this.closeAllBut(planned.files);
    const ready = await this.readyFor(planned);
    const survivors: Survivor[] = [];
    for (const mutant of mutants) {
      let killed = false;
      let reached = false;
      ready.sort((a, b) => (this.kills.get(b.suite) ?? 0) - (this.kills.get(a.suite) ?? 0));
      for (const { suite, manner, limitMs } of ready) {
        play(mutant);
        killed = (await suite.run(row.id, manner, limitMs)) !== undefined;
        reached ||= wasReached();
        if (!killed) continue;
        this.kills.set(suite, (this.kills.get(suite) ?? 0) + 1);
        break;
      }
      play(undefined);
      if (!killed || !reached) survivors.push({ mutant, reached });
    }
    // What a mutant leaves behind must not have failed the tests of the next.
    for (const { suite, manner } of ready) {
      const failure = await suite.run(row.id, manner);
      if (failure !== undefined) throw new Error(`${row.id} fails after its mutants: ${failure.message}`);
    }
    return survivors;
  }

  /** Ends everything that runs. */
  async close(): Promise<void> {
    await this.closeAllBut([]);
  }

  private async closeAllBut(files: readonly string[]): Promise<void> {
    for (const [file, suites] of this.open) {
      if (files.includes(file)) continue;
      for (const suite of suites) await suite.close();
      this.open.delete(file);
    }
  }

  private async readyFor({ row, files }: Planned): Promise<Ready[]> {
    const ready: Ready[] = [];
    for (const file of files) {
      const suites = this.open.get(file) ?? suitesOf(file, decidesByDatabase(file));
      this.open.set(file, suites);
      for (const suite of suites) {
        if (!suite.names(row.id)) continue;
        const begun = Date.now();
        const manner = await mannerOf(suite, row.id, file);
        ready.push({ suite, manner, limitMs: 60_000 + 20 * (Date.now() - begun) });
      }
    }
    return ready;
  }
}

/** How the tests of a row pass where nothing is wrong. */
async function mannerOf(suite: Suite, row: string, file: string): Promise<Manner> {
  const alone = await suite.run(row, 'alone');
  if (alone === undefined) return 'alone';
  if ((await suite.run(row, 'after others')) === undefined) return 'after others';
  throw new Error(`${file} fails for ${row} without any mutant: ${alone.stack}`);
}
