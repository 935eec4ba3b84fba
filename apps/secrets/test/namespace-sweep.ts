import { randomBytes, randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { authMethods } from './auth-methods';
import { methods } from './authenticator';
import { until } from './fresh-storage';
import type { Secrets } from './start-secrets';

/** An answer, as text that can be compared. */
export interface Said {
  readonly status: number;
  readonly body: string;
}

/** A request; by default with the root token and no other headers. */
export type Ask = (
  namespace: string,
  verb: string,
  path: string,
  fields?: Readonly<Record<string, unknown>>,
  with_?: { readonly token?: string; readonly headers?: Readonly<Record<string, string>> },
) => Promise<Said>;

/** Requests over kept connections, because a sweep makes tens of thousands. */
export function asker(secrets: Secrets): Ask & { close(): void } {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  const verbs: Record<string, string> = {
    read: 'GET',
    list: 'GET',
    scan: 'GET',
    write: 'POST',
    delete: 'DELETE',
    patch: 'PATCH',
  };
  const ask: Ask = (namespace, verb, path, fields = {}, { token = secrets.rootToken, headers } = {}) =>
    new Promise((resolve, reject) => {
      const inBody = verb === 'write' || verb === 'patch';
      const query = new URLSearchParams();
      if (verb === 'list' || verb === 'scan') query.set(verb, 'true');
      if (!inBody) for (const [name, value] of Object.entries(fields)) query.set(name, String(value));
      const search = query.size > 0 ? `?${query}` : '';
      const request = http.request(
        {
          agent,
          host: '127.0.0.1',
          port: (secrets.server.address() as AddressInfo).port,
          method: verbs[verb]!,
          path: `/v1/${path.split('/').map(encodeURIComponent).join('/')}${search}`,
          headers: {
            'X-Service-Token': token,
            'X-Service-Namespace': namespace,
            ...headers,
            ...(inBody && { 'Content-Type': verb === 'patch' ? 'application/merge-patch+json' : 'application/json' }),
          },
        },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part) => parts.push(part));
          response.on('end', () => resolve({ status: response.statusCode!, body: Buffer.concat(parts).toString() }));
        },
      );
      request.on('error', reject);
      request.end(inBody ? JSON.stringify(fields) : undefined);
    });
  return Object.assign(ask, { close: () => agent.destroy() });
}

/** The kinds of names; the form of a name decides where it is tried. */
export type Form = 'name' | 'client' | 'uuid' | 'accessor' | 'mount-accessor' | 'token' | 'lease';

/** An object of a namespace, and its name. */
export interface Named {
  readonly kind: string;
  readonly form: Form;
  readonly value: string;
}

/** A namespace with one object of every kind. Names that users choose begin with `only-<label>`. */
export interface Furnished {
  readonly path: string;
  readonly label: string;
  readonly uuid: string;
  readonly things: readonly Named[];
  of(kind: string): string;
}

/** Fills a namespace over HTTP, as its users would. `path` is empty for the root namespace. */
export async function furnish(
  {
    ask,
    sql,
    scheduler,
    directory,
  }: { ask: Ask; sql: Sql; scheduler: { address: string; management: string }; directory: { address: string } },
  path: string,
  label: string,
): Promise<Furnished> {
  const name = `only-${label}`;
  const things: Named[] = [];
  const add = (kind: string, form: Form, value: unknown) => {
    if (typeof value !== 'string' || value === '') throw new Error(`nothing was made: ${kind} of ${label}`);
    things.push({ kind, form, value });
    return value;
  };
  const make: Make = async (verb, at, fields, headers) => {
    const { status, body } = await ask(path, verb, at, fields as Record<string, unknown>, { headers });
    if (status >= 300) throw new Error(`${verb} ${at} in ${label}: ${status} ${body}`);
    return body === '' ? undefined : JSON.parse(body);
  };
  add('name', 'name', name);
  await make('write', `sys/policies/acl/${name}`, { policy: 'path "a" { capabilities = ["read"] }' });
  await make('write', `sys/namespaces/${name}-below`, { custom_metadata: { of: name } });
  for (const kind of ['rate-limit', 'lease-count']) {
    await make('write', `sys/quotas/${kind}/${name}`, { rate: 1e9, max_leases: 1e9 });
  }
  await make('write', `auth/token/roles/${name}`, { disallowed_policies: 'none' });
  // Mounts and their content.
  await make('write', `sys/mounts/${name}`, { type: 'kv', options: { version: '2' } });
  await make('write', `${name}/data/${name}`, { data: { of: name } });
  await make('write', `sys/mounts/${name}-kv`, { type: 'kv' });
  await make('write', `${name}-kv/${name}`, { of: name });
  await make('write', `sys/mounts/${name}-keys`, { type: 'transit' });
  await make('write', `${name}-keys/keys/${name}`, {});
  await make('write', `sys/mounts/${name}-jobs`, { type: 'scheduler' });
  await make('write', `${name}-jobs/config/access`, { address: scheduler.address, token: scheduler.management });
  await make('write', `${name}-jobs/role/${name}`, { policies: 'read' });
  await make('write', `sys/mounts/${name}-cloud`, { type: 'cloudtwo' });
  for (const type of [...authMethods, 'cloudone']) {
    await make('write', `sys/auth/${type === 'userpass' ? name : `${name}-${type}`}`, { type });
  }
  await make('write', `auth/${name}-ldap/config`, { url: directory.address });
  await make('write', `auth/${name}/users/${name}`, { password: name });
  const { role_id, secret_id, secret_id_accessor } = await approle(make, name);
  add('role id', 'uuid', role_id);
  add('secret id', 'uuid', secret_id);
  add('secret id accessor', 'uuid', secret_id_accessor);
  const mounts = (await make('read', 'sys/mounts')).data;
  const auths = (await make('read', 'sys/auth')).data;
  add('mount', 'uuid', mounts[`${name}/`].uuid);
  add('secret mount accessor', 'mount-accessor', mounts[`${name}/`].accessor);
  add('auth mount accessor', 'mount-accessor', auths[`${name}/`].accessor);
  // Entities, groups and users.
  const entity = add(
    'entity',
    'uuid',
    (await make('write', 'identity/entity', { name, metadata: { of: name } })).data.id,
  );
  const mount_accessor = auths[`${name}/`].accessor;
  const alias = (await make('write', 'identity/entity-alias', { name, mount_accessor, canonical_id: entity })).data;
  add('entity alias', 'uuid', alias.id);
  const group = { name, member_entity_ids: [entity], policies: [name] };
  add('group', 'uuid', (await make('write', 'identity/group', group)).data.id);
  const outer = (await make('write', 'identity/group', { name: `${name}-outer`, type: 'external' })).data.id;
  add('external group', 'uuid', outer);
  const groupAlias = { name, mount_accessor, canonical_id: outer };
  add('group alias', 'uuid', (await make('write', 'identity/group-alias', groupAlias)).data.id);
  const method = (await make('write', methods, { issuer: name, method_name: name, qr_size: 0 })).data.method_id;
  add('method', 'uuid', method);
  await make('write', `${methods}/admin-generate`, { method_id: method, entity_id: entity });
  const rule = { mfa_method_ids: [method], identity_entity_ids: [entity] };
  await make('write', `identity/mfa/login-enforcement/${name}`, rule);
  add('enforcement', 'uuid', (await make('read', `identity/mfa/login-enforcement/${name}`)).data.id);
  const login = await make('write', `auth/${name}/login/${name}`, { password: name });
  add('waiting login', 'uuid', login.auth.mfa_requirement.mfa_request_id);
  // Identity tokens and the OpenID provider.
  await make('write', `identity/oidc/key/${name}`, { algorithm: 'ES256', allowed_client_ids: '*' });
  await make('write', `identity/oidc/role/${name}`, { key: name });
  await make('write', `identity/oidc/scope/${name}`, { description: name });
  await make('write', `identity/oidc/assignment/${name}`, { entity_ids: entity });
  const application = { assignments: name, key: name, redirect_uris: `https://${name}.example/back` };
  await make('write', `identity/oidc/client/${name}`, application);
  add('client', 'client', (await make('read', `identity/oidc/client/${name}`)).data.client_id);
  await make('write', `identity/oidc/provider/${name}`, { allowed_client_ids: '*', scopes_supported: name });
  // Tokens, leases and wrapped answers.
  const { client_token, accessor } = (
    await make('write', 'auth/token/create', {
      policies: ['default'],
      ttl: '10h',
      meta: { of: name },
      display_name: name,
    })
  ).auth;
  add('token', 'token', client_token);
  add('accessor', 'accessor', accessor);
  add('batch token', 'token', await batchToken(make));
  const { keys } = (await make('list', 'sys/leases/lookup/auth/token/create')).data;
  add('token lease', 'lease', `auth/token/create/${keys[0]}`);
  add('lease', 'lease', (await make('read', `${name}-jobs/creds/${name}`)).lease_id);
  const wrapped = (await make('write', 'sys/wrapping/wrap', { of: name }, { 'X-Service-Wrap-TTL': '10h' })).wrap_info;
  add('wrapping token', 'token', wrapped.token);
  add('wrapping accessor', 'accessor', wrapped.accessor);
  // Work in the background.
  await make('write', `sys/mounts/${name}-from`, { type: 'kv' });
  const move = await make('write', 'sys/remount', { from: `${name}-from`, to: `${name}-to` });
  add('move', 'uuid', move.migration_id);
  await make('write', `sys/leases/revoke-prefix/${name}-jobs/creds/unknown`);
  const [{ id: uuid }] = await sql<{ id: string }>('SELECT id FROM namespace WHERE path = $1', [
    path === '' ? '' : `${path}/`,
  ]);
  add('namespace', 'uuid', uuid);
  await until(async () => {
    const rows = await sql<{ id: string }>(
      `SELECT id FROM job WHERE kind = 'revoke-prefix' AND key LIKE $1 AND state = 1`,
      [`${uuid}/${name}-jobs/%`],
    );
    if (rows[0]) add('bulk revocation', 'uuid', rows[0].id);
    return rows.length > 0;
  });
  return { path, label, uuid, things, of: (kind) => things.find((thing) => thing.kind === kind)!.value };
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
type Make = (verb: string, at: string, fields?: object, headers?: Record<string, string>) => Promise<any>;
/** A statement as an operator would type it. */
export type Sql = <R>(text: string, values?: readonly unknown[]) => Promise<[R, ...R[]]>;

/**
 * A batch token that is also a valid name: names end in a letter, a digit or an underscore, and so do the similar
 * strings.
 */
async function batchToken(make: Make): Promise<string> {
  const { auth } = await make('write', 'auth/token/create', { type: 'batch', policies: ['default'], ttl: '10h' });
  return auth.client_token.endsWith('-') ? batchToken(make) : auth.client_token;
}

async function approle(make: Make, name: string) {
  const at = `auth/${name}-approle/role/${name}`;
  await make('write', at, {});
  const { role_id } = (await make('read', `${at}/role-id`)).data;
  return { role_id, ...(await make('write', `${at}/secret-id`, {})).data };
}

const same = new Map<string, readonly [string, string]>();

/** Two strings of the same form that name no object; all strings of one form get the same two. */
export function absent({ form, value }: Named): readonly [string, string] {
  const end = /\.\w{6}$/.exec(value)?.[0] ?? '';
  const shape = `${form} ${value.length} ${form === 'lease' ? value.replace(/[^/]*$/, '') : ''}${end}`;
  const known = same.get(shape);
  if (known) return known;
  const made = [lookalike(form, value, end), lookalike(form, value, end)] as const;
  same.set(shape, made);
  return made;
}

function lookalike(form: Form, value: string, end: string): string {
  if (form === 'uuid') return randomUUID();
  const body = end === '' ? value : value.slice(0, -end.length);
  const ofToken = /\/h\w{64}$/.test(body);
  if (form === 'lease' && !ofToken) return body.replace(/\w+/g, (word) => noise(word.length)) + end;
  const [kept] = /^(.*\/h|[sb]\.|[a-z]+_|only-)?/.exec(body)!;
  const text = noise(body.length - kept.length, ofToken || form === 'mount-accessor' ? 'hex' : 'base64');
  return kept + (form === 'name' ? text.toLowerCase().replace(/^./, 'z') : text) + end;
}

const noise = (length: number, as: 'hex' | 'base64' = 'base64'): string =>
  randomBytes(length).toString(as).replace(/[+/=]/g, 'x').slice(0, length);
