import { freshDatabase, KillsAtSteps, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import { until } from './fresh-storage';
import { type Answer, initialise, type NodeProcess, startNode } from './nodes';

const graceMs = 6 * 60_000;

/** Nodes on one database: one that survives, and others that are killed, one after another, at a step of a flow. */
export class Kills extends KillsAtSteps<NodeProcess> {
  living!: NodeProcess;
  root = '';
  private database!: TestDatabase;
  private client!: pg.Client;

  protected launch(): Promise<NodeProcess> {
    return startNode(this.database.url);
  }

  async start(): Promise<void> {
    this.database = await freshDatabase('secrets');
    this.client = new pg.Client(this.database.url);
    this.client.on('error', () => {});
    await this.client.connect();
    this.living = await startNode(this.database.url);
    ({ token: this.root } = await initialise(this.living));
  }

  override async end(): Promise<void> {
    await Promise.all([super.end(), this.living?.kill()]);
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
    // Other nodes consider a node dead after a few seconds without heartbeats. The surviving node sends its next
    // heartbeat at once.
    await this.client.query("UPDATE node SET seen_at = seen_at - interval '10 seconds'");
    const open = async () =>
      (await this.count('intent WHERE owner IS NOT NULL')) +
      (await this.count('lease WHERE state > 0')) +
      (await this.count('token WHERE state <> 0'));
    await until(async () => (await open()) === 0, 60_000);
  }

  /**
   * Waits until the surviving node has also undone calls to other systems that may have been running for a while. Its
   * clock is set so far ahead that no such call can still run.
   */
  async undone(): Promise<void> {
    await this.living.goAhead(graceMs);
    await until(async () => (await this.count('intent')) === 0, 60_000);
  }
}
