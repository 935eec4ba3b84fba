import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

describe('tokens of one address', () => {
  const secrets = startSecrets({ env: { SECRETS_TRUSTED_PROXIES: '127.0.0.1' } });
  const from = (address: string, token?: string) => secrets.as(token, { 'X-Forwarded-For': address });
  const login = {
    userpass: async () => {
      await secrets.root.write('sys/auth/userpass', { type: 'userpass' });
      await secrets.root
        .write('auth/userpass/users/ann', { password: 'right', token_strictly_bind_ip: true })
        .expect(204);
      return ['auth/userpass/login/ann', { password: 'right' }] as const;
    },
    approle: async () => {
      await secrets.root.write('sys/auth/approle', { type: 'approle' });
      const role = 'auth/approle/role/app';
      await secrets.root.write(role, { token_strictly_bind_ip: true }).expect(204);
      const { role_id } = (await secrets.root.read(`${role}/role-id`).expect(200)).body.data;
      // The secret id allows more than the one address.
      const cidrs = { token_bound_cidrs: ['198.51.100.0/24', '2001:db8::/32'] };
      const { secret_id } = (await secrets.root.write(`${role}/secret-id`, cidrs).expect(200)).body.data;
      await from('203.0.113.5').write('auth/approle/login', { role_id, secret_id }).expect(403);
      return ['auth/approle/login', { role_id, secret_id }] as const;
    },
  };

  it.each(Object.keys(login) as (keyof typeof login)[])('of %s are of no use anywhere else', async (method) => {
    const [path, body] = await login[method]();
    for (const address of ['198.51.100.7', '2001:db8::7']) {
      const { client_token: token } = (await from(address).write(path, body).expect(200)).body.auth;
      const shown = await from(address, token).read('auth/token/lookup-self').expect(200);
      expect(shown.body.data.bound_cidrs).toEqual([address]);
      // The address is the same in every look-up after a renewal.
      await from(address, token).write('auth/token/renew-self').expect(200);
      await from(address, token).read('auth/token/lookup-self').expect(200);
      for (const other of ['198.51.100.8', '2001:db8::8']) {
        await from(other, token).read('auth/token/lookup-self').expect(403);
      }
    }
  });

  it('exclude a list of addresses', async () => {
    await secrets.root.write('sys/auth/pass', { type: 'userpass' });
    const both = { password: 'right', token_strictly_bind_ip: true, token_bound_cidrs: '127.0.0.1' };
    const { body } = await secrets.root.write('auth/pass/users/ann', both).expect(400);
    expect(body.errors[0]).toContain("'token_strictly_bind_ip' conflicts with 'token_bound_cidrs'");
    await secrets.root.write('auth/pass/users/ann', { ...both, token_strictly_bind_ip: false }).expect(204);
    await secrets.root.write('auth/pass/users/ann', { token_strictly_bind_ip: true }).expect(400);
  });
});

describe('a proxy that has a secret', () => {
  const secret = 'what-the-proxy-in-front-has-to-send';
  const folder = mkdtempSync(path.join(tmpdir(), 'proxy-secret-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({
    env: { SECRETS_TRUSTED_PROXIES: '127.0.0.1', SECRETS_TRUSTED_PROXY_SECRET: secret, SECRETS_AUDIT_FILE: file },
  });

  it('is trusted only with the secret, which no audit line shows', async () => {
    const header = 'X-Keystead-Proxy-Secret';
    await secrets.root.write(`sys/config/auditing/request-headers/${header}`, { hmac: false }).expect(204);
    await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    const user = { password: 'right', token_bound_cidrs: ['203.0.113.5/32'] };
    await secrets.root.write('auth/userpass/users/ann', user).expect(204);
    const login = (headers: Record<string, string>) =>
      secrets
        .as(undefined, { 'X-Forwarded-For': '203.0.113.5', ...headers })
        .write('auth/userpass/login/ann', { password: 'right' });
    await login({}).expect(403);
    await login({ [header]: `${secret}x` }).expect(403);
    await login({ [header]: secret }).expect(200);
    const lines = readFileSync(file, 'utf8');
    expect(lines).toContain('203.0.113.5');
    expect(lines).not.toContain(secret);
  });
});
