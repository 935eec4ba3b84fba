import { type ChildProcess, spawn } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, freshDatabase, fromSource, type TestDatabase } from '@keystead/testing';
import { Balancer } from './balancer';
import { waitFor } from './start';

// Two nodes of each service behind a load balancer, restarted one after the other under load: no client may notice. The
// short form sends some hundred requests, the long form ten thousand.

const long = process.env.KEYSTEAD_LONG === '1';
const ENOUGH = long ? 10_000 : 400;
/** Longer than the balancer takes to notice, even on a very busy machine. */
const DELAY_SECONDS = 5;
const root = path.resolve(__dirname, '../..');

type Name = 'secrets' | 'workspaces';

/** A node of a service, in a child process. */
class Node {
  private child: ChildProcess | undefined;
  private said = '';

  constructor(
    private readonly name: Name,
    readonly port: number,
    private readonly databaseUrl: string,
  ) {}

  start(): void {
    const prefix = this.name.toUpperCase();
    const program = path.join(root, `apps/${this.name}/src/main.ts`);
    this.child = spawn(process.execPath, [...fromSource, program], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env.PATH,
        [`${prefix}_PORT`]: String(this.port),
        [`${prefix}_DATABASE_URL`]: this.databaseUrl,
        [`${prefix}_DATABASE_CONNECTIONS`]: '6',
        [`${prefix}_SEAL_KEY`]: 'ab'.repeat(32),
        [`${prefix}_MIGRATE`]: 'off',
        [`${prefix}_LOG_LEVEL`]: 'silent',
        [`${prefix}_DRAIN_DELAY_SECONDS`]: String(DELAY_SECONDS),
      },
    });
    this.child.stderr!.on('data', (chunk) => {
      this.said = (this.said + chunk).slice(-4000);
    });
  }

  /** Stops it like an orchestrator; returns the exit code. */
  async stop(): Promise<number | null> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) throw new Error(`ended early: ${this.said}`);
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    return ended;
  }

  kill(): void {
    this.child?.kill('SIGKILL');
  }
}

/** A service of two nodes behind a balancer. */
class Pair {
  readonly nodes: Node[] = [];
  balancer!: Balancer;
  private database!: TestDatabase;

  constructor(readonly name: Name) {}

  async start(): Promise<void> {
    this.database = await freshDatabase(this.name);
    for (const port of [await freePort(), await freePort()]) {
      this.nodes.push(new Node(this.name, port, this.database.url));
    }
    for (const node of this.nodes) node.start();
    this.balancer = await Balancer.start(this.nodes.map(({ port }) => port));
  }

  ready(): Promise<void> {
    return waitFor(() => this.nodes.every(({ port }) => this.balancer.isReady(port)));
  }

  async remove(): Promise<void> {
    for (const node of this.nodes) node.kill();
    await this.balancer?.close();
    await this.database?.drop();
  }
}

describe('a rolling restart behind a balancer', () => {
  const secrets = new Pair('secrets');
  const workspaces = new Pair('workspaces');
  const agents: http.Agent[] = [];
  let token: string;
  beforeAll(async () => {
    await Promise.all([secrets.start(), workspaces.start()]);
    const [first] = secrets.nodes;
    const init = { recovery_shares: 1, recovery_threshold: 1 };
    await waitFor(async () => {
      const there = `http://127.0.0.1:${first!.port}/v1/sys/init`;
      const answer = await fetch(there, { method: 'POST', body: JSON.stringify(init) }).catch(() => undefined);
      if (answer?.status !== 200) return false;
      token = ((await answer.json()) as { root_token: string }).root_token;
      return true;
    });
    await Promise.all([secrets.ready(), workspaces.ready()]);
  });
  afterAll(async () => {
    for (const agent of agents) agent.destroy();
    await Promise.all([secrets.remove(), workspaces.remove()]);
  });

  const counts = { kept: 0, fresh: 0, written: 0 };
  const problems: string[] = [];
  let over = false;

  /** One request; a failure without an answer is recorded. */
  function ask(url: string, agent: http.Agent | false, method: string, body?: object): Promise<number | undefined> {
    return new Promise((resolve) => {
      const headers = { 'x-service-token': token, ...(body ? { 'content-type': 'application/json' } : {}) };
      const request = http.request(url, { agent, method, headers }, (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode));
        answer.once('error', failed);
      });
      const failed = (error: NodeJS.ErrnoException) => {
        problems.push(`${method} ${url}: ${error.code ?? error.message}`);
        resolve(undefined);
      };
      request.once('error', failed);
      request.end(body && JSON.stringify(body));
    });
  }

  async function caller(index: number, kept: boolean): Promise<void> {
    const agent = kept && new http.Agent({ keepAlive: true, maxSockets: 1 });
    if (agent) agents.push(agent);
    for (let n = 0; !over; n++) {
      const name = `caller-${index}-${n % 50}`;
      const write = n % 3 === 0;
      const asked = [
        write
          ? ask(`${secrets.balancer.url}/v1/cubbyhole/${name}`, agent, 'POST', { n })
          : ask(`${secrets.balancer.url}/v1/auth/token/lookup-self`, agent, 'GET'),
        ask(`${workspaces.balancer.url}/api/v2/ping`, agent, 'GET'),
      ];
      const [secret, ping] = await Promise.all(asked);
      if (secret !== undefined && secret !== (write ? 204 : 200)) problems.push(`secrets answered ${secret}`);
      if (ping !== undefined && ping >= 500) problems.push(`workspaces answered ${ping}`);
      counts[kept ? 'kept' : 'fresh'] += 2;
      if (write) counts.written++;
    }
  }

  it('breaks no connection, kept or new, and answers every client', async () => {
    const callers = Array.from({ length: 8 }, (_, index) => caller(index, index % 2 === 0));
    const total = () => counts.kept + counts.fresh;
    let restarts = 0;
    const codes: (number | null)[] = [];
    do {
      for (const turn of [0, 1]) {
        const ending = [secrets, workspaces].map(({ nodes }) => nodes[turn]!);
        codes.push(...(await Promise.all(ending.map((node) => node.stop()))));
        for (const node of ending) node.start();
        await Promise.all([secrets.ready(), workspaces.ready()]);
        restarts += ending.length;
      }
    } while (total() < ENOUGH);
    over = true;
    await Promise.all(callers);
    expect(problems).toEqual([]);
    expect(codes).toEqual(codes.map(() => 0));
    expect(Math.min(counts.kept, counts.fresh, counts.written)).toBeGreaterThan(0);
    if (long) {
      const { kept, fresh, written } = counts;
      process.stdout.write(
        `${restarts} restarts, ${kept} requests on kept connections, ${fresh} on new ones, ${written} of them writes: ` +
          `${problems.length} broken\n`,
      );
    }
  });
});
