import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from './fresh-storage';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { startSecrets } from './start-secrets';

const upstream = new SchedulerStandIn();
beforeAll(() => upstream.start());
afterAll(() => upstream.stop());
afterEach(() => {
  upstream.fail = () => undefined;
});

describe('the timeline of leases', () => {
  const secrets = startSecrets();
  const timeline = async (query = '') => (await secrets.root.read(`sys/leases/timeline${query}`).expect(200)).body.data;
  const creds = async (role: string) => (await secrets.root.read(`scheduler/creds/${role}`).expect(200)).body.lease_id;
  const renew = (lease_id: string, increment: number) =>
    secrets.root.write('sys/leases/renew', { lease_id, increment }).expect(200);

  beforeAll(async () => {
    await secrets.root.write('scheduler/config/access', { address: upstream.address, token: upstream.management });
    for (const role of ['ops', 'net'])
      await secrets.root.write(`scheduler/role/${role}`, { policies: 'read' }).expect(204);
    await secrets.root.write('scheduler/config/lease', { ttl: '1h', max_ttl: '2h' }).expect(204);
  });

  it('is empty without leases', async () => {
    expect(await timeline()).toEqual({ leases: [], next: null });
  });

  it('shows issue, end, furthest end and owner of each lease, in pages and in the order of their ends', async () => {
    const [a, b, c] = [await creds('ops'), await creds('net'), await creds('ops')];
    await renew(c, 600);
    await renew(a, 1200);
    const { leases, next } = await timeline();
    expect(leases.map((lease: { lease_id: string }) => lease.lease_id)).toEqual([c, a, b]);
    expect(next).toBeNull();
    const { data: own } = (await secrets.root.read('auth/token/lookup-self').expect(200)).body;
    expect(leases[0]).toEqual({
      lease_id: c,
      path: 'scheduler/creds/ops',
      mount_type: 'scheduler',
      state: 'live',
      renewable: true,
      issue_time: expect.stringMatching(/^20.*Z$/),
      last_renewal: expect.stringMatching(/^20.*Z$/),
      expire_time: expect.stringMatching(/^20.*Z$/),
      max_expire_time: expect.stringMatching(/^20.*Z$/),
      token_accessor: own.accessor,
      attempts: 0,
      error: null,
      next_attempt: null,
      away_since: null,
    });
    const lasts = (Date.parse(leases[0].max_expire_time) - Date.parse(leases[0].issue_time)) / 1000;
    expect(lasts).toBe(7200);
    const first = await timeline('?limit=2');
    const second = await timeline(`?limit=2&after=${first.next}`);
    expect([...first.leases, ...second.leases].map((lease) => lease.lease_id)).toEqual([c, a, b]);
    expect(second.next).toBeNull();
    const ops = await timeline('?prefix=scheduler/creds/ops');
    expect(ops.leases.map((lease: { lease_id: string }) => lease.lease_id)).toEqual([c, a]);
    expect((await timeline('?prefix=scheduler/creds/op')).leases).toEqual([]);
    expect((await timeline('?prefix=nowhere/')).leases).toEqual([]);
  });

  it('shows failed revocations, why, and when they are retried', async () => {
    upstream.fail = (method) => (method === 'DELETE' ? { status: 500, text: 'not today' } : undefined);
    const id = await creds('net');
    await secrets.root.write('sys/leases/revoke', { lease_id: id, sync: false }).expect(204);
    await until(async () => (await timeline('?failing=true')).leases.length > 0);
    const { leases } = await timeline('?failing=true');
    expect(leases).toHaveLength(1);
    expect(leases[0]).toMatchObject({ lease_id: id, error: expect.stringContaining('not today') });
    expect(leases[0].attempts + (leases[0].away_since ? 1 : 0)).toBeGreaterThan(0);
    expect(Date.parse(leases[0].next_attempt)).toBeGreaterThan(Date.parse(leases[0].issue_time));
  });

  it('lists the leases of a token by its accessor, and no leases of an unknown accessor', async () => {
    await secrets.root.write('sys/policies/acl/asks', {
      policy: 'path "scheduler/creds/*" { capabilities = ["read"] }',
    });
    const { auth } = (await secrets.root.write('auth/token/create', { policies: ['asks'], ttl: '30m' }).expect(200))
      .body;
    const asker = secrets.as(auth.client_token);
    const of = async (query: string) =>
      (await timeline(query)).leases.map((lease: { lease_id: string }) => lease.lease_id);
    const hers = [];
    for (const role of ['ops', 'net'])
      hers.push((await asker.read(`scheduler/creds/${role}`).expect(200)).body.lease_id);
    const query = `?accessor=${auth.accessor}`;
    expect((await of(query)).sort()).toEqual([...hers].sort());
    expect(await of(`${query}&prefix=scheduler/creds/net`)).toEqual([hers[1]]);
    const first = await timeline(`${query}&limit=1`);
    const second = await timeline(`${query}&limit=1&after=${first.next}`);
    expect([...first.leases, ...second.leases].map((lease) => lease.lease_id).sort()).toEqual([...hers].sort());
    expect(second.next).toBeNull();
    expect(await of('?accessor=unknown')).toEqual([]);
    await secrets.root.write('auth/token/revoke-accessor', { accessor: auth.accessor }).expect(204);
    await until(async () => (await of(query)).length === 0);
  });

  it('needs sudo, and refuses unreadable parameters by name', async () => {
    const reader = await secrets.withPolicy('path "sys/leases/timeline" { capabilities = ["read"] }');
    await reader.read('sys/leases/timeline').expect(403);
    for (const [field, query] of [
      ['limit', 'limit=0'],
      ['limit', 'limit=1001'],
      ['after', 'after=x'],
    ]) {
      const { body } = await secrets.root.read(`sys/leases/timeline?${query}`).expect(400);
      expect(body.errors.join()).toContain(field);
    }
  });

  it('shows the leases of one namespace', async () => {
    await secrets.root.write('sys/namespaces/other').expect(200);
    const other = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'other' });
    const { body } = await other.read('sys/leases/timeline').expect(200);
    expect(body.data).toEqual({ leases: [], next: null });
  });
});
