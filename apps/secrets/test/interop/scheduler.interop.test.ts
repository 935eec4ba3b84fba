import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../fresh-storage';
import { startSecrets } from '../start-secrets';

// The scheduler engine against a real scheduler, if the environment names one: NOMAD_ADDR and NOMAD_TOKEN, a management
// token. All created objects have one prefix and are removed again.

const { NOMAD_ADDR: address, NOMAD_TOKEN: token } = process.env;
const real = address && token ? it : it.skip;
const why = address && token ? '' : ' (skipped: NOMAD_ADDR and NOMAD_TOKEN name no scheduler)';

describe(`the scheduler engine on a real scheduler${why}`, () => {
  const secrets = startSecrets();
  const prefix = `keystead-interop-${randomBytes(4).toString('hex')}`;

  const ask = (method: string, path: string, secret = token ?? '', body?: object) =>
    fetch(`${address}/v1/${path}`, {
      method,
      headers: { 'X-Nomad-Token': secret },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  const tokens = async (): Promise<{ AccessorID: string; Name: string; Type: string }[]> =>
    (await ask('GET', 'acl/tokens')).json() as never;
  const ours = async () => (await tokens()).filter(({ Name }) => Name.includes(prefix));
  const creds = async () => (await secrets.root.read(`scheduler/creds/${prefix}`).expect(200)).body;
  const revoke = (lease_id: string) => secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);

  beforeAll(async () => {
    if (!address) return;
    const policy = { Name: prefix, Description: '', Rules: 'namespace "default" { policy = "read" }' };
    expect((await ask('PUT', `acl/policy/${prefix}`, token, policy)).status).toBe(200);
    await secrets.root.write('scheduler/config/access', { address, token }).expect(204);
    await secrets.root.write(`scheduler/role/${prefix}`, { policies: prefix }).expect(204);
  });
  afterAll(async () => {
    if (!address) return;
    for (const { AccessorID } of await ours()) await ask('DELETE', `acl/token/${AccessorID}`);
    await ask('DELETE', `acl/policy/${prefix}`);
  });

  real('is checked on request', async () => {
    const { body } = await secrets.root.write('scheduler/config/access', { address, token, verify: true }).expect(200);
    expect(body.data).toMatchObject({
      address,
      token_type: 'management',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
    const wrong = { address, token: '00000000-0000-4000-8000-000000000000', verify: true };
    expect([400, 502]).toContain((await secrets.root.write('scheduler/config/access', wrong)).status);
    await secrets.root.write(`scheduler/creds/${prefix}`).expect(405);
  });

  real('creates client tokens that work, renews their leases and revokes them', async () => {
    const { data, lease_id } = await creds();
    const own = await ask('GET', 'acl/token/self', data.secret_id);
    expect(own.status).toBe(200);
    expect(await own.json()).toMatchObject({ AccessorID: data.accessor_id, Type: 'client', Policies: [prefix] });
    const renewed = await secrets.root.write('sys/leases/renew', { lease_id, increment: 600 }).expect(200);
    expect(renewed.body.lease_duration).toBe(600);
    await revoke(lease_id);
    expect((await ask('GET', 'acl/token/self', data.secret_id)).status).toBe(403);
    expect((await ask('GET', `acl/token/${data.accessor_id}`)).status).toBe(404);
  });

  real('creates management tokens', async () => {
    await secrets.root.write(`scheduler/role/${prefix}-all`, { type: 'management', global: true }).expect(204);
    const { body } = await secrets.root.read(`scheduler/creds/${prefix}-all`).expect(200);
    expect((await ask('GET', 'acl/tokens', body.data.secret_id)).status).toBe(200);
    await revoke(body.lease_id);
    expect((await ask('GET', 'acl/tokens', body.data.secret_id)).status).toBe(403);
  });

  real('treats a missing token as revoked', async () => {
    const { data, lease_id } = await creds();
    expect((await ask('DELETE', `acl/token/${data.accessor_id}`)).status).toBe(200);
    await revoke(lease_id);
  });

  real('accepts names of 256 bytes', async () => {
    const display = 'n'.repeat(300);
    const made = await secrets.root
      .write('auth/token/create', { policies: ['root'], display_name: display })
      .expect(200);
    const { body } = await secrets.as(made.body.auth.client_token).read(`scheduler/creds/${prefix}`).expect(200);
    const name = (await ours()).find(({ AccessorID }) => AccessorID === body.data.accessor_id)?.Name ?? '';
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(256);
    await revoke(body.lease_id);
  });

  real('refuses a role whose policy does not exist there', async () => {
    await secrets.root.write(`scheduler/role/${prefix}-none`, { policies: `${prefix}-none` }).expect(204);
    const { body } = await secrets.root.read(`scheduler/creds/${prefix}-none`).expect(400);
    expect(body.errors[0]).toContain(`${prefix}-none`);
  });

  real('has no tokens left when all leases have ended', async () => {
    await Promise.all(Array.from({ length: 10 }, creds));
    expect(await ours()).toHaveLength(10);
    await secrets.root.write('sys/leases/revoke-prefix/scheduler/creds', { sync: true });
    await until(async () => (await ours()).length === 0);
  });
});
