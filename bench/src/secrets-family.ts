import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { type Setting, scenariosOn } from './family';
import type { Scenario } from './scenario';
import { ask, startService, times } from './service';

const names = ['secrets: cubbyhole read', 'secrets: lookup-self', 'secrets: cubbyhole write', 'secrets: token create'];
const entries = 200;
const policy = 'path "auth/token/create" { capabilities = ["update"] }';

/**
 * The secrets service with its file audit device on, used by an ordinary token: reads and writes of small secrets in
 * the token's own cubbyhole, token creation, and a look at oneself.
 */
export async function secretsFamily(setting: Setting): Promise<Scenario[]> {
  if (!names.some(setting.wanted)) return [];
  const url = await startService(
    'secrets',
    {
      SECRETS_SEAL_KEY: randomBytes(32).toString('hex'),
      SECRETS_AUDIT_FILE: path.join(setting.folder, 'audit.log'),
    },
    setting,
  );
  const token = await prepare(url);
  const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json' };
  const paths = Array.from({ length: entries }, (_, i) => `/v1/cubbyhole/bench/${i}`);
  const scenario = scenariosOn(url, setting.generator);
  const body = '{"username":"app","password":"correct horse battery staple {n}"}';
  return [
    scenario(names[0]!, { method: 'GET', paths, headers }),
    scenario(names[1]!, { method: 'GET', paths: ['/v1/auth/token/lookup-self'], headers }),
    scenario(names[2]!, { method: 'POST', paths, headers, body }, { ceiling: 'upsert' }),
    scenario(
      names[3]!,
      { method: 'POST', paths: ['/v1/auth/token/create'], headers, body: '{"policies":["default"],"ttl":"1h"}' },
      { ceiling: 'upsert' },
    ),
  ];
}

/** Initialises the service and makes the token that the load is sent with. */
async function prepare(url: string): Promise<string> {
  const { root_token: root } = await ask<{ root_token: string }>(
    `${url}/v1/sys/init`,
    'PUT',
    {},
    {
      recovery_shares: 1,
      recovery_threshold: 1,
    },
  );
  const admin = { 'X-Service-Token': root };
  await ask(`${url}/v1/sys/policies/acl/bench`, 'POST', admin, { policy });
  const { auth } = await ask<{ auth: { client_token: string } }>(`${url}/v1/auth/token/create`, 'POST', admin, {
    policies: ['bench'],
    ttl: '24h',
  });
  const own = { 'X-Service-Token': auth.client_token };
  const value = { username: 'app', password: 'correct horse battery staple' };
  await times(entries, (i) => ask(`${url}/v1/cubbyhole/bench/${i}`, 'POST', own, value));
  return auth.client_token;
}
