import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool } from '@keystead/postgres';
import { type Cluster, type Death, missingPrograms, startCluster } from './failover-cluster';
import { median } from './figures';
import { startOutside } from './outside-family';
import { runProgram } from './program';
import { ask, startWorkspaces } from './service';

const usage = `npx tsx bench/src/failover.ts [KILLS [FOLDER]]

Kills the primary of a PostgreSQL with a synchronous standby KILLS times (20) while both services write, lock, lease and read, and shows
what was lost, what is stuck, and how long writes or reads failed. Every second time the whole machine dies, not only its
PostgreSQL. All files are in FOLDER, which is kept when it is named. Needs patroni, haproxy, etcd and PostgreSQL 15, and a build.`;

const leaseSeconds = 45;
/** How long after their expiry leases and tokens may end, even after failovers. */
const graceSeconds = 20;
const writersOfEach = 2;

type Service = 'secrets' | 'workspaces';

interface Answer {
  readonly status: number;
  readonly body: never;
}

/** Acknowledged writes, and where to read them again. */
interface Promised {
  readonly service: Service;
  readonly at: string;
  readonly token?: string;
}

/** The results of all callers. */
class CallResults {
  readonly promised: Promised[] = [];
  readonly wrong: string[] = [];
  readonly tally = { asked: 0, unavailable: 0, unanswered: 0 };
  /** The time of each service's last acknowledged write, and of the first one after now. */
  readonly writes: Record<Service, number[]> = { secrets: [], workspaces: [] };
  /** The longest time of a read from its first attempt to its answer, since the last call. */
  readonly readPauseMs: Record<Service, number> = { secrets: 0, workspaces: 0 };

  constructor(
    private readonly urls: Record<Service, string>,
    private readonly headers: Record<Service, Record<string, string>>,
  ) {}

  /** The answer if it was a success or a refusal; undefined if the outcome is unknown. */
  async send(service: Service, method: string, at: string, body?: object, token?: string): Promise<Answer | undefined> {
    this.tally.asked++;
    try {
      const response = await fetch(`${this.urls[service]}${at}`, {
        method,
        headers: token === undefined ? this.headers[service] : { 'X-Service-Token': token },
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(40_000),
      });
      const text = await response.text();
      const { status } = response;
      if (status === 503 || status === 502) {
        this.tally.unavailable++;
        return undefined;
      }
      if (status >= 500) this.wrong.push(`${method} ${at}: ${status} ${text.slice(0, 200)}`);
      if (status >= 300) return { status, body: undefined as never };
      if (method !== 'GET') this.writes[service].push(Date.now());
      return { status, body: (text === '' ? undefined : JSON.parse(text)) as never };
    } catch {
      this.tally.unanswered++;
      return undefined;
    }
  }
}

/** A client that locks and unlocks its own workspace; afterwards its last acknowledged change must hold. */
interface Locker {
  readonly id: string;
  /** Locked, unlocked, or unknown. */
  state: boolean | undefined;
}

const workspacesAt = '/api/v2/organizations/kept/workspaces';
const workspace = (name: string) => ({ data: { type: 'workspaces', attributes: { name } } });

async function writeSecrets(results: CallResults, n: string): Promise<void> {
  if (await good(results.send('secrets', 'POST', `/v1/kept/${n}`, { n }))) {
    results.promised.push({ service: 'secrets', at: `/v1/kept/${n}` });
  }
  const lasting = await good<Made>(results.send('secrets', 'POST', '/v1/auth/token/create', { policies: ['default'] }));
  if (lasting) {
    const token = lasting.auth.client_token;
    results.promised.push({ service: 'secrets', at: '/v1/auth/token/lookup-self', token });
  }
  await results.send('secrets', 'POST', '/v1/auth/token/create', { policies: ['default'], ttl: `${leaseSeconds}s` });
  await results.send('secrets', 'GET', '/v1/scheduler/creds/bench');
}

async function writeWorkspaces(results: CallResults, n: string, locker: Locker): Promise<void> {
  if (await good(results.send('workspaces', 'POST', workspacesAt, workspace(n)))) {
    results.promised.push({ service: 'workspaces', at: `${workspacesAt}/${n}` });
  }
  for (const locked of [true, false]) {
    const action = locked ? 'lock' : 'unlock';
    const answer = await results.send('workspaces', 'POST', `/api/v2/workspaces/${locker.id}/actions/${action}`, {});
    if (answer === undefined) locker.state = undefined;
    else if (answer.status === 200) locker.state = locked;
    // The workspace is already in this state, because an earlier call without a known outcome had succeeded.
    else if (answer.status === 409 && locker.state !== locked) locker.state = locked;
    else results.wrong.push(`${action}: ${answer.status} though it was ${locker.state ? 'locked' : 'free'}`);
  }
}

interface Made {
  readonly auth: { readonly client_token: string };
}

async function good<T = true>(request: Promise<Answer | undefined>): Promise<T | undefined> {
  const answer = await request;
  return answer !== undefined && answer.status < 300 ? ((answer.body ?? true) as T) : undefined;
}

interface Round {
  readonly death: Death;
  readonly promotedMs: number;
  readonly writeMs: Record<Service, number>;
  readonly readPauseMs: Record<Service, number>;
}

async function killOnce(cluster: Cluster, results: CallResults, death: Death): Promise<Round> {
  for (const service of ['secrets', 'workspaces'] as const) {
    results.writes[service] = [];
    results.readPauseMs[service] = 0;
  }
  await sleep(500 + Math.random() * 1000);
  const { name, restart } = await cluster.killPrimary(death);
  const killedMs = Date.now();
  let now: string | undefined;
  while (now === undefined || now === name) {
    if (Date.now() - killedMs > 90_000) throw new Error('no standby was promoted');
    await sleep(20);
    now = await cluster.primary();
  }
  const promotedMs = Date.now();
  restart();
  const firstAfter = async (service: Service) => {
    for (;;) {
      const first = results.writes[service].find((ms) => ms >= promotedMs);
      if (first !== undefined) return first - promotedMs;
      if (Date.now() - promotedMs > 120_000) throw new Error(`${service} did not write again`);
      await sleep(20);
    }
  };
  const writeMs = { secrets: await firstAfter('secrets'), workspaces: await firstAfter('workspaces') };
  await cluster.ready();
  // A pending read is counted when it is answered.
  await sleep(1000);
  return { death, promotedMs: promotedMs - killedMs, writeMs, readPauseMs: { ...results.readPauseMs } };
}

async function failover(kills: number, folder: string, atEnd: (cleanup: () => unknown) => void): Promise<boolean> {
  const cluster = await startCluster(folder);
  atEnd(() => cluster.stop());
  const own = path.join(folder, 'services');
  mkdirSync(own);
  const place = { postgres: cluster, cores: undefined, atEnd, folder: own };
  const secrets = await startOutside(place);
  const workspaces = await startWorkspaces(place);
  const results = new CallResults(
    { secrets: secrets.url, workspaces: workspaces.url },
    {
      secrets: { 'X-Service-Token': secrets.root },
      workspaces: { Authorization: `Bearer ${workspaces.token}`, 'Content-Type': 'application/vnd.api+json' },
    },
  );
  const headers = { Authorization: `Bearer ${workspaces.token}`, 'Content-Type': 'application/vnd.api+json' };
  const token = { 'X-Service-Token': secrets.root };
  await ask(`${secrets.url}/v1/sys/mounts/kept`, 'POST', token, { type: 'kv' });
  await ask(`${secrets.url}/v1/scheduler/config/lease`, 'POST', token, { ttl: leaseSeconds, max_ttl: leaseSeconds });
  const organization = { data: { type: 'organizations', attributes: { name: 'kept', email: 'kept@example.com' } } };
  await ask(`${workspaces.url}/api/v2/organizations`, 'POST', headers, organization);
  const lockers: Locker[] = [];
  for (let index = 0; index < writersOfEach; index++) {
    const created = await ask<{ data: { id: string } }>(
      `${workspaces.url}${workspacesAt}`,
      'POST',
      headers,
      workspace(`locked-${index}`),
    );
    lockers.push({ id: created.data.id, state: false });
  }

  let running = true;
  let number = 0;
  const forever = async (work: () => Promise<unknown>, pauseMs: number) => {
    while (running) {
      await work();
      await sleep(pauseMs);
    }
  };
  const reads = (service: Service) => async () => {
    const ownPromises = results.promised.filter((one) => one.service === service);
    const one = ownPromises[Math.floor(Math.random() * ownPromises.length)];
    if (one === undefined) return;
    const sinceMs = Date.now();
    while (running) {
      const answer = await results.send(service, 'GET', one.at, undefined, one.token);
      if (answer?.status === 200) break;
      if (answer !== undefined) results.wrong.push(`read ${one.at}: ${answer.status}`);
      await sleep(50);
    }
    results.readPauseMs[service] = Math.max(results.readPauseMs[service], Date.now() - sinceMs);
  };
  const callers = [
    ...lockers.flatMap((locker) => [
      forever(() => writeSecrets(results, `n-${++number}`), 20),
      forever(() => writeWorkspaces(results, `n-${++number}`, locker), 20),
    ]),
    forever(reads('secrets'), 10),
    forever(reads('workspaces'), 10),
  ];
  const rounds: Round[] = [];
  try {
    for (let round = 0; round < kills; round++) {
      rounds.push(await killOnce(cluster, results, round % 2 === 0 ? 'server' : 'machine'));
      process.stderr.write(`${JSON.stringify(rounds.at(-1))}\n`);
    }
  } catch (error) {
    // Stop here and report the results so far.
    results.wrong.push(`kill ${rounds.length + 1}: ${(error as Error).message}`);
  }
  running = false;
  await Promise.all(callers);

  const lost: string[] = [];
  const waiting = [...results.promised];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let one = waiting.pop(); one; one = waiting.pop()) {
        const answer = await results.send(one.service, 'GET', one.at, undefined, one.token);
        if (answer?.status !== 200) lost.push(`${one.at}: ${answer?.status}`);
      }
    }),
  );
  const stuck = (await Promise.all(lockers.map((locker) => stuckLock(results, locker)))).flat();
  const remaining = await leftOver(cluster);
  const table = {
    kills: rounds.length,
    'standbys copied again': cluster.rebuilt,
    acknowledged: results.promised.length,
    lost: lost.length,
    'locks stuck': stuck.length,
    'leases and tokens not ended': remaining,
    'wrong answers': results.wrong.length,
    ...results.tally,
  };
  for (const line of [...lost, ...stuck, ...results.wrong].slice(0, 20)) process.stderr.write(`${line}\n`);
  process.stdout.write(`${report(table, rounds)}\n`);
  return lost.length + stuck.length + results.wrong.length + remaining === 0 && slowest(rounds) <= 10_000;
}

/** The fault of a lock: its state differs from the last acknowledged one, or it can be neither taken nor released. */
async function stuckLock(results: CallResults, { id, state }: Locker): Promise<string[]> {
  const at = `/api/v2/workspaces/${id}`;
  const shown = async () =>
    (await good<{ data: { attributes: { locked: boolean } } }>(results.send('workspaces', 'GET', at)))?.data.attributes
      .locked;
  const first = await shown();
  if (state !== undefined && first !== state) return [`${id}: shows ${first} where ${state} was acknowledged`];
  for (const action of first ? ['unlock', 'lock', 'unlock'] : ['lock', 'unlock']) {
    const answer = await results.send('workspaces', 'POST', `${at}/actions/${action}`, {});
    if (answer?.status !== 200) return [`${id}: ${action} answered ${answer?.status}`];
  }
  return [];
}

/** How many leases and tokens still exist although they ended a while ago. */
async function leftOver(cluster: Cluster): Promise<number> {
  await sleep((leaseSeconds + graceSeconds) * 1000);
  const pool = createPool({ url: cluster.url('outside'), max: 1 });
  const limitMs = Date.now() - graceSeconds * 1000;
  const { rows } = await pool.query<{ count: string }>(
    `SELECT (SELECT count(*) FROM lease WHERE expires_at_ms < $1) +
            (SELECT count(*) FROM token WHERE expires_at_ms < $1) AS count`,
    [limitMs],
  );
  await pool.end();
  return Number(rows[0]!.count);
}

const slowest = (rounds: readonly Round[]) =>
  Math.max(...rounds.flatMap(({ writeMs }) => [writeMs.secrets, writeMs.workspaces]));

function report(table: Readonly<Record<string, number>>, rounds: readonly Round[]): string {
  const figures = (of: readonly number[]) => `${Math.round(median(of))} | ${Math.round(Math.max(...of))}`;
  const lines = [
    '| | |',
    '|---|---|',
    ...Object.entries(table).map(([name, value]) => `| ${name} | ${value} |`),
    '',
    '| ms | median | longest |',
    '|---|---|---|',
  ];
  for (const death of ['server', 'machine'] as const) {
    const these = rounds.filter((round) => round.death === death);
    if (these.length === 0) continue;
    lines.push(`| ${death} killed: until promotion | ${figures(these.map((round) => round.promotedMs))} |`);
    for (const service of ['secrets', 'workspaces'] as const) {
      lines.push(
        `| ${service}: first write after promotion | ${figures(these.map((round) => round.writeMs[service]))} |`,
      );
      lines.push(`| ${service}: longest read | ${figures(these.map((round) => round.readPauseMs[service]))} |`);
    }
  }
  return lines.join('\n');
}

runProgram(usage, async ([kills = '20', requestedFolder]) => {
  const missing = missingPrograms();
  if (missing.length > 0) {
    console.log(`skipped: ${missing.join(', ')} not installed`);
    return true;
  }
  const folder = requestedFolder ?? mkdtempSync(path.join(os.tmpdir(), 'keystead-failover-'));
  mkdirSync(folder, { recursive: true });
  const cleanups: (() => unknown)[] = [];
  if (requestedFolder === undefined) cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  try {
    return await failover(Number(kills), folder, (cleanup) => void cleanups.push(cleanup));
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
});
