import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { type Setting, scenariosOn } from './family';
import type { Scenario } from './scenario';
import { ask, type Place, startServiceProcess, times } from './service';

const names = [
  'secrets: cubbyhole read',
  'secrets: lookup-self',
  'secrets: cubbyhole write',
  'secrets: token create',
  'secrets: kv v2 read',
  'secrets: kv v2 write',
  'secrets: kv v2 write of a new secret, cas 0',
  'secrets: approle login',
  'secrets: OpenAPI unchanged',
  'secrets: health',
];
const entries = 200;
const openapi = '/v1/sys/internal/specs/openapi';
const password = 'correct horse battery staple';
const policy = `path "auth/token/create" { capabilities = ["update"] }
path "versions/*" { capabilities = ["create", "update", "read"] }`;

/**
 * The secrets service with its file audit device on, used by an ordinary token: reads and writes of small secrets in
 * the token's own cubbyhole and of versions, token creation, logins, a lookup of the token itself, and a document that has
 * not changed.
 */
export async function secretsFamily(setting: Setting): Promise<Scenario[]> {
  if (!names.some(setting.isSelected)) return [];
  const service = await startAudited(setting);
  const { token, approle, etag } = await prepare(service.url);
  const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json' };
  const paths = Array.from({ length: entries }, (_, i) => `/v1/cubbyhole/bench/${i}`);
  const scenario = scenariosOn(service, setting.generator);
  const body = `{"username":"app","password":"${password} {n}"}`;
  const json = { 'Content-Type': 'application/json' };
  const versions = Array.from({ length: entries }, (_, i) => `/v1/versions/data/bench/${i}`);
  const upsert = { ceiling: 'upsert' } as const;
  return [
    scenario(names[0]!, { method: 'GET', paths, headers }),
    scenario(names[1]!, { method: 'GET', paths: ['/v1/auth/token/lookup-self'], headers }),
    scenario(names[2]!, { method: 'POST', paths, headers, body }, upsert),
    scenario(
      names[3]!,
      { method: 'POST', paths: ['/v1/auth/token/create'], headers, body: '{"policies":["default"],"ttl":"1h"}' },
      upsert,
    ),
    scenario(names[4]!, { method: 'GET', paths: versions, headers }),
    scenario(names[5]!, { method: 'POST', paths: versions, headers, body: `{"data":${body}}` }, upsert),
    scenario(
      names[6]!,
      {
        method: 'POST',
        paths: ['/v1/versions/data/new/{n}'],
        headers,
        body: `{"options":{"cas":0},"data":${body}}`,
      },
      upsert,
    ),
    scenario(names[7]!, { method: 'POST', paths: ['/v1/auth/approle/login'], headers: json, body: approle }, upsert),
    scenario(names[8]!, { method: 'GET', paths: [openapi], headers: { ...headers, 'If-None-Match': etag } }),
    scenario(names[9]!, { method: 'GET', paths: ['/v1/sys/health'] }),
  ];
}

/** The secrets service with its file audit device on, in a separate database. */
export const startAudited = (setting: Place & Pick<Setting, 'folder'>, database = 'secrets') =>
  startServiceProcess(
    'secrets',
    {
      SECRETS_SEAL_KEY: randomBytes(32).toString('hex'),
      SECRETS_AUDIT_FILE: path.join(setting.folder, `audit-${randomBytes(4).toString('hex')}.log`),
    },
    setting,
    database,
  );

/** A token that may do everything. */
export async function initialised(url: string): Promise<string> {
  const shares = { recovery_shares: 1, recovery_threshold: 1 };
  return (await ask<{ root_token: string }>(`${url}/v1/sys/init`, 'PUT', {}, shares)).root_token;
}

/** Initialises the service and prepares the load: a token, the body of a login, the tag of the document. */
async function prepare(url: string): Promise<{ token: string; approle: string; etag: string }> {
  const root = await initialised(url);
  const admin = { 'X-Service-Token': root };
  await ask(`${url}/v1/sys/policies/acl/bench`, 'POST', admin, { policy });
  const { auth } = await ask<{ auth: { client_token: string } }>(`${url}/v1/auth/token/create`, 'POST', admin, {
    policies: ['bench'],
    ttl: '24h',
  });
  const own = { 'X-Service-Token': auth.client_token };
  const value = { username: 'app', password };
  await times(entries, (i) => ask(`${url}/v1/cubbyhole/bench/${i}`, 'POST', own, value));
  const as = (method: string, at: string, body?: object) => ask<never>(`${url}/v1/${at}`, method, admin, body);
  await as('POST', 'sys/mounts/versions', { type: 'kv', options: { version: '2' } });
  await times(entries, (i) => ask(`${url}/v1/versions/data/bench/${i}`, 'POST', own, { data: value }));
  await as('POST', 'sys/auth/approle', { type: 'approle' });
  await as('POST', 'auth/approle/role/bench', { token_ttl: '1h' });
  type Made<T> = { data: T };
  const role: Made<{ role_id: string }> = await as('GET', 'auth/approle/role/bench/role-id');
  const secret: Made<{ secret_id: string }> = await as('POST', 'auth/approle/role/bench/secret-id', {});
  const document = await fetch(`${url}${openapi}`, { headers: own });
  await document.arrayBuffer();
  return {
    token: auth.client_token,
    approle: JSON.stringify({ role_id: role.data.role_id, secret_id: secret.data.secret_id }),
    etag: document.headers.get('ETag') as string,
  };
}
