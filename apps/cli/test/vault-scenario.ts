import { generateKeyPairSync } from 'node:crypto';
import { expect } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import { root as authority } from '../../secrets/test/stand-ins/authority';
import type { Client } from '../../secrets/test/start-secrets';
import type { Ran } from './run-keystead';

/** Writes to the other server as its administrator; returns the answer. */
export type Write = (path: string, body: object, namespace?: string, method?: string) => Promise<Answer>;
type Answer = { readonly data?: Readonly<Record<string, unknown>> };

/** A value that must never be printed. */
export const confidential = 'correct-horse-battery';
/** Digits that a double would lose. */
export const exact = '{"pin":12345678901234567890,"rate":1.50,"__proto__":{"a":1}}';

const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();

/** Fills a server with every kind of content that is copied. `engine` is a type that is not copied. */
export async function furnish(write: Write, read: (path: string) => Promise<Answer>, engine: string): Promise<void> {
  await write('sys/mounts/old', { type: 'kv', options: { version: '1' }, description: 'the first one' });
  await write('sys/mounts/kv', { type: 'kv', options: { version: '2' }, config: { max_lease_ttl: '48h' } });
  await write('sys/mounts/other', { type: engine });
  await write('old/plain', { password: confidential });
  await write('old/plain/below it/ümlaut', { a: ['b'] });
  await furnishVersions(write);
  for (const type of ['userpass', 'approle', 'jwt', 'ldap', 'kubernetes', 'cert'])
    await write(`sys/auth/${type}`, { type });
  await write('auth/userpass/users/ada', { password: confidential, token_policies: 'reader', token_ttl: '30m' });
  await write('auth/approle/role/ci', { token_policies: ['reader'], secret_id_num_uses: 3, token_max_ttl: '2h' });
  await write('auth/approle/role/ci/role-id', { role_id: 'role-of-ci' });
  await write('auth/approle/role/ci/secret-id', {});
  await write('auth/jwt/config', { jwt_validation_pubkeys: [pem], bound_issuer: 'https://issuer.example.com' });
  const claims = {
    bound_audiences: ['us'],
    user_claim: 'sub',
    role_type: 'jwt',
    bound_claims: { team: ['red', 'blue'] },
  };
  await write('auth/jwt/role/pipeline', { ...claims, token_policies: ['reader'], token_ttl: 600 });
  await write('auth/kubernetes/config', {
    kubernetes_host: 'https://10.0.0.1:6443',
    token_reviewer_jwt: confidential,
    kubernetes_ca_cert: testCertificate.cert,
    disable_local_ca_jwt: true,
  });
  await write('auth/kubernetes/role/pods', {
    bound_service_account_names: ['app'],
    bound_service_account_namespaces: ['prod'],
    audience: 'us',
    token_policies: ['reader'],
  });
  await write('auth/ldap/config', {
    url: 'ldaps://ldap.example.com',
    binddn: 'cn=reader',
    bindpass: confidential,
    userdn: 'ou=people',
  });
  await write('auth/ldap/groups/crew', { policies: 'reader' });
  await write('auth/cert/certs/web', {
    certificate: authority('Company').pem,
    allowed_common_names: ['*.example.com'],
    token_policies: ['reader'],
  });
  await write('auth/token/roles/short', { allowed_policies: ['reader'], token_period: '1h', orphan: true });
  await furnishPeople(write, read);
  await write('sys/policies/password/short', { policy: 'length = 20\nrule "charset" { charset = "abcdef" }' });
  await write('sys/quotas/rate-limit/all', { rate: 10_000, path: 'old/' });
  await write('sys/namespaces/team', { custom_metadata: { owner: 'ada' } }, undefined, 'PUT');
  await write('sys/mounts/inner', { type: 'kv', options: { version: '2' } }, 'team');
  await write('inner/data/app', { data: { colour: 'blue' } }, 'team');
  await write('sys/policies/acl/inner', { policy: 'path "inner/*" { capabilities = ["read"] }' }, 'team');
}

async function furnishVersions(write: Write): Promise<void> {
  await write('kv/config', { max_versions: 5, cas_required: false, delete_version_after: '0s' });
  await write('kv/metadata/app/db', { custom_metadata: { owner: 'ada' }, max_versions: 7 });
  for (const n of [1, 2, 3]) await write('kv/data/app/db', { data: { password: `${confidential}-${n}` } });
  await write('kv/destroy/app/db', { versions: [1] });
  await write('kv/delete/app/db', { versions: [2] });
  for (let n = 1; n <= 8; n += 1) await write('kv/data/many', { data: { n } });
  await write('kv/data/app', { data: JSON.parse(exact.replace('12345678901234567890', '1')) });
  await write('kv/metadata/empty', { custom_metadata: { note: 'no versions' }, cas_required: true });
}

async function furnishPeople(write: Write, read: (path: string) => Promise<Answer>): Promise<void> {
  const methods = (await read('sys/auth')).data as Record<string, { accessor: string }>;
  const userpass = methods['userpass/']!.accessor;
  const entity = await write('identity/entity', { name: 'ada', metadata: { team: 'red' }, policies: ['reader'] });
  const ada = String(entity.data?.id);
  await write('identity/entity-alias', { name: 'ada', canonical_id: ada, mount_accessor: userpass });
  const crew = await write('identity/group', { name: 'crew', policies: ['reader'], member_entity_ids: [ada] });
  const all = { name: 'all', member_group_ids: [crew.data?.id] };
  const outer = await write('identity/group', all);
  const external = await write('identity/group', { name: 'outside', type: 'external' });
  const ldap = methods['ldap/']!.accessor;
  await write('identity/group-alias', { name: 'crew', canonical_id: external.data?.id, mount_accessor: ldap });
  const path = `old/{{identity.entity.aliases.${userpass}.name}}/*`;
  const policy = `path "${path}" { capabilities = ["read"] }\n# group ${String(outer.data?.id)}\n`;
  await write('sys/policies/acl/reader', { policy });
}

/** Expects the complete import. */
export async function expectAllHere(root: Client, team: Client): Promise<void> {
  const get = async (client: Client, path: string) => (await client.read(encodeURI(path)).expect(200)).body.data;
  expect(await get(root, 'old/plain')).toEqual({ password: confidential });
  expect(await get(root, 'old/plain/below it/ümlaut')).toEqual({ a: ['b'] });
  await expectVersions(root);
  const mounts = await get(root, 'sys/mounts');
  expect([mounts['old/'].description, mounts['kv/'].config.max_lease_ttl]).toEqual(['the first one', 172_800]);
  const methods = await get(root, 'sys/auth');
  const ada = await get(root, 'identity/entity/name/ada');
  expect(ada).toMatchObject({ metadata: { team: 'red' }, policies: ['reader'] });
  expect(ada.aliases).toMatchObject([{ name: 'ada', mount_accessor: methods['userpass/'].accessor }]);
  const crew = await get(root, 'identity/group/name/crew');
  expect(crew).toMatchObject({ member_entity_ids: [ada.id], policies: ['reader'] });
  const all = await get(root, 'identity/group/name/all');
  expect(all.member_group_ids).toEqual([crew.id]);
  const outside = await get(root, 'identity/group/name/outside');
  expect(outside.alias).toMatchObject({ name: 'crew', mount_accessor: methods['ldap/'].accessor });
  const { policy } = await get(root, 'sys/policies/acl/reader');
  expect(policy).toContain(`aliases.${methods['userpass/'].accessor}.name`);
  expect(policy).toContain(`# group ${all.id}`);
  expect(await get(root, 'auth/userpass/users/ada')).toMatchObject({ token_policies: ['reader'], token_ttl: 1800 });
  expect(await get(root, 'auth/approle/role/ci')).toMatchObject({ secret_id_num_uses: 3, token_max_ttl: 7200 });
  expect(await get(root, 'auth/approle/role/ci/role-id')).toEqual({ role_id: 'role-of-ci' });
  expect(await get(root, 'auth/jwt/config')).toMatchObject({ bound_issuer: 'https://issuer.example.com' });
  expect(await get(root, 'auth/jwt/role/pipeline')).toMatchObject({ bound_claims: { team: ['red', 'blue'] } });
  expect(await get(root, 'auth/kubernetes/role/pods')).toMatchObject({ bound_service_account_names: ['app'] });
  expect(await get(root, 'auth/ldap/config')).toMatchObject({ url: 'ldaps://ldap.example.com', binddn: 'cn=reader' });
  expect(await get(root, 'auth/cert/certs/web')).toMatchObject({
    allowed_common_names: ['*.example.com'],
    token_policies: ['reader'],
  });
  expect(await get(root, 'auth/ldap/groups/crew')).toMatchObject({ policies: ['reader'] });
  expect(await get(root, 'auth/token/roles/short')).toMatchObject({ allowed_policies: ['reader'], orphan: true });
  expect((await get(root, 'sys/policies/password/short')).policy).toContain('length = 20');
  expect(await get(team, 'inner/data/app')).toMatchObject({ data: { colour: 'blue' } });
  expect((await get(team, 'sys/policies/acl/inner')).policy).toContain('inner/*');
  expect(await get(root, 'sys/namespaces/team')).toMatchObject({ custom_metadata: { owner: 'ada' } });
}

async function expectVersions(root: Client): Promise<void> {
  const { body } = await root.read('kv/metadata/app/db').expect(200);
  expect(body.data).toMatchObject({ current_version: 3, max_versions: 7, custom_metadata: { owner: 'ada' } });
  const marks = Object.entries(body.data.versions as Record<string, { deletion_time: string; destroyed: boolean }>);
  expect(marks.map(([n, { deletion_time: at, destroyed }]) => [n, at !== '', destroyed])).toEqual([
    ['1', false, true],
    ['2', true, true],
    ['3', false, false],
  ]);
  const newest = await root.read('kv/data/app/db').expect(200);
  expect(newest.body.data.data).toEqual({ password: `${confidential}-3` });
  const many = await root.read('kv/metadata/many').expect(200);
  expect(Object.keys(many.body.data.versions)).toEqual(['4', '5', '6', '7', '8']);
  expect(many.body.data).toMatchObject({ oldest_version: 4, current_version: 8, max_versions: 0 });
  expect((await root.read('kv/data/many?version=5').expect(200)).body.data.data).toEqual({ n: 5 });
  expect((await root.read('kv/metadata/empty').expect(200)).body.data).toMatchObject({
    current_version: 0,
    cas_required: true,
    custom_metadata: { note: 'no versions' },
  });
  expect((await root.read('kv/config').expect(200)).body.data.max_versions).toBe(5);
}

/** Content that is not copied must be reported. */
export function expectNamed(runs: readonly Ran[], engine: string): void {
  const left = runs.flatMap(({ printed }) => (JSON.parse(printed) as { left: string[] }).left);
  const named = [
    `other/: secrets engines of type ${engine} are not copied`,
    'kv/app/db: deleted versions cannot be read, and are destroyed here: 2',
    'auth/userpass/: 1 user has a random password: set a new one',
    'auth/approle/role/ci: 1 secret ids are not shown there: make new ones',
    'auth/ldap/config: bindpass is not shown there: write it with it',
    'rate limits: not copied: all',
  ];
  expect(left).toEqual(expect.arrayContaining(named));
}

const plaintext = Buffer.from('of the other server').toString('base64');

/** Fills engines of a server; returns what `expectEnginesHere` compares with. */
export async function furnishEngines(write: Write) {
  for (const type of ['transit', 'pki', 'ssh', 'database', 'totp', 'kubernetes'])
    await write(`sys/mounts/${type}`, { type });
  await write('transit/keys/orders', { exportable: true, allow_plaintext_backup: true });
  const encrypt = async () => String((await write('transit/encrypt/orders', { plaintext })).data?.ciphertext);
  const first = await encrypt();
  await write('transit/keys/orders/rotate', {});
  const ciphertexts = [first, await encrypt()];
  await write('transit/keys/locked', {});
  const root = { common_name: 'The other root', issuer_name: 'root', key_type: 'ec', ttl: '87600h' };
  const { data } = await write('pki/root/generate/internal', root);
  await write('pki/roles/web', { allowed_domains: 'example.com', allow_subdomains: true, key_type: 'ec', ttl: '1h' });
  await write('pki/config/urls', { crl_distribution_points: ['http://ca.example.com/crl'] });
  const issue = async (common_name: string) =>
    (await write('pki/issue/web', { common_name })).data as { certificate: string; serial_number: string };
  const [live, revoked] = [await issue('live.example.com'), await issue('revoked.example.com')];
  await write('pki/revoke', { serial_number: revoked.serial_number });
  await write('ssh/config/ca', { generate_signing_key: true, key_type: 'ed25519' });
  const extensions = { 'permit-pty': '' };
  await write('ssh/roles/ops', {
    key_type: 'ca',
    allow_user_certificates: true,
    allowed_users: 'ada',
    default_extensions: extensions,
  });
  await write('database/config/app', {
    plugin_name: 'postgresql-database-plugin',
    allowed_roles: ['app'],
    connection_url: 'postgresql://{{username}}:{{password}}@db.example.com:5432/app',
    username: 'keystead',
    password: confidential,
    verify_connection: false,
  });
  const creation_statements = [`CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}'`];
  await write('database/roles/app', { db_name: 'app', creation_statements, default_ttl: '1h' });
  await write('totp/keys/ada', { generate: true, issuer: 'Keystead', account_name: 'ada' });
  await write('kubernetes/config', {
    kubernetes_host: 'https://10.0.0.1:6443',
    kubernetes_ca_cert: testCertificate.cert,
    service_account_jwt: confidential,
    disable_local_ca_jwt: true,
  });
  await write('kubernetes/roles/deploy', { allowed_kubernetes_namespaces: ['prod'], service_account_name: 'deployer' });
  return { ciphertexts, certificate: String(data?.certificate), live, revoked };
}

export async function expectEnginesHere(root: Client, of: Awaited<ReturnType<typeof furnishEngines>>): Promise<void> {
  const read = async (path: string) => (await root.read(path).expect(200)).body.data;
  for (const ciphertext of of.ciphertexts) {
    const { body } = await root.write('transit/decrypt/orders', { ciphertext }).expect(200);
    expect(body.data.plaintext).toBe(plaintext);
  }
  expect((await read('transit/keys/orders')).latest_version).toBe(2);
  await root.read('transit/keys/locked').expect(404);
  expect((await read('pki/issuer/root')).certificate.trim()).toBe(of.certificate.trim());
  for (const one of [of.live, of.revoked]) {
    const { certificate, revocation_time } = await read(`pki/cert/${one.serial_number}`);
    expect([certificate.trim(), revocation_time > 0]).toEqual([one.certificate.trim(), one === of.revoked]);
  }
  const { keys } = (await root.list('pki/certs/revoked').expect(200)).body.data;
  expect(keys).toEqual([of.revoked.serial_number]);
  expect(await read('pki/roles/web')).toMatchObject({ allowed_domains: ['example.com'], allow_subdomains: true });
  expect((await read('pki/config/urls')).crl_distribution_points).toEqual(['http://ca.example.com/crl']);
  expect(await read('ssh/roles/ops')).toMatchObject({ allowed_users: 'ada', default_extensions: { 'permit-pty': '' } });
  expect(await read('database/config/app')).toMatchObject({
    allowed_roles: ['app'],
    connection_details: {
      connection_url: 'postgresql://{{username}}:{{password}}@db.example.com:5432/app',
      username: 'keystead',
    },
  });
  expect(await read('database/roles/app')).toMatchObject({ db_name: 'app', default_ttl: 3600 });
  expect(await read('kubernetes/config')).toMatchObject({ kubernetes_host: 'https://10.0.0.1:6443' });
  expect(await read('kubernetes/roles/deploy')).toMatchObject({ service_account_name: 'deployer' });
}

/** The report about engines that cannot be copied completely. */
export const ofEngines: readonly unknown[] = [
  'transit/keys/locked: there is no backup of it: set exportable and allow_plaintext_backup there, or encrypt again with a new key',
  'pki/issuer/root: its private key is not shown there: import it, or sign a new issuer',
  expect.stringMatching(/^ssh\/issuers: .*: private keys of issuers are not shown there/),
  'database/config/app: its password is not shown there: write it',
  'totp/keys: ada: keys are not shown there: create them again',
  'kubernetes/config: service_account_jwt is not shown there: write it with it',
];
