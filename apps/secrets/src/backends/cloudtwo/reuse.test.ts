import type { Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { manualClock } from '@keystead/testing';
import request from 'supertest';
import { CloudStandIn } from '../../../test/stand-ins/cloudtwo';
import { type Client, startSecrets, testConfig } from '../../../test/start-secrets';
import { createService, type Service } from '../../service';

const readOnly = 'arn:aws:iam::aws:policy/ReadOnlyAccess';

describe('reused credentials', () => {
  const cloud = new CloudStandIn();
  const clock = manualClock(Date.now());
  cloud.nowMs = () => clock.now();
  beforeAll(() => cloud.start());
  afterAll(() => cloud.stop());
  const secrets = startSecrets({ clock });
  const rules = 'path "cloudtwo/*" { capabilities = ["read", "update"] }';
  let caller: Client;
  beforeAll(async () => {
    await secrets.root
      .write('cloudtwo/config/root', {
        access_key: cloud.rootKey.id,
        secret_key: cloud.rootKey.secret,
        region: 'eu-west-1',
        iam_endpoint: cloud.address,
        sts_endpoint: cloud.address,
      })
      .expect(204);
    await secrets.root.write('cloudtwo/config/lease', { lease: '60m', lease_max: '2h' }).expect(204);
    const again = { reuse_percent_left: 50 };
    await role('kept', { credential_type: 'iam_user', policy_arns: readOnly, ...again });
    await role('fresh', { credential_type: 'iam_user', policy_arns: readOnly });
    const arns = 'arn:aws:iam::123456789012:role/one,arn:aws:iam::123456789012:role/two';
    await role('assume', { credential_type: 'assumed_role', role_arns: arns, ...again });
  });
  beforeEach(async () => {
    caller = await secrets.withPolicy(rules, { ttl: '100h' });
  });
  const role = (name: string, fields: object) => secrets.root.write(`cloudtwo/roles/${name}`, fields).expect(204);
  const creds = async (name: string, client = caller) => (await client.read(`cloudtwo/creds/${name}`).expect(200)).body;
  const isAgain = (body: { warnings: string[] | null }) => body.warnings?.[0]?.includes('an earlier request') ?? false;

  it('are returned only if the role allows it', async () => {
    const [one, two] = [await creds('fresh'), await creds('fresh')];
    expect(two.lease_id).not.toBe(one.lease_id);
    const read = await secrets.root.read('cloudtwo/roles/fresh').expect(200);
    expect(read.body.data).not.toHaveProperty('reuse_percent_left');
  });

  it('are the same under the same lease, with its remaining lifetime', async () => {
    const first = await creds('kept');
    clock.advance(10 * 60_000);
    const calls = cloud.calls.length;
    const again = await creds('kept');
    expect(cloud.calls).toHaveLength(calls);
    expect(isAgain(first)).toBe(false);
    expect(isAgain(again)).toBe(true);
    expect(again).toMatchObject({ data: first.data, lease_id: first.lease_id, lease_duration: 3000, renewable: true });
  });

  it('are new once less than the role’s share of their lifetime is left; a renewal restarts that lifetime', async () => {
    const first = await creds('kept');
    clock.advance(31 * 60_000);
    await caller.write('sys/leases/renew', { lease_id: first.lease_id }).expect(403);
    await secrets.root.write('sys/leases/renew', { lease_id: first.lease_id, increment: '50m' }).expect(200);
    expect((await creds('kept')).lease_id).toBe(first.lease_id);
    clock.advance(26 * 60_000);
    const next = await creds('kept');
    expect(next.lease_id).not.toBe(first.lease_id);
    expect(isAgain(next)).toBe(false);
  });

  it('are never those of another token, nor those that were revoked', async () => {
    const first = await creds('kept');
    const other = await secrets.withPolicy(rules);
    expect((await creds('kept', other)).data.access_key).not.toBe(first.data.access_key);
    expect((await creds('kept', secrets.root)).data.access_key).not.toBe(first.data.access_key);
    await secrets.root.write('sys/leases/revoke', { lease_id: first.lease_id, sync: true }).expect(204);
    const next = await creds('kept');
    expect(next.data.access_key).not.toBe(first.data.access_key);
    expect((await creds('kept')).lease_id).toBe(next.lease_id);
  });

  it('are new after the role or the configuration changed', async () => {
    const first = await creds('kept');
    await role('kept', { iam_tags: 'a=b' });
    const changed = await creds('kept');
    expect(changed.lease_id).not.toBe(first.lease_id);
    await secrets.root.write('cloudtwo/config/rotate-root', {}).expect(200);
    expect((await creds('kept')).lease_id).toBe(changed.lease_id);
    const { access_key } = (await secrets.root.read('cloudtwo/config/root').expect(200)).body.data;
    const key = { access_key, secret_key: cloud.keys.get(access_key)!.secret, region: 'eu-west-1' };
    await secrets.root
      .write('cloudtwo/config/root', { ...key, iam_endpoint: cloud.address, sts_endpoint: cloud.address })
      .expect(204);
    expect((await creds('kept')).lease_id).not.toBe(changed.lease_id);
  });

  it('of STS are those requested with the same parameters', async () => {
    const ask = async (fields: object) => (await caller.write('cloudtwo/sts/assume', fields).expect(200)).body;
    const one = { role_arn: 'arn:aws:iam::123456789012:role/one' };
    const first = await ask(one);
    clock.advance(600_000);
    const again = await ask(one);
    expect(again.data).toEqual({ ...first.data, ttl: again.lease_duration });
    expect(again.lease_duration).toBeLessThan(first.lease_duration - 500);
    for (const other of [{ role_arn: 'arn:aws:iam::123456789012:role/two' }, { ...one, ttl: '20m' }]) {
      expect((await ask(other)).data.access_key).not.toBe(first.data.access_key);
    }
    await caller.write('cloudtwo/sts/assume', {}).expect(400);
  });

  it('are never wrapped, because a wrapped secret is for another recipient', async () => {
    const first = await creds('kept');
    const wrapping = secrets.as(caller.token, { 'X-Service-Wrap-TTL': '60' });
    const opened = [];
    for (let i = 0; i < 2; i++) {
      const { body } = await wrapping.read('cloudtwo/creds/kept').expect(200);
      opened.push((await secrets.as(body.wrap_info.token).write('sys/wrapping/unwrap').expect(200)).body);
    }
    const keys = [first, ...opened].map(({ data }) => data.access_key);
    expect(new Set(keys).size).toBe(3);
    expect((await creds('kept')).data.access_key).toBe(first.data.access_key);
  });

  it('are not given to a token at its last use', async () => {
    const short = await secrets.withPolicy(rules, { num_uses: 2 });
    await creds('kept', short);
    await short.read('cloudtwo/creds/kept').expect(400, /token had one use left/);
  });

  describe('to another token of the same entity', () => {
    let login: (ttl: string) => Promise<Client>;
    beforeAll(async () => {
      await secrets.root.write('sys/auth/approle', { type: 'approle' }).expect(204);
      await secrets.root.write('sys/policies/acl/cloud', { policy: rules }).expect(204);
      login = async (ttl) => {
        const token = { token_policies: 'cloud', token_ttl: ttl, token_max_ttl: ttl, token_bound_cidrs: '127.0.0.1' };
        await secrets.root.write('auth/approle/role/mona', { bind_secret_id: false, role_id: 'mona', ...token });
        const { body } = await secrets.anonymous.write('auth/approle/login', { role_id: 'mona' }).expect(200);
        return secrets.as(body.auth.client_token);
      };
    });

    it('are the same if the token that owns them is valid for as long', async () => {
      const first = await creds('kept', await login('5h'));
      expect((await creds('kept', await login('5h'))).lease_id).toBe(first.lease_id);
    });

    it('are new if the token that owns them would end them sooner', async () => {
      await role('kept', { iam_tags: 'b=c' });
      const first = await creds('kept', await login('10m'));
      expect((await creds('kept', await login('5h'))).lease_id).not.toBe(first.lease_id);
    });
  });

  describe('by another node', () => {
    let node: Service;
    let server: Server;
    beforeAll(async () => {
      const log = createLogger({ name: 'secrets', level: 'silent' });
      node = await createService(testConfig(secrets.database.url), { log, clock });
      server = createServer(node.app);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });
    afterAll(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await node.close();
    });

    it('are the same', async () => {
      const first = await creds('kept');
      const { body } = await request(server)
        .get('/v1/cloudtwo/creds/kept')
        .set('X-Service-Token', caller.token!)
        .expect(200);
      expect(body).toMatchObject({ lease_id: first.lease_id, data: first.data });
    });
  });

  it.each([-1, 100])('cannot be configured with %s percent', async (reuse_percent_left) => {
    const { body } = await secrets.root.write('cloudtwo/roles/fresh', { reuse_percent_left }).expect(400);
    expect(body.errors[0]).toContain('reuse_percent_left must be between 0 and 99');
  });
});

describe('waiting for a new key', () => {
  const cloud = new CloudStandIn();
  beforeAll(() => cloud.start());
  afterAll(() => cloud.stop());
  const secrets = startSecrets();
  beforeAll(async () => {
    await secrets.root
      .write('cloudtwo/config/root', {
        access_key: cloud.rootKey.id,
        secret_key: cloud.rootKey.secret,
        region: 'eu-west-1',
        iam_endpoint: cloud.address,
        sts_endpoint: cloud.address,
        max_retries: 0,
      })
      .expect(204);
    await secrets.root
      .write('cloudtwo/roles/awaited', { credential_type: 'iam_user', policy_arns: readOnly, wait_for_key: '30s' })
      .expect(204);
  });
  const identityCalls = () => cloud.actions().filter((action) => action === 'GetCallerIdentity').length;

  it('reports that the key works, and after how long', async () => {
    let unknown = 2;
    const refusal = { status: 403, code: 'InvalidClientTokenId', message: 'The security token is invalid.' };
    cloud.fail = (action) => (action === 'GetCallerIdentity' && unknown-- > 0 ? refusal : undefined);
    const { body } = await secrets.root.read('cloudtwo/creds/awaited').expect(200);
    expect(body.data.key_answers).toBe(true);
    // There are two pauses between the three attempts.
    expect(body.data.key_waited_ms).toBeGreaterThanOrEqual(500);
    expect(body.warnings).toBeNull();
    expect(identityCalls()).toBe(3);
  });

  it('ends and reports that the key did not work yet; the credentials are returned anyway', async () => {
    await secrets.root.write('cloudtwo/roles/awaited', { wait_for_key: '1s' }).expect(204);
    cloud.keyDelayMs = 60_000;
    const { body } = await secrets.root.read('cloudtwo/creds/awaited').expect(200);
    cloud.keyDelayMs = 0;
    expect(body.data.key_answers).toBe(false);
    expect(body.warnings[0]).toContain('did not work within 1s');
    expect(cloud.keys.has(body.data.access_key)).toBe(true);
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
    expect(cloud.keys.has(body.data.access_key)).toBe(false);
  });

  it('treats a refusal as a sign that the key is known', async () => {
    cloud.denied.add('iam:GetCallerIdentity');
    const { body } = await secrets.root.read('cloudtwo/creds/awaited').expect(200);
    cloud.denied.clear();
    expect(body.data.key_answers).toBe(true);
  });

  it('happens only if the role requests it', async () => {
    await secrets.root.write('cloudtwo/roles/awaited', { wait_for_key: 0 }).expect(204);
    const before = identityCalls();
    const { body } = await secrets.root.read('cloudtwo/creds/awaited').expect(200);
    expect(identityCalls()).toBe(before);
    expect(body.data).not.toHaveProperty('key_answers');
  });

  it.each([
    [{ wait_for_key: '31s' }, 'wait_for_key cannot be longer than 30s'],
    [
      { credential_type: 'assumed_role', role_arns: 'arn:aws:iam::1:role/x', policy_arns: '', wait_for_key: '5s' },
      'wait_for_key parameter only valid for iam_user',
    ],
  ])('is refused as %j', async (fields, text) => {
    const { body } = await secrets.root.write('cloudtwo/roles/awaited', fields).expect(400);
    expect(body.errors[0]).toContain(text);
  });
});
