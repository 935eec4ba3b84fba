import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshDatabase, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import { until } from './fresh-storage';
import { initialise, type NodeProcess, startNode } from './nodes';
import { CloudStandIn } from './stand-ins/cloudtwo';

const long = process.env.KEYSTEAD_LONG === '1' ? describe : describe.skip;
const hourMs = 3_600_000;

// A node is killed at every step of a due rotation of the root key. Another one must then finish or undo it, and make
// the next one: afterwards the provider has one key, which is the configured one.
long('a node killed while it rotates the root key by the clock', () => {
  const cloud = new CloudStandIn();
  // The provider has the clock of the dying node: keys are distinguished by their creation time.
  cloud.nowMs = () => Date.now() + hourMs;
  let database: TestDatabase;
  let client: pg.Client;
  let root: string;
  let living: NodeProcess;
  let dying: NodeProcess | undefined;

  beforeAll(async () => {
    database = await freshDatabase('secrets');
    await cloud.start();
    client = new pg.Client(database.url);
    client.on('error', () => {});
    await client.connect();
    living = await startNode(database.url);
    ({ token: root } = await initialise(living));
  }, 240_000);
  afterAll(async () => {
    await Promise.all([living?.kill(), dying?.kill()]);
    await client?.end();
    await cloud.stop();
    await database?.drop();
  });

  const keys = () => [...cloud.keys.values()].filter(({ user }) => user === 'root-svc');
  const config = async () => (await living.ask('GET', 'cloudtwo/config/root', root)).body.data;
  const count = async (what: string) => Number((await client.query(`SELECT count(*) FROM ${what}`)).rows[0].count);

  it.each([
    'cloudtwo:GetUser',
    'cloudtwo:GetUser:done',
    'cloudtwo:CreateAccessKey',
    'cloudtwo:CreateAccessKey:done',
    'cloudtwo:GetCallerIdentity',
    'cloudtwo:GetCallerIdentity:done',
    'cloudtwo:DeleteAccessKey',
    'cloudtwo:DeleteAccessKey:done',
  ])(
    'at %s leaves one root key, and another node rotates',
    async (step) => {
      await living.goAhead(0);
      const [key] = keys();
      const { status } = await living.ask('POST', 'cloudtwo/config/root', root, {
        access_key: key!.id,
        secret_key: key!.secret,
        iam_endpoint: cloud.address,
        sts_endpoint: cloud.address,
        rotation_period: '1h',
      });
      expect(status).toBe(204);
      dying = await startNode(database.url);
      await dying.goAhead(hourMs + 1_000);
      await dying.dieAt(step);
      await dying.ended;
      await client.query("UPDATE node SET seen_at = seen_at - interval '10 seconds'");
      await until(async () => (await count('intent WHERE owner IS NOT NULL')) === 0, 60_000);
      expect((await config()).last_rotation).toBeNull();
      await living.goAhead(hourMs + 10 * 60_000);
      await until(async () => (await config()).last_rotation !== null, 60_000);
      await until(async () => (await count('intent')) === 0, 60_000);
      const after = await config();
      expect(keys().map(({ id }) => id)).toEqual([after.access_key]);
      expect(after.access_key).not.toBe(key!.id);
      expect(after).toMatchObject({ rotation_failures: 0, last_rotation_error: '' });
    },
    240_000,
  );
});
