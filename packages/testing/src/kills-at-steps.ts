import type { Victim } from './victim';

/** A flow during which processes are killed. */
export interface Flow<V extends Victim> {
  readonly name: string;
  /** Prepares on the survivor; returns the call for the dying process, which resolves in any case. */
  prepare(): Promise<(victim: V) => Promise<unknown>>;
  /** The step at which the short form of the suite kills the process. Without it, the short form skips the flow. */
  readonly sample?: string;
}

// Programs that are not tests import this package, too.
const jestGlobals = (): typeof import('@jest/globals') => require('@jest/globals');

const long = process.env.KEYSTEAD_LONG === '1';

/** The flows during which processes are killed in this form of the suite. */
export const flowsOf = <V extends Victim>(flows: readonly Flow<V>[]): readonly Flow<V>[] =>
  flows.filter(({ sample }) => long || sample);

const within = (ended: Promise<void>, ms: number): Promise<boolean> => {
  let timer: NodeJS.Timeout;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  return Promise.race([ended.then(() => true), late]).finally(() => clearTimeout(timer));
};

/** Processes that are killed, one after another, at the steps of flows. */
export abstract class KillsAtSteps<V extends Victim> {
  private next: Promise<V> | undefined;
  private readonly counts: string[] = [];

  /** `steps` are the fault points at which processes are killed. */
  constructor(private readonly steps: RegExp) {}

  /** Starts a process that a flow kills. */
  protected abstract launch(): Promise<V>;

  async end(): Promise<void> {
    if (long) process.stdout.write(`kills by flow: ${this.counts.join(', ')}\n`);
    await this.next?.then((victim) => victim.kill());
  }

  /**
   * Kills a process at a step of a flow, in the long form one at every step. After each kill `look` checks the result
   * and restores the initial state. Simultaneous commits may be merged, so a process may pass fewer steps than
   * recorded. In this case it is killed at the end of the flow.
   */
  async withstands(flow: Flow<V>, well: unknown, look: () => Promise<unknown>): Promise<void> {
    let early = 0;
    const steps = long ? await this.stepsOf(flow, look) : [[flow.sample!, 0] as const];
    for (const [step, passes] of steps) {
      const dying = await this.another();
      const ask = await flow.prepare();
      await dying.dieAt(step, passes);
      await ask(dying);
      if (!(await within(dying.ended, passes === 0 ? 60_000 : 10_000))) {
        if (passes === 0) throw new Error(`the process did not come to ${step}`);
        early += 1;
        await dying.kill();
      }
      jestGlobals()
        .expect([step, passes, await look()])
        .toEqual([step, passes, well]);
    }
    jestGlobals()
      .expect(early)
      .toBeLessThanOrEqual(steps.length / 2);
    this.counts.push(`${flow.name} ${steps.length - early}`);
  }

  /** The steps of a flow, each with the number of its earlier occurrences. */
  private async stepsOf({ prepare }: Flow<V>, look: () => Promise<unknown>) {
    const recorder = await this.another();
    const ask = await prepare();
    await recorder.record(true);
    await ask(recorder);
    const passed = (await recorder.record(false)).filter((name) => this.steps.test(name));
    await recorder.kill();
    await look();
    jestGlobals().expect(passed.length).toBeGreaterThan(1);
    return passed.map((step, at) => [step, passed.slice(0, at).filter((one) => one === step).length] as const);
  }

  private async another(): Promise<V> {
    const victim = await (this.next ?? this.launch());
    this.next = this.launch();
    return victim;
  }
}
