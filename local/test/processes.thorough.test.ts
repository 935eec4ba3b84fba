import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, freshDatabase, fromSource, type TestDatabase } from '@keystead/testing';
import { type Started, start, waitFor } from './start';

// One service in several processes behind one port: clients do not notice which process answers, or that one was
// killed.

const root = path.resolve(__dirname, '../..');

/** Child processes of the service. */
function childrenOf(parent: number): number[] {
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = fs.readFileSync(`/proc/${name}/stat`, 'utf8');
        const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const isService = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('main.ts');
        return isService && state !== 'Z' && Number(ppid) === parent;
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** One request; undefined if the connection ended before the answer. */
function ask(url: string, agent: http.Agent | false): Promise<number | undefined> {
  return new Promise((resolve) => {
    http
      .get(url, { agent }, (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode));
        answer.once('error', () => resolve(undefined));
      })
      .once('error', () => resolve(undefined));
  });
}

describe.each([
  { name: 'secrets', asked: '/v1/sys/seal-status' },
  { name: 'workspaces', asked: '/api/v2/ping' },
])('the $name service in two processes', ({ name, asked }) => {
  const prefix = name.toUpperCase();
  let port: number;
  let metricsPort: number;
  let database: TestDatabase;
  let program: Started;
  const begin = (settings: Record<string, string> = {}) => {
    program = start([...fromSource, path.join(root, `apps/${name}/src/main.ts`)], {
      [`${prefix}_PORT`]: String(port),
      [`${prefix}_METRICS_PORT`]: String(metricsPort),
      [`${prefix}_DATABASE_URL`]: database.url,
      [`${prefix}_DATABASE_CONNECTIONS`]: '4',
      [`${prefix}_SEAL_KEY`]: 'ab'.repeat(32),
      [`${prefix}_LOG_LEVEL`]: 'error',
      [`${prefix}_PROCESSES`]: '2',
      ...settings,
    });
    return program;
  };
  const url = () => `http://127.0.0.1:${port}${asked}`;
  const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  /** Which processes have answered requests, by their number. */
  const answering = async () => [
    ...new Set([...(await metrics()).matchAll(/^http_requests_total\{.*process="(\d+)"/gm)].map(([, id]) => id!)),
  ];
  const bothRun = () => waitFor(async () => childrenOf(program.process.pid!).length === 2 && (await spread()) === 2);
  const spread = async () => {
    await Promise.all(Array.from({ length: 8 }, () => ask(url(), false)));
    return (await answering().catch(() => [])).length;
  };

  beforeAll(async () => {
    database = await freshDatabase(name as 'secrets' | 'workspaces');
    port = await freePort();
    metricsPort = await freePort();
  });
  afterAll(() => database.drop());
  afterEach(async () => {
    program.process.kill('SIGKILL');
    await program.ended;
  });

  it('answers from both processes, shows the metrics of both, and continues when one is killed', async () => {
    begin();
    await bothRun();
    const agents = Array.from({ length: 8 }, () => new http.Agent({ keepAlive: true, maxSockets: 1 }));
    const broken = new Map<http.Agent, number>();
    const answered = new Map<http.Agent, number>();
    let over = false;
    const callers = agents.map(async (agent) => {
      while (!over) {
        const status = await ask(url(), agent);
        if (status === undefined) broken.set(agent, (broken.get(agent) ?? 0) + 1);
        else if (status < 500) answered.set(agent, (answered.get(agent) ?? 0) + 1);
        else throw new Error(`answered ${status}`);
      }
    });
    await waitFor(() => agents.every((agent) => (answered.get(agent) ?? 0) > 5));
    const [victim] = childrenOf(program.process.pid!);
    process.kill(victim!, 'SIGKILL');
    const before = new Map(answered);
    await waitFor(() => agents.every((agent) => (answered.get(agent) ?? 0) > (before.get(agent) ?? 0) + 5));
    // The other process and its replacement share the work.
    await waitFor(async () => childrenOf(program.process.pid!).filter((pid) => pid !== victim).length === 2);
    await waitFor(async () => (await spread()) === 2);
    over = true;
    await Promise.all(callers);
    for (const agent of agents) agent.destroy();
    // Connections are distributed to the two processes in turn. Those of the surviving process were not affected; each
    // of the others broke once.
    expect([...broken.values()].every((times) => times === 1)).toBe(true);
    expect(broken.size).toBeLessThanOrEqual(agents.length / 2 + 1);
    expect(program.output()).toContain('it is replaced');

    program.process.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(await ask(url(), false)).toBeUndefined();
  });

  // The following tests concern the program that starts the processes. Both services use the same program, so they run
  // only once.
  if (name === 'workspaces') return;

  it('ends if the first process cannot start, and prints the reason once', async () => {
    begin({ [`${prefix}_DATABASE_URL`]: 'postgresql://unknown@127.0.0.1:1/none' });
    expect(await program.ended).toBe(1);
    expect(program.output().match(/^.*ECONNREFUSED.*$/gm)).toHaveLength(1);
  });

  it('leaves no process at the port when the first of them is killed', async () => {
    begin();
    await bothRun();
    const both = childrenOf(program.process.pid!);
    program.process.kill('SIGKILL');
    await program.ended;
    await waitFor(() => both.every((pid) => !fs.existsSync(`/proc/${pid}`)));
    expect(await ask(url(), false)).toBeUndefined();
  });
});

it('the secrets service in several processes refuses to be unsealed by shares, which would reach only one process', async () => {
  const program = start([...fromSource, path.join(root, 'apps/secrets/src/main.ts')], {
    SECRETS_DATABASE_URL: 'postgresql://unknown@127.0.0.1:1/none',
    SECRETS_SEAL: 'shamir',
    SECRETS_PROCESSES: '2',
  });
  expect(await program.ended).toBe(78);
  expect(program.output()).toContain('SECRETS_PROCESSES must be 1 with SECRETS_SEAL=shamir');
});
