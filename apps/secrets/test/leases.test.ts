import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from './fresh-storage';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { type Client, startSecrets } from './start-secrets';

const upstream = new SchedulerStandIn();
beforeAll(() => upstream.start());
afterAll(() => upstream.stop());
afterEach(() => {
  upstream.fail = () => undefined;
});

describe('leases', () => {
  const secrets = startSecrets();
  beforeAll(async () => {
    await secrets.root.write('scheduler/config/access', { address: upstream.address, token: upstream.management });
    await secrets.root.write('scheduler/role/ops', { policies: 'read' }).expect(204);
    await secrets.root.write('scheduler/config/lease', { ttl: '1h', max_ttl: '2h' }).expect(204);
  });

  const creds = async (by: Client = secrets.root) => (await by.read('scheduler/creds/ops').expect(200)).body;
  const lookup = (lease_id: string) => secrets.root.write('sys/leases/lookup', { lease_id });
  const token = async (body: object = {}) => {
    const made = await secrets.root.write('auth/token/create', { policies: ['root'], ttl: '2h', ...body }).expect(200);
    return secrets.as(made.body.auth.client_token as string);
  };
  const refuse = () => {
    upstream.fail = (method) => (method === 'DELETE' ? { status: 500, text: 'not today' } : undefined);
  };

  it('are looked up with their remaining lifetime', async () => {
    const { lease_id, lease_duration, renewable } = await creds();
    expect(lease_id).toMatch(/^scheduler\/creds\/ops\/[0-9A-Za-z]{24}$/);
    expect({ lease_duration, renewable }).toEqual({ lease_duration: 3600, renewable: true });
    const { body } = await lookup(lease_id).expect(200);
    expect(body.data).toEqual({
      expire_time: expect.stringMatching(/^20.*Z$/),
      id: lease_id,
      issue_time: expect.stringMatching(/^20.*Z$/),
      last_renewal: null,
      path: 'scheduler/creds/ops',
      renewable: true,
      ttl: 3600,
    });
    await lookup('scheduler/creds/ops/unknown').expect(400, { errors: ['invalid lease'] });
    await lookup('').expect(400, { errors: ['lease_id must be specified'] });
  });

  it('are renewed, by id in the body or in the path, never beyond their maximum', async () => {
    const { lease_id } = await creds();
    const { body } = await secrets.root.write('sys/leases/renew', { lease_id, increment: 600 }).expect(200);
    expect(body).toMatchObject({ lease_id, renewable: true, lease_duration: 600, data: null });
    const far = await secrets.root.write(`sys/leases/renew/${lease_id}`, { increment: '100h' }).expect(200);
    expect(far.body.lease_duration).toBeLessThanOrEqual(7200);
    expect(far.body.warnings[0]).toContain('exceeded the effective max_ttl');
    expect((await lookup(lease_id)).body.data.last_renewal).toMatch(/^20/);
    await secrets.root.write('sys/leases/renew', { lease_id: 'no/such' }).expect(400, { errors: ['lease not found'] });
    await secrets.root.write('sys/leases/renew', {}).expect(400, { errors: ['lease_id must be specified'] });
  });

  it('are revoked upstream, and repeated revocations succeed', async () => {
    const { lease_id, data } = await creds();
    await secrets.root.write('sys/leases/revoke', { lease_id }).expect(204);
    expect(upstream.tokens.has(data.accessor_id)).toBe(false);
    await lookup(lease_id).expect(400);
    await secrets.root.put(`sys/leases/revoke/${lease_id}`).expect(204);
  });

  it('stay when the outside system refuses, and say why', async () => {
    const { lease_id } = await creds();
    refuse();
    const { body } = await secrets.root.write('sys/leases/revoke', { lease_id }).expect(400);
    expect(body.errors[0]).toContain('failed to revoke entry');
    expect(body.errors[0]).toContain('not today');
    await lookup(lease_id).expect(200);
    upstream.fail = () => undefined;
    await secrets.root.write('sys/leases/revoke', { lease_id, sync: false }).expect(204);
    await until(async () => (await lookup(lease_id)).status === 400);
  });

  it('under a prefix are revoked together; the path needs sudo', async () => {
    await Promise.all([creds(), creds(), creds()]);
    const limited = await secrets.withPolicy('path "sys/leases/*" { capabilities = ["create", "update", "list"] }');
    await limited.write('sys/leases/revoke-prefix/scheduler').expect(403);
    await secrets.root.write('sys/leases/revoke-prefix/scheduler').expect(204);
    expect(upstream.issued).toEqual([]);
    await secrets.root.list('sys/leases/lookup/scheduler/creds/ops').expect(404);
  });

  it.each(['revoke-prefix', 'revoke-force'])(
    'under a prefix of whole segments, and no others, are revoked by %s',
    async (word) => {
      const { lease_id } = await creds();
      // A part of a segment is not a prefix: otherwise `a` would revoke every login, including this one.
      for (const half of ['s', 'schedule', 'scheduler/creds/op', 'a', 'auth/tok']) {
        await secrets.root.write(`sys/leases/${word}/${half}`).expect(204);
      }
      await lookup(lease_id).expect(200);
      await secrets.root.write(`sys/leases/${word}/scheduler/creds/ops`).expect(204);
      await lookup(lease_id).expect(400);
    },
  );

  it('under a prefix name the lease that failed; forced, they are dropped', async () => {
    const { lease_id } = await creds();
    refuse();
    const { body } = await secrets.root.write('sys/leases/revoke-prefix/scheduler/creds').expect(400);
    expect(body.errors[0]).toMatch(new RegExp(`^failed to revoke "${lease_id}" \\(1 / 1\\): failed to revoke entry: `));
    await secrets.root.write('sys/leases/revoke-force/scheduler/creds').expect(204);
    await lookup(lease_id).expect(400);
    expect(upstream.issued).toHaveLength(1);
    upstream.tokens.delete(upstream.issued[0]!.AccessorID);
  });

  it('are listed by folder', async () => {
    const { lease_id } = await creds();
    expect((await secrets.root.list('sys/leases/lookup/scheduler/').expect(200)).body.data.keys).toEqual(['creds/']);
    const { body } = await secrets.root.list('sys/leases/lookup/scheduler/creds/ops').expect(200);
    expect(body.data.keys).toEqual([lease_id.split('/').at(-1)]);
    expect((await secrets.root.list('sys/leases/lookup').expect(200)).body.data.keys).toContain('auth/');
    await secrets.root.list('sys/leases/lookup/nothing').expect(404, { errors: [] });
    await secrets.root.write('sys/leases/revoke', { lease_id }).expect(204);
  });

  it('end with the token that asked for them, and with its parent', async () => {
    const parent = await token();
    const made = await parent.write('auth/token/create', { ttl: '1h' }).expect(200);
    const { data } = await creds(secrets.as(made.body.auth.client_token));
    await parent.write('auth/token/revoke-self').expect(204);
    await until(() => !upstream.tokens.has(data.accessor_id));
  });

  it('of a token on its last use are not issued', async () => {
    const before = upstream.issued.length;
    const last = await token({ num_uses: 1 });
    await last.read('scheduler/creds/ops').expect(400, {
      errors: ['Secret cannot be returned; token had one use left, so leased credentials were immediately revoked.'],
    });
    expect(upstream.issued).toHaveLength(before);
  });

  it('of a batch token end no later than the token', async () => {
    const made = await secrets.root
      .write('auth/token/create', { type: 'batch', policies: ['lender'], ttl: '2m' })
      .expect(200);
    await secrets.root.write('sys/policies/acl/lender', {
      policy: 'path "scheduler/creds/*" { capabilities = ["read"] }',
    });
    const { lease_duration, lease_id } = await creds(secrets.as(made.body.auth.client_token));
    expect(lease_duration).toBeLessThanOrEqual(120);
    await secrets.root.write('sys/leases/revoke', { lease_id }).expect(204);
  });

  it('of tokens can be looked up and revoked, not renewed', async () => {
    const made = await secrets.root.write('auth/token/create', { policies: ['default'], ttl: '1h' }).expect(200);
    const { body } = await secrets.root.list('sys/leases/lookup/auth/token/create').expect(200);
    const ids = (body.data.keys as string[]).map((tail) => `auth/token/create/${tail}`);
    expect(ids[0]).toMatch(/\/h[0-9a-f]{64}$/);
    await secrets.root
      .write('sys/leases/renew', { lease_id: ids[0] })
      .expect(400, { errors: ['tokens cannot be renewed through this endpoint'] });
    expect((await lookup(ids[0]!).expect(200)).body.data.path).toBe('auth/token/create');
    await secrets.root.write('sys/leases/revoke-prefix/auth/token/create').expect(204);
    await secrets.as(made.body.auth.client_token).read('auth/token/lookup-self').expect(403);
  });

  it('that could not be revoked are listed, counted and retried', async () => {
    const { lease_id, data } = await creds();
    refuse();
    await secrets.root.write('sys/leases/revoke', { lease_id, sync: false }).expect(204);
    await lookup(lease_id).expect(200);
    await secrets.root.read('sys/leases?type=other').expect(404);
    const none = await secrets.root.read('sys/leases?type=irrevocable').expect(200);
    expect(none.body.data).toEqual({ lease_count: 0, leases: [] });
    expect((await secrets.root.read('sys/leases/count?type=irrevocable').expect(200)).body.data).toEqual({
      lease_count: 0,
      counts: {},
    });
    expect((await secrets.root.write('sys/leases/replay').expect(200)).body.data).toEqual({ lease_count: 0 });
    upstream.fail = () => undefined;
    await secrets.root.write('sys/leases/revoke', { lease_id }).expect(204);
    expect(upstream.tokens.has(data.accessor_id)).toBe(false);
  });

  it('are counted by the scrapes that ask for them', async () => {
    const shown = async () => {
      const { text } = await secrets.root.read('sys/metrics?format=prometheus').expect(200);
      return Number(/^secrets_leases (\d+)$/m.exec(text)![1]);
    };
    const before = await shown();
    const { lease_id } = await creds();
    // After a slow count, as on a busy machine, the result is used for a while.
    await until(async () => (await shown()) === before + 1);
    await secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);
    await until(async () => (await shown()) === before);
  });

  it('are tidied in the background, and bulk jobs show their progress', async () => {
    await secrets.root.write('sys/leases/tidy').expect(202);
    await secrets.root.read('sys/leases/jobs/00000000-0000-4000-8000-000000000000').expect(404);
  });
});

describe('quotas', () => {
  const secrets = startSecrets();
  beforeAll(async () => {
    for (const { AccessorID } of upstream.issued) upstream.tokens.delete(AccessorID);
    await secrets.root.write('scheduler/config/access', { address: upstream.address, token: upstream.management });
    await secrets.root.write('scheduler/role/ops', { policies: 'read' }).expect(204);
  });

  it('of lease counts are exact, and free a place when a lease ends', async () => {
    await secrets.root.write('sys/quotas/lease-count/few', { path: 'scheduler', max_leases: 3 }).expect(204);
    const answers = await Promise.all(Array.from({ length: 8 }, () => secrets.root.read('scheduler/creds/ops')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    expect(answers.find(({ status }) => status === 429)!.body.errors[0]).toContain('lease count quota exceeded');
    await until(() => upstream.issued.length === 3);
    const read = async () => (await secrets.root.read('sys/quotas/lease-count/few').expect(200)).body.data;
    expect(await read()).toEqual({
      counter: 3,
      inheritable: false,
      max_leases: 3,
      name: 'few',
      path: 'scheduler/',
      role: '',
      type: 'lease-count',
    });
    await secrets.root.write('sys/leases/revoke-prefix/scheduler').expect(204);
    expect((await read()).counter).toBe(0);
    await secrets.root.read('scheduler/creds/ops').expect(200);
    expect((await secrets.root.list('sys/quotas/lease-count').expect(200)).body.data.keys).toEqual(['few']);
    await secrets.root.delete('sys/quotas/lease-count/few').expect(204);
    await secrets.root.read('sys/quotas/lease-count/few').expect(404);
    await secrets.root.list('sys/quotas/lease-count').expect(404);
  });

  it('of rates refuse only requests that exceed them', async () => {
    await secrets.root.write('sys/mounts/limited', { type: 'kv' }).expect(204);
    // A limit for a role would never count anything.
    await secrets.root
      .write('sys/quotas/rate-limit/slow', { path: 'limited', rate: 2, role: 'app' })
      .expect(400, /'role' is not supported for rate limits/);
    await secrets.root.write('sys/quotas/rate-limit/slow', { path: 'limited', rate: 2, interval: '1h' }).expect(204);
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await secrets.root.write(`limited/${n}`, { a: 'b' })).status);
    expect(statuses).toEqual([204, 204, 429, 429]);
    await secrets.root
      .read('limited/0')
      .expect(429, { errors: ['request path "limited/0": rate limit quota exceeded'] });
    await secrets.root.write('cubbyhole/free', { a: 'b' }).expect(204);
    expect((await secrets.root.read('sys/quotas/rate-limit/slow').expect(200)).body.data).toEqual({
      block_interval: 0,
      inheritable: false,
      interval: 3600,
      name: 'slow',
      path: 'limited/',
      rate: 2,
      role: '',
      type: 'rate-limit',
    });
    await secrets.root.delete('sys/quotas/rate-limit/slow').expect(204);
    await secrets.root.read('limited/0').expect(200);
  });

  it.each([
    ['rate-limit', { rate: 0 }, "'rate' is invalid"],
    ['rate-limit', { rate: 'many' }, "'rate' is invalid"],
    ['rate-limit', { rate: 1, path: 'no/such/mount' }, 'invalid mount path "no/such/mount"'],
    ['lease-count', { max_leases: 0 }, "'max_leases' must be greater than 0"],
  ])('of %s refuse %j', async (kind, body, message) => {
    await secrets.root.write(`sys/quotas/${kind}/bad`, body).expect(400, { errors: [message] });
    await secrets.root.read(`sys/quotas/${kind}/bad`).expect(404);
  });
});
