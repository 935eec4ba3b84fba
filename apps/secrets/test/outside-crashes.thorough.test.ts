import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshDatabase, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import { until } from './fresh-storage';
import { type Answer, initialise, type NodeProcess, startNode } from './nodes';
import { CloudStandIn } from './stand-ins/cloudtwo';
import { SchedulerStandIn } from './stand-ins/scheduler';

// A node is killed at every step of every flow that changes something in an outside system: before and after each of its
// calls and commits. Afterwards the credentials there must be those that leases here account for. Three kills always,
// the whole matrix in the long form, which prints its table.

type Ask = (node: NodeProcess) => Promise<Answer>;
interface Flow {
  readonly name: string;
  /** Makes ready on a living node; what it answers is then asked of the one that dies. */
  prepare(living: NodeProcess): Promise<Ask>;
  /** Where the short form kills. */
  readonly sample?: string;
}
interface Row {
  readonly flow: string;
  readonly steps: number;
  kills: number;
  orphans: number;
  dead: number;
}

const long = process.env.KEYSTEAD_LONG === '1';
const ofFlows = /^(commit|scheduler|cloudtwo|lease|token):/;
const GRACE_MS = 6 * 60_000;

describe('a node killed between two steps with an outside system', () => {
  const scheduler = new SchedulerStandIn();
  const cloud = new CloudStandIn();
  const table: Row[] = [];
  let database: TestDatabase;
  let client: pg.Client;
  let root: string;
  let living: NodeProcess;
  let next: Promise<NodeProcess>;

  beforeAll(async () => {
    database = await freshDatabase('secrets');
    await Promise.all([scheduler.start(), cloud.start()]);
    client = new pg.Client(database.url);
    client.on('error', () => {});
    await client.connect();
    living = await startNode(database.url);
    ({ token: root } = await initialise(living));
    next = startNode(database.url);
    cloud.groups.set('g1', {
      attached: ['arn:aws:iam::aws:policy/ReadOnlyAccess'],
      inline: new Map([['p', '{"Version":"2012-10-17","Statement":[]}']]),
    });
    const document = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}';
    await write('scheduler/config/access', { address: scheduler.address, token: scheduler.management });
    await write('scheduler/role/ops', { policies: 'read' });
    await configureCloud(cloud.rootKey.id);
    await write('cloudtwo/roles/user', {
      credential_type: 'iam_user',
      policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess,arn:aws:iam::aws:policy/PowerUserAccess',
      policy_document: document,
      iam_groups: 'g1',
    });
    await write('cloudtwo/roles/assume', {
      credential_type: 'assumed_role',
      role_arns: 'arn:aws:iam::123456789012:role/x',
      iam_groups: 'g1',
    });
    await write('cloudtwo/roles/federate', { credential_type: 'federation_token', policy_document: document });
  });
  afterAll(async () => {
    if (long) process.stdout.write(`${tableText(table)}\n`);
    await Promise.all([living?.kill(), next?.then((node) => node.kill())]);
    await client?.end();
    await Promise.all([scheduler.stop(), cloud.stop()]);
    await database?.drop();
  });

  async function write(path: string, body?: object): Promise<Answer> {
    const answer = await living.ask('POST', path, root, body);
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }
  function configureCloud(keyId: string): Promise<Answer> {
    const { id, secret } = cloud.keys.get(keyId)!;
    return write('cloudtwo/config/root', {
      access_key: id,
      secret_key: secret,
      iam_endpoint: cloud.address,
      sts_endpoint: cloud.address,
    });
  }
  const leaseOf = async (path: string) => (await living.ask('GET', path, root)).body.lease_id as string;
  const creds = (path: string) => async () => (node: NodeProcess) => node.ask('GET', path, root);
  const ending = (path: string) => async () => {
    const lease_id = await leaseOf(path);
    return (node: NodeProcess) => node.ask('POST', 'sys/leases/revoke', root, { lease_id });
  };

  const flows: Flow[] = [
    { name: 'scheduler create', prepare: creds('scheduler/creds/ops'), sample: 'scheduler:create:done' },
    {
      name: 'scheduler renew',
      async prepare() {
        const lease_id = await leaseOf('scheduler/creds/ops');
        return (node) => node.ask('POST', 'sys/leases/renew', root, { lease_id, increment: 60_000 });
      },
    },
    { name: 'scheduler revoke', prepare: ending('scheduler/creds/ops') },
    { name: 'iam_user create', prepare: creds('cloudtwo/creds/user'), sample: 'cloudtwo:CreateAccessKey:done' },
    { name: 'iam_user revoke', prepare: ending('cloudtwo/creds/user') },
    { name: 'assumed_role create', prepare: creds('cloudtwo/sts/assume') },
    { name: 'federation_token create', prepare: creds('cloudtwo/sts/federate') },
    {
      name: 'token with both revoked',
      async prepare() {
        const made = await living.ask('POST', 'auth/token/create', root, { policies: ['root'] });
        const token = made.body.auth.client_token as string;
        await living.ask('GET', 'scheduler/creds/ops', token);
        await living.ask('GET', 'cloudtwo/creds/user', token);
        return (node) => node.ask('POST', 'auth/token/revoke-self', token);
      },
    },
    {
      name: 'rotate-root',
      prepare: async () => (node) => node.ask('POST', 'cloudtwo/config/rotate-root', root),
      sample: 'cloudtwo:CreateAccessKey:done',
    },
  ];

  const count = async (what: string) => Number((await client.query(`SELECT count(*) FROM ${what}`)).rows[0].count);
  const rootKeys = () => [...cloud.keys.values()].filter((key) => key.user === 'root-svc');

  /** Lets the living node sweep: at once, and again when the outside systems cannot be working on anything any more. */
  async function swept(): Promise<void> {
    // The others hear that a node is gone by its silence of some seconds; the living one beats again at once.
    await client.query("UPDATE node SET seen_at = seen_at - interval '10 seconds'");
    const open = async () =>
      (await count('intent WHERE owner IS NOT NULL')) +
      (await count('lease WHERE state > 0')) +
      (await count('token WHERE state <> 0'));
    await until(async () => (await open()) === 0, 60_000);
  }

  /** Credentials that no lease accounts for, and leases whose credentials are gone. One of each kind is in play. */
  async function mismatch(): Promise<{ orphans: number; dead: number }> {
    const off = { orphans: Math.max(0, rootKeys().length - 1), dead: 0 };
    const configured = (await living.ask('GET', 'cloudtwo/config/root', root)).body.data.access_key;
    if (!rootKeys().some(({ id }) => id === configured)) off.dead++;
    for (const [issued, path] of [
      [scheduler.issued.length, 'scheduler/creds/ops/'],
      [cloud.issued.length, 'cloudtwo/creds/user/'],
    ] as const) {
      const leases = await count(`lease WHERE path = '${path}'`);
      off.orphans += Math.max(0, issued - leases);
      off.dead += Math.max(0, leases - issued);
    }
    return off;
  }

  async function kill(flow: Flow, point: string, passes: number): Promise<{ orphans: number; dead: number }> {
    const dying = await next;
    next = startNode(database.url);
    const work = await flow.prepare(living);
    await dying.dieAt(point, passes);
    expect((await work(dying)).status).toBe(0);
    await dying.ended;
    await swept();
    const early = await mismatch();
    await living.goAhead(GRACE_MS);
    await until(async () => (await count('intent')) === 0, 60_000);
    const late = await mismatch();
    await living.goAhead(0);
    await write('sys/leases/revoke-prefix/scheduler/creds');
    await write('sys/leases/revoke-prefix/cloudtwo');
    await configureCloud(rootKeys()[0]!.id);
    return { orphans: early.orphans + late.orphans, dead: early.dead + late.dead };
  }

  it.each(flows.filter(({ sample }) => long || sample))(
    'during $name leaves no credential without a lease and no lease without a credential',
    async (flow) => {
      if (!long) return expect(await kill(flow, flow.sample!, 0)).toEqual({ orphans: 0, dead: 0 });
      const recorder = await next;
      next = startNode(database.url);
      const work = await flow.prepare(living);
      await recorder.record(true);
      expect((await work(recorder)).status).toBeLessThan(300);
      const steps = (await recorder.record(false)).filter((name) => ofFlows.test(name));
      await recorder.kill();
      await swept();
      await write('sys/leases/revoke-prefix/scheduler/creds');
      await write('sys/leases/revoke-prefix/cloudtwo');
      await configureCloud(rootKeys()[0]!.id);
      const row: Row = { flow: flow.name, steps: steps.length, kills: 0, orphans: 0, dead: 0 };
      table.push(row);
      const seen = new Map<string, number>();
      for (const step of steps) {
        const passes = seen.get(step) ?? 0;
        seen.set(step, passes + 1);
        const { orphans, dead } = await kill(flow, step, passes);
        if (orphans + dead > 0) process.stdout.write(`${flow.name}, ${step} (${passes}): ${orphans} and ${dead}\n`);
        row.kills++;
        row.orphans += orphans;
        row.dead += dead;
      }
      expect(row.kills).toBeGreaterThan(0);
      expect([row.orphans, row.dead]).toEqual([0, 0]);
    },
    3_600_000,
  );
});

function tableText(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ flow, steps, kills, orphans, dead }) => `| ${flow} | ${steps} | ${kills} | ${orphans} | ${dead} |`,
  );
  const kills = rows.reduce((sum, row) => sum + row.kills, 0);
  return [
    '| flow | steps | kills | orphans | dead leases |',
    '| --- | --- | --- | --- | --- |',
    ...lines,
    `| all | | ${kills} | | |`,
  ].join('\n');
}
