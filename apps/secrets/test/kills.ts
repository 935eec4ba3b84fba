import { expect } from '@jest/globals';
import { freshDatabase, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import { until } from './fresh-storage';
import { type Answer, initialise, type NodeProcess, startNode } from './nodes';

/** The call to the dying node; resolves in any case. */
type Ask = (node: NodeProcess) => Promise<unknown>;

/** A flow during which nodes are killed. */
export interface Flow {
  readonly name: string;
  /** Prepares on the surviving node; returns the call for the dying one. */
  prepare(): Promise<Ask>;
  /** The steps at which the short form kills; without any it leaves the flow out. */
  readonly sample?: string;
}

const long = process.env.KEYSTEAD_LONG === '1';
const graceMs = 6 * 60_000;

/** The flows during which nodes are killed in this form of the suite. */
export const flowsOf = (flows: readonly Flow[]): readonly Flow[] => flows.filter(({ sample }) => long || sample);

const within = (ended: Promise<void>, ms: number): Promise<boolean> => {
  let timer: NodeJS.Timeout;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  return Promise.race([ended.then(() => true), late]).finally(() => clearTimeout(timer));
};

/** Nodes on one database: one that survives, and others that are killed, one after another, at a step of a flow. */
export class Kills {
  living!: NodeProcess;
  root = '';
  private database!: TestDatabase;
  private client!: pg.Client;
  private next!: Promise<NodeProcess>;
  private readonly counts: string[] = [];

  /** `steps` are the fault points at which nodes are killed. */
  constructor(private readonly steps: RegExp) {}

  async start(): Promise<void> {
    this.database = await freshDatabase('secrets');
    this.client = new pg.Client(this.database.url);
    this.client.on('error', () => {});
    await this.client.connect();
    this.living = await startNode(this.database.url);
    ({ token: this.root } = await initialise(this.living));
    this.next = startNode(this.database.url);
  }

  async end(): Promise<void> {
    if (long) process.stdout.write(`kills by flow: ${this.counts.join(', ')}\n`);
    await Promise.all([this.living?.kill(), this.next?.then((node) => node.kill())]);
    await this.client?.end();
    await this.database?.drop();
  }

  /** Writes through the surviving node; throws if that is refused. */
  async write(path: string, body?: object): Promise<Answer> {
    const answer = await this.living.ask('POST', path, this.root, body);
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }
  read(path: string): Promise<Answer> {
    return this.living.ask('GET', path, this.root);
  }
  async count(what: string): Promise<number> {
    return Number((await this.client.query(`SELECT count(*) FROM ${what}`)).rows[0].count);
  }

  /** Waits until the surviving node has swept everything that is due. */
  async swept(): Promise<void> {
    // Other nodes notice after some seconds without heartbeats that a node is gone; the surviving one sends one at
    // once.
    await this.client.query("UPDATE node SET seen_at = seen_at - interval '10 seconds'");
    const open = async () =>
      (await this.count('intent WHERE owner IS NOT NULL')) +
      (await this.count('lease WHERE state > 0')) +
      (await this.count('token WHERE state <> 0'));
    await until(async () => (await open()) === 0, 60_000);
  }

  /**
   * Waits until it has also undone calls to other systems that may still have been running: its clock is set so far
   * ahead that none can be.
   */
  async undone(): Promise<void> {
    await this.living.goAhead(graceMs);
    await until(async () => (await this.count('intent')) === 0, 60_000);
  }

  /**
   * Kills a node at a step of a flow, in the long form one node at every step. After each kill `look` checks the result and restores the initial state. Simultaneous commits may be merged, so a node may pass fewer steps than recorded; then it is killed at the end of the flow.
   */
  async withstands(flow: Flow, well: unknown, look: () => Promise<unknown>): Promise<void> {
    let early = 0;
    const steps = long ? await this.stepsOf(flow, look) : [[flow.sample!, 0] as const];
    for (const [step, passes] of steps) {
      const dying = await this.another();
      const ask = await flow.prepare();
      await dying.dieAt(step, passes);
      await ask(dying);
      if (!(await within(dying.ended, passes === 0 ? 60_000 : 10_000))) {
        if (passes === 0) throw new Error(`the node did not come to ${step}`);
        early += 1;
        await dying.kill();
      }
      expect([step, passes, await look()]).toEqual([step, passes, well]);
    }
    expect(early).toBeLessThanOrEqual(steps.length / 2);
    this.counts.push(`${flow.name} ${steps.length - early}`);
  }

  /** The steps of a flow, each with the number of its earlier occurrences. */
  private async stepsOf({ prepare }: Flow, look: () => Promise<unknown>) {
    const recorder = await this.another();
    const ask = await prepare();
    await recorder.record(true);
    await ask(recorder);
    const passed = (await recorder.record(false)).filter((name) => this.steps.test(name));
    await recorder.kill();
    await look();
    expect(passed.length).toBeGreaterThan(1);
    return passed.map((step, at) => [step, passed.slice(0, at).filter((one) => one === step).length] as const);
  }

  private async another(): Promise<NodeProcess> {
    const node = await this.next;
    this.next = startNode(this.database.url);
    return node;
  }
}
