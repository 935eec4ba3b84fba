import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshDatabase, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import { until } from './fresh-storage';
import { initialise, type NodeProcess, startNode } from './nodes';
import { SchedulerStandIn } from './stand-ins/scheduler';

// A node kills itself at a named point, and another one continues. Normally a sample, with --long the whole matrix.

type Work = (node: NodeProcess) => Promise<unknown>;
interface Crash {
  readonly point: string;
  readonly passes?: number;
  readonly doing: 'creds' | 'revoke' | 'revoke token' | 'revoke prefix' | 'expiry' | 'undo';
  readonly sample?: boolean;
}

const crashes: Crash[] = [
  { doing: 'creds', point: 'commit:before' },
  { doing: 'creds', point: 'commit:after' },
  { doing: 'creds', point: 'commit:before', passes: 1, sample: true },
  { doing: 'creds', point: 'commit:after', passes: 1 },
  { doing: 'revoke', point: 'lease:revoked', sample: true },
  { doing: 'revoke', point: 'lease:gone' },
  { doing: 'revoke token', point: 'token:marked', sample: true },
  { doing: 'revoke token', point: 'token:leases' },
  { doing: 'revoke token', point: 'token:private' },
  { doing: 'revoke token', point: 'token:gone' },
  { doing: 'revoke prefix', point: 'job:revoke-prefix:recorded' },
  { doing: 'revoke prefix', point: 'job:revoke-prefix', sample: true },
  { doing: 'expiry', point: 'sweep:claimed', sample: true },
  { doing: 'expiry', point: 'lease:revoked' },
  { doing: 'undo', point: 'intent:undone' },
];
const long = process.env.KEYSTEAD_LONG === '1';
const HOUR = 3600_000;

describe('the remains of a dead node are cleaned up by another node', () => {
  const upstream = new SchedulerStandIn();
  let database: TestDatabase;
  let root: string;
  let survivor: NodeProcess;
  let client: pg.Client;

  beforeAll(async () => {
    database = await freshDatabase('secrets');
    await upstream.start();
    client = new pg.Client(database.url);
    client.on('error', () => {});
    await client.connect();
    survivor = await startNode(database.url);
    ({ token: root } = await initialise(survivor));
    await survivor.ask('POST', 'scheduler/config/access', root, {
      address: upstream.address,
      token: upstream.management,
    });
    await survivor.ask('POST', 'scheduler/role/ops', root, { policies: 'read' });
  });
  afterAll(async () => {
    await survivor.kill();
    await client.end();
    await upstream.stop();
    await database.drop();
  });

  const rows = async (table: string) => Number((await client.query(`SELECT count(*) FROM ${table}`)).rows[0].count);
  const child = async (node: NodeProcess) =>
    (await node.ask('POST', 'auth/token/create', root, { policies: ['root'] })).body.auth.client_token as string;
  const lease = async (node: NodeProcess, token = root) =>
    (await node.ask('GET', 'scheduler/creds/ops', token)).body.lease_id as string;

  /** Prepares, and returns the call for the dying node, or work that becomes due once the preparing node has ended. */
  const prepared: Record<Crash['doing'], (node: NodeProcess) => Promise<Work>> = {
    creds: async () => (node) => node.ask('GET', 'scheduler/creds/ops', root),
    revoke: async (node) => {
      const id = await lease(node);
      return (dying) => dying.ask('POST', 'sys/leases/revoke', root, { lease_id: id });
    },
    'revoke token': async (node) => {
      const token = await child(node);
      const below = await child(node);
      await lease(node, token);
      await lease(node, below);
      return (dying) => dying.ask('POST', 'auth/token/revoke-self', token);
    },
    'revoke prefix': async (node) => {
      await lease(node);
      await lease(node);
      return (dying) => dying.ask('POST', 'sys/leases/revoke-prefix/scheduler/creds', root);
    },
    expiry: async (node) => {
      await lease(node);
      return () => client.query('UPDATE lease SET due_at_ms = 0');
    },
    undo: async () => {
      const dying = await startNode(database.url);
      await dying.dieAt('commit:before', 1);
      await dying.ask('GET', 'scheduler/creds/ops', root);
      await dying.ended;
      expect(await rows('intent')).toBe(1);
      return () => client.query('UPDATE intent SET due_at_ms = 0');
    },
  };

  it.each(crashes.filter(({ sample }) => long || sample))('killed at $point while doing: $doing', async (crash) => {
    const swept = crash.doing === 'expiry' || crash.doing === 'undo';
    const dying = await startNode(database.url);
    if (swept) {
      // The node that sweeps first does the work, so only the dying node may sweep.
      await survivor.kill();
      await dying.dieAt(crash.point, crash.passes);
      const helper = await startNode(database.url);
      const fallDue = await prepared[crash.doing](helper);
      await helper.kill();
      await fallDue(dying);
    } else {
      const work = await prepared[crash.doing](survivor);
      await dying.dieAt(crash.point, crash.passes);
      await work(dying);
    }
    await dying.ended;
    if (swept) survivor = await startNode(database.url);
    // By then all lifetimes of an hour are over, and unfinished work is undone.
    await survivor.goAhead(800 * HOUR);
    await until(async () => upstream.issued.length === 0, 60_000);
    await until(async () => (await rows('lease')) + (await rows('intent')) === 0, 60_000);
    await until(async () => (await rows('token WHERE state <> 0')) === 0, 60_000);
    await survivor.goAhead(0);
  });
});

describe('a wrapped answer whose node is killed', () => {
  it('after it was unwrapped is not returned again', async () => {
    const database = await freshDatabase('secrets');
    const [dying, other] = await Promise.all([startNode(database.url), startNode(database.url)]);
    const { token } = await initialise(dying);
    await until(async () => (await other.ask('GET', 'sys/health')).status === 200);
    const response = await fetch(`${other.url}/v1/sys/wrapping/wrap`, {
      method: 'POST',
      headers: { 'X-Service-Token': token, 'X-Service-Wrap-TTL': '60' },
      body: '{"a":"b"}',
    });
    const wrapped = ((await response.json()) as { wrap_info: { token: string } }).wrap_info.token;
    await dying.dieAt('unwrap:spent');
    expect((await dying.ask('POST', 'sys/wrapping/unwrap', wrapped)).status).toBe(0);
    expect((await other.ask('POST', 'sys/wrapping/unwrap', wrapped)).status).toBe(400);
    await other.kill();
    await database.drop();
  });
});
