import { type Manner, SetUpFailed, type Suite, suitesOf } from './harness';
import { STEP_LIMIT_MS } from './limits';
import { type Mutant, nameOf, play, wasReached } from './mutant';
import type { Planned } from './plan';

/** A mutant that no test of its row noticed. */
export interface Survivor {
  readonly mutant: Mutant;
  /** Whether the tests used the mutated code. */
  readonly reached: boolean;
}

/** The workspace service has no state outside its database; the secrets service has caches. */
const decidesByDatabase = (file: string): boolean => file.startsWith('apps/workspaces/');

interface Ready {
  readonly suite: Suite;
  readonly manner: Manner;
  /** Far longer than the tests normally take, even on a busy machine. */
  readonly limitMs: number;
}

/**
 * Runs the mutants of rows against their tests, and keeps the services of the current files running. Loaded by name,
 * after the hooks.
 * @public
 */
export class Player {
  private readonly open = new Map<string, Suite[]>();
  /** How many mutants a suite has killed: suites with more kills run first. */
  private readonly kills = new Map<Suite, number>();

  /** `inForce` is called with the name of the active mutant; undefined if there is none. */
  constructor(private readonly inForce: (mutant: string | undefined) => void) {}

  /**
   * Runs the mutants of a row, each until a test fails; returns the survivors. If the tests then fail without a mutant,
   * one of them left something behind: then all run again, each with a fresh set-up.
   */
  async play(planned: Planned, mutants: readonly Mutant[]): Promise<Survivor[]> {
    await this.closeAllBut(planned.files);
    const ready = await this.readyFor(planned);
    const id = planned.row.id;
    let survivors = await this.playAll(id, mutants, ready);
    if ((await this.failureOf(id, ready)) === undefined) return survivors;
    const restart = async () => {
      for (const { suite } of ready) await suite.close();
    };
    survivors = await this.playAll(id, mutants, ready, restart);
    await restart();
    const failure = await this.failureOf(id, ready);
    if (failure !== undefined) throw new Error(`${id} fails after its mutants: ${failure.stack}`);
    return survivors;
  }

  /** Stops everything. */
  async close(): Promise<void> {
    await this.closeAllBut([]);
  }

  private async playAll(
    row: string,
    mutants: readonly Mutant[],
    ready: Ready[],
    before: () => Promise<void> = async () => undefined,
  ): Promise<Survivor[]> {
    const survivors: Survivor[] = [];
    for (const mutant of mutants) {
      await before();
      let killed = false;
      let reached = false;
      ready.sort((a, b) => (this.kills.get(b.suite) ?? 0) - (this.kills.get(a.suite) ?? 0));
      for (const { suite, manner, limitMs } of ready) {
        await suite.prepare();
        this.putInForce(mutant);
        const failure = await suite.run(row, manner, limitMs);
        reached ||= wasReached();
        this.putInForce(undefined);
        if (failure === undefined) continue;
        // A failed set-up is treated as a kill only if the tests pass without the mutant.
        if (failure instanceof SetUpFailed) await this.requireHealth(row, suite, manner, limitMs);
        killed = true;
        this.kills.set(suite, (this.kills.get(suite) ?? 0) + 1);
        break;
      }
      if (!killed || !reached) survivors.push({ mutant, reached });
    }
    return survivors;
  }

  private putInForce(mutant: Mutant | undefined): void {
    play(mutant);
    this.inForce(mutant && nameOf(mutant));
  }

  private async failureOf(row: string, ready: readonly Ready[]): Promise<Error | undefined> {
    for (const { suite, manner, limitMs } of ready) {
      await suite.prepare();
      const failure = await suite.run(row, manner, limitMs);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  private async requireHealth(row: string, suite: Suite, manner: Manner, limitMs: number): Promise<void> {
    const failure = await this.failureOf(row, [{ suite, manner, limitMs }]);
    if (failure !== undefined) throw new Error(`${row} fails without any mutant by now: ${failure.stack}`);
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
        ready.push({
          suite,
          manner,
          limitMs: Math.min(STEP_LIMIT_MS / 2 + 10 * (Date.now() - begun), 3 * STEP_LIMIT_MS),
        });
      }
    }
    return ready;
  }
}

/** The manner in which the tests of a row pass without a mutant: by themselves, or after others. */
async function mannerOf(suite: Suite, row: string, file: string): Promise<Manner> {
  const run = async (manner: Manner) => {
    await suite.prepare();
    return suite.run(row, manner, 2 * STEP_LIMIT_MS);
  };
  const only = await run('by itself');
  if (only === undefined) return 'by itself';
  if ((await run('after others')) === undefined) return 'after others';
  throw new Error(`${file} fails for ${row} without any mutant: ${only.stack}`);
}
