import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { Answer } from './ask';
import { insist } from './ask';

/** The name of nearly everything that is created, so that one value fits nearly every parameter. */
export const kept = 'kept';
/** A child namespace with the same content. */
export const below = 'below';
/** Longer than any recording is kept: everything must still exist at the upgrade. */
const lasting = '876000h';

/** The credentials for what was created in the secrets service. */
export interface SecretsCredentials {
  readonly root: string;
  readonly recoveryKeys: readonly string[];
  /** A token of the child namespace, an orphan, and one with an entity. */
  readonly tokens: Readonly<Record<'child' | 'periodic' | 'person', string>>;
  readonly password: string;
  readonly roleId: string;
  readonly secretId: string;
  /** The secret of the authenticator, and the method it is for. */
  readonly totp: { readonly url: string; readonly methodId: string; readonly recoveryCode: string };
  readonly issuerKey: string;
  readonly wrapping: string;
  readonly leaseId: string;
}

/** The addresses of the stand-ins of outside systems. */
export interface Outside {
  readonly scheduler: { readonly address: string; readonly management: string };
  readonly cloud: { readonly address: string; readonly keyId: string; readonly secret: string };
}

type Make = (
  method: string,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer['body']>;

/** Creates an object of every kind in a new secrets service, over HTTP. */
export async function makeSecrets(address: string, outside: Outside): Promise<SecretsCredentials> {
  const opened = await insist(address, {
    method: 'PUT',
    path: '/v1/sys/init',
    body: { recovery_shares: 3, recovery_threshold: 2 },
  });
  const root: string = opened.root_token;
  const makerIn =
    (namespace: string): Make =>
    (method, path, body, headers) =>
      insist(address, {
        method,
        path: `/v1/${path}`,
        body,
        headers: { 'X-Service-Token': root, 'X-Service-Namespace': namespace, ...headers },
      });
  const make = makerIn('');
  await make('POST', `sys/namespaces/${below}`, { custom_metadata: { of: 'unknown' } });
  await make('POST', `sys/namespaces/${below}/deeper`, {});
  const child = makerIn(below);
  await makeEngines(child, outside);
  const childToken = (await child('POST', 'auth/token/create', { policies: [kept], ttl: lasting })).auth.client_token;
  const { password, roleId, secretId, entity, accessor, issuerKey } = await makeEngines(make, outside);
  const { url, methodId, recoveryCode } = await makeSecondFactor(make, entity, accessor);
  const person = (await make('POST', `auth/token/create/${kept}`, { entity_alias: kept, ttl: lasting })).auth;
  const periodic = (await make('POST', 'auth/token/create', { policies: [kept], period: lasting, no_parent: true }))
    .auth;
  const wrapped = await make('POST', 'sys/wrapping/wrap', { of: kept }, { 'X-Service-Wrap-TTL': lasting });
  const leaseId = (await make('GET', `${kept}-jobs/creds/${kept}`)).lease_id;
  await make('GET', `${kept}-cloud/creds/${kept}`);
  await make('POST', 'auth/token/create', { type: 'batch', policies: [kept], ttl: lasting });
  await makeSystem(make);
  return {
    root,
    recoveryKeys: opened.recovery_keys,
    tokens: { child: childToken, periodic: periodic.client_token, person: person.client_token },
    password,
    roleId,
    secretId,
    totp: { url, methodId, recoveryCode },
    issuerKey,
    wrapping: wrapped.wrap_info.token,
    leaseId,
  };
}

/** Engines and logins of one namespace, their content, and the identities in it. */
async function makeEngines(make: Make, { scheduler, cloud }: Outside) {
  const policy = `path "cubbyhole/*" { capabilities = ["create", "read", "update"] }
path "${kept}/data/{{identity.entity.name}}" { capabilities = ["read"], allowed_parameters = { "*" = [] } }
path "sys/*" { capabilities = ["deny"] }`;
  await make('POST', `sys/policies/acl/${kept}`, { policy });
  const ofPasswords = 'length = 20\nrule "charset" { charset = "abcdefghij0123456789" }';
  await make('POST', `sys/policies/password/${kept}`, { policy: ofPasswords });
  await make('POST', 'cubbyhole/kept', { of: 'its token' });
  await make('POST', 'cubbyhole/kept', { of: 'only its token' });
  await make('POST', `sys/mounts/${kept}`, { type: 'kv', description: 'versions', options: { version: '2' } });
  await make('POST', `${kept}/config`, { max_versions: 7 });
  for (const n of [1, 2, 3])
    await make('POST', `${kept}/data/${kept}`, { data: { n, exact: 12345678901234567890n.toString() } });
  await make('POST', `${kept}/delete/${kept}`, { versions: [1] });
  await make('POST', `${kept}/destroy/${kept}`, { versions: [2] });
  await make('POST', `${kept}/metadata/${kept}`, { custom_metadata: { of: kept } });
  await make('POST', `${kept}/data/deep/${kept}`, { data: { text: 'ä\u0001'.repeat(40) } });
  await make('POST', `sys/mounts/${kept}-kv`, { type: 'kv' });
  await make('POST', `${kept}-kv/${kept}`, {
    number: 1.5,
    list: [1, { a: null }],
    large: randomBytes(30).toString('base64'),
  });

  await make('POST', `sys/mounts/${kept}-jobs`, { type: 'scheduler' });
  await make('POST', `sys/mounts/${kept}-jobs/tune`, { max_lease_ttl: lasting, default_lease_ttl: lasting });
  await make('POST', `${kept}-jobs/config/access`, { address: scheduler.address, token: scheduler.management });
  await make('POST', `${kept}-jobs/config/lease`, { ttl: lasting, max_ttl: lasting });
  await make('POST', `${kept}-jobs/role/${kept}`, { policies: 'read' });
  await make('POST', `sys/mounts/${kept}-cloud`, { type: 'cloudtwo' });
  const root = { access_key: cloud.keyId, secret_key: cloud.secret, region: 'eu-west-1' };
  const endpoints = { iam_endpoint: cloud.address, sts_endpoint: cloud.address };
  await make('POST', `${kept}-cloud/config/root`, { ...root, ...endpoints });
  await make('POST', `${kept}-cloud/config/lease`, { lease: lasting, lease_max: lasting });
  const arn = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
  await make('POST', `${kept}-cloud/roles/${kept}`, { credential_type: 'iam_user', policy_arns: arn });

  for (const type of ['userpass', 'approle', 'jwt', 'cloudone']) {
    const at = `sys/auth/${type === 'userpass' ? kept : `${kept}-${type}`}`;
    await make('POST', at, { type, description: `by ${type}` });
    await make('POST', `${at}/tune`, { max_lease_ttl: lasting });
  }
  const password = randomBytes(12).toString('base64url');
  await make('POST', `auth/${kept}/users/${kept}`, { password, token_policies: [kept], token_ttl: lasting });
  const role = `auth/${kept}-approle/role/${kept}`;
  await make('POST', role, { token_policies: [kept], token_ttl: lasting, secret_id_ttl: 0, secret_id_num_uses: 0 });
  const roleId = (await make('GET', `${role}/role-id`)).data.role_id;
  const secretId = (await make('POST', `${role}/secret-id`, { metadata: '{"of":"kept"}' })).data.secret_id;
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKey = String(pair.publicKey.export({ type: 'spki', format: 'pem' }));
  const issuerKey = String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await make('POST', `auth/${kept}-jwt/config`, {
    jwt_validation_pubkeys: [publicKey],
    bound_issuer: 'https://kept.test',
  });
  const claims = { user_claim: 'sub', bound_audiences: [kept], groups_claim: 'teams', token_policies: [kept] };
  await make('POST', `auth/${kept}-jwt/role/${kept}`, claims);
  const directory = { tenant_id: kept, resource: 'https://kept.test', client_id: kept, client_secret: kept };
  await make('POST', `auth/${kept}-cloudone/config`, directory);
  await make('POST', `auth/${kept}-cloudone/role/${kept}`, { bound_resource_groups: kept, token_policies: kept });

  const accessor = (await make('GET', 'sys/auth')).data[`${kept}/`].accessor;
  const person = { name: kept, metadata: { of: kept }, policies: [kept] };
  const entity = (await make('POST', 'identity/entity', person)).data.id;
  const alias = { name: kept, mount_accessor: accessor, canonical_id: entity, custom_metadata: { of: kept } };
  await make('POST', 'identity/entity-alias', alias);
  const twin = (await make('POST', 'identity/entity', { name: `${kept}-twin` })).data.id;
  await make('POST', 'identity/entity/merge', { from_entity_ids: [twin], to_entity_id: entity });
  const inner = (await make('POST', 'identity/group', { name: kept, member_entity_ids: [entity], policies: [kept] }))
    .data.id;
  await make('POST', 'identity/group', { name: `${kept}-outer`, member_group_ids: [inner], metadata: { of: kept } });
  const external = (await make('POST', 'identity/group', { name: `${kept}-external`, type: 'external' })).data.id;
  const jwtAccessor = (await make('GET', 'sys/auth')).data[`${kept}-jwt/`].accessor;
  await make('POST', 'identity/group-alias', { name: kept, mount_accessor: jwtAccessor, canonical_id: external });
  await make('POST', `auth/token/roles/${kept}`, {
    allowed_policies: [kept],
    allowed_entity_aliases: [kept],
    orphan: true,
  });
  await make('POST', `identity/oidc/key/${kept}`, { algorithm: 'ES256', allowed_client_ids: '*' });
  await make('POST', `identity/oidc/role/${kept}`, { key: kept });
  await make('POST', `identity/oidc/scope/${kept}`, { description: kept });
  await make('POST', `identity/oidc/assignment/${kept}`, { entity_ids: entity });
  await make('POST', `identity/oidc/client/${kept}`, { assignments: kept, key: kept });
  await make('POST', `identity/oidc/provider/${kept}`, { allowed_client_ids: '*', scopes_supported: kept });
  for (const kind of ['rate-limit', 'lease-count']) {
    await make('POST', `sys/quotas/${kind}/${kept}-${kind}`, { rate: 1e6, max_leases: 1e6 });
  }
  return { password, roleId, secretId, entity, accessor, issuerKey };
}

/** A second factor of one person, required at one login. */
async function makeSecondFactor(make: Make, entity: string, accessor: string) {
  const method = { issuer: 'Kept', method_name: kept, qr_size: 0, recovery_codes: 2 };
  const methodId = (await make('POST', 'identity/mfa/method/totp', method)).data.method_id;
  const ids = { method_id: methodId, entity_id: entity };
  const { url, recovery_codes: codes } = (await make('POST', 'identity/mfa/method/totp/admin-generate', ids)).data;
  const rule = { mfa_method_ids: [methodId], auth_method_accessors: [accessor] };
  await make('POST', `identity/mfa/login-enforcement/${kept}`, rule);
  return { url, methodId, recoveryCode: codes[0] };
}

/** Objects that belong to the installation as a whole. */
async function makeSystem(make: Make): Promise<void> {
  await make('POST', `sys/config/auditing/request-headers/${kept}`, { hmac: true });
  await make('POST', 'sys/rotate');
  await make('POST', 'sys/mounts/moved-from', { type: 'kv' });
  await make('POST', 'moved-from/kept', { of: 'moved' });
  await make('POST', 'sys/remount', { from: 'moved-from', to: 'moved-to' });
  await make('PUT', 'sys/rekey-recovery-key/init', { secret_shares: 1, secret_threshold: 1 });
}
