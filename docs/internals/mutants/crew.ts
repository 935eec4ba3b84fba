import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import { fromSource } from '../../../packages/testing/src/from-source';
import { SILENCE_LIMIT_MS } from './limits';
import type { Planned } from './plan';
import type { Order, Said } from './worker';

/** The outcome of a row: surviving mutants, or why they could not run. */
export interface Outcome {
  readonly survivors: readonly { readonly name: string; readonly reached: boolean }[];
  /** Why the run failed: the tests fail without a mutant, or the worker broke. */
  readonly failure?: string;
}

interface Heard {
  readonly last?: Said;
  readonly mutant?: string;
  readonly why: string;
}

/**
 * A process that runs the mutants of rows. A silent process is killed and replaced: if a mutant was active, the tests,
 * which passed without it, hang because of it, and it is treated as killed.
 */
export class Worker {
  private process: ChildProcess | undefined;
  private hear: (said: Said) => void = () => undefined;
  private gone: (why: string) => void = () => undefined;

  constructor(
    private readonly silenceMs = SILENCE_LIMIT_MS,
    private readonly program = path.join(__dirname, 'worker.ts'),
  ) {}

  /** Starts the process; returns the file of each declaration. */
  async start(): Promise<ReadonlyMap<string, string>> {
    const child = fork(this.program, {
      execArgv: [...fromSource],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.process = child;
    child.on('message', (said: Said) => this.hear(said));
    child.once('exit', (code, signal) => {
      if (this.process !== child) return;
      this.process = undefined;
      this.gone(`the process ended (${signal ?? code})`);
    });
    const { last, why } = await this.listen(['ready'], SILENCE_LIMIT_MS);
    if (last?.kind !== 'ready') throw new Error(`mutants cannot be played: ${why}`);
    return new Map(last.places);
  }

  /** Runs the mutants of a row. */
  async play({ row, mutants }: Planned): Promise<Outcome> {
    const stuck: string[] = [];
    while (stuck.length <= mutants.length) {
      if (this.process === undefined) await this.start();
      const order: Order = { row: row.id, stuck };
      this.process!.send(order);
      const { last, mutant, why } = await this.listen(['played', 'failed'], this.silenceMs);
      if (last?.kind === 'played') return { survivors: last.survivors };
      if (last?.kind === 'failed') return { survivors: [], failure: last.why };
      if (mutant === undefined || why !== 'silence') return { survivors: [], failure: `${why}, under ${mutant}` };
      stuck.push(mutant);
    }
    throw new Error(`${row.id} is stuck in more mutants than it has`);
  }

  /** Ends the process. */
  async end(): Promise<void> {
    const child = this.process;
    if (child === undefined) return;
    this.process = undefined;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const late = setTimeout(() => child.kill('SIGKILL'), 20_000);
    child.disconnect();
    await exited;
    clearTimeout(late);
  }

  /**
   * Waits until the process sends one of these messages, is silent for too long, or ends; returns the mutant that was
   * active.
   */
  private async listen(kinds: readonly Said['kind'][], silenceMs: number): Promise<Heard> {
    let mutant: string | undefined;
    let timer: NodeJS.Timeout | undefined;
    const answer = await new Promise<{ last?: Said; why: string }>((resolve) => {
      const wait = () => {
        clearTimeout(timer);
        timer = setTimeout(() => resolve({ why: 'silence' }), silenceMs);
      };
      this.hear = (said) => {
        wait();
        if (said.kind === 'step') mutant = said.mutant;
        if (kinds.includes(said.kind)) resolve({ last: said, why: '' });
      };
      this.gone = (why) => resolve({ why });
      wait();
    });
    clearTimeout(timer);
    if (answer.why === 'silence') this.kill();
    return { ...answer, mutant };
  }

  private kill(): void {
    const child = this.process;
    this.process = undefined;
    child?.kill('SIGKILL');
  }
}

/**
 * Distributes rows: first those of the files that a worker has loaded and set up, then those of files that no worker
 * has started.
 */
export class Rows {
  private readonly groups = new Map<string, Planned[]>();
  private readonly begun = new Set<string>();

  constructor(rows: readonly Planned[]) {
    for (const planned of rows) {
      const key = planned.files.join(' ');
      this.groups.set(key, [...(this.groups.get(key) ?? []), planned]);
    }
  }

  /** The next row for the worker whose previous one was `last`; undefined when all are taken. */
  next(last: Planned | undefined): Planned | undefined {
    const left = [...this.groups].filter(([, rows]) => rows.length > 0).sort(([, a], [, b]) => b.length - a.length);
    const own = left.find(([key]) => key === last?.files.join(' '));
    const [key, rows] = own ?? left.find(([name]) => !this.begun.has(name)) ?? left[0] ?? [];
    if (key === undefined) return undefined;
    this.begun.add(key);
    return rows!.shift();
  }
}
