import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import { authMethods } from './auth-methods';
import { RawClient } from './raw-client';
import { spellings } from './spellings';
import { root } from './stand-ins/authority';
import { listOf } from './stand-ins/revocation';
import { type Client, startSecrets } from './start-secrets';

const all = '"create", "read", "update", "delete", "list", "patch", "sudo"';
const everything = `path "*" { capabilities = [${all}] }`;
const name = 'ki-is1';

// Real handlers and existing objects: an object is neither shown nor deleted under another name.
describe('an object under a denied path', () => {
  const secrets = startSecrets();
  /** Readable paths, by their declared pattern. */
  const things = new Map<string, string>();
  let holder: Client;
  let raw: RawClient;

  const policy = (text: string) => secrets.root.write('sys/policies/acl/holder', { policy: text });
  const put = async (pattern: string, path: string, body: object, by = secrets.root) => {
    const answer = await by.write(path, body);
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    things.set(pattern, path);
    return answer.body.data;
  };

  beforeAll(async () => {
    await policy(everything).expect(204);
    const made = await secrets.root.write('auth/token/create', { policies: ['holder'], no_default_policy: true });
    holder = secrets.as(made.body.auth.client_token);
    raw = new RawClient((secrets.server.address() as AddressInfo).port);

    for (const type of authMethods) await put('', `sys/auth/${type}`, { type });
    await put('sys/mounts/:path*', `sys/mounts/${name}`, { type: 'kv' });
    things.set('sys/mounts/:path*/tune', `sys/mounts/${name}/tune`);
    await put('sys/auth/:path*', `sys/auth/${name}`, { type: 'userpass' });
    things.set('sys/auth/:path*/tune', `sys/auth/${name}/tune`);
    await put('', 'sys/mounts/two', { type: 'kv', options: { version: '2' } });
    await put('sys/namespaces/:path*', `sys/namespaces/${name}-space`, {});
    await put('kv/:path*', `${name}/${name}`, { mine: 'kv one' });
    await put('kv/data/:path*', `two/data/${name}`, { data: { mine: 'kv two' } });
    things.set('kv/metadata/:path*', `two/metadata/${name}`).set('kv/subkeys/:path*', `two/subkeys/${name}`);
    await put('', 'sys/mounts/transit', { type: 'transit' });
    await put('transit/keys/:name', `transit/keys/${name}`, { exportable: true });
    things.set('transit/export/:kind/:name', `transit/export/hmac-key/${name}`);
    things.set('transit/export/:kind/:name/:version', `transit/export/hmac-key/${name}/1`);
    await put('', 'sys/mounts/kubernetes', { type: 'kubernetes' });
    const asks = { allowed_kubernetes_namespaces: 'mine', service_account_name: 'web' };
    await put('kubernetes/roles/:name', `kubernetes/roles/${name}`, asks);
    await put('', 'sys/mounts/ssh', { type: 'ssh' });
    await put('ssh/roles/:role', `ssh/roles/${name}`, { key_type: 'otp', default_user: 'mine' });
    await put('', `ssh/issuers/import/${name}`, { key_type: 'ed25519' });
    things.set('ssh/issuer/:issuer_ref', `ssh/issuer/${name}`);
    await put('', 'sys/mounts/totp', { type: 'totp' });
    await put('totp/keys/:name', `totp/keys/${name}`, { key: 'JBSWY3DPEHPK3PXP', issuer: 'mine', period: 86_400 });
    await put('cubbyhole/:path*', `cubbyhole/${name}`, { mine: 'cubbyhole' }, holder);

    await put('userpass/users/:username', `auth/userpass/users/${name}`, { password: 'p4ssw0rd-long' });
    await put('approle/role/:role_name', `auth/approle/role/${name}`, { local_secret_ids: true, policies: 'mine' });
    const fields = 'role-id policies bind-secret-id secret-id-num-uses secret-id-ttl secret-id-bound-cidrs';
    const tokenFields =
      'bound-cidr-list token-bound-cidrs period token-num-uses token-ttl token-max-ttl local-secret-ids';
    for (const field of `${fields} ${tokenFields}`.split(' ')) {
      things.set(`approle/role/:role_name/${field}`, `auth/approle/role/${name}/${field}`);
    }
    const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'mine', token_max_ttl: '77m' };
    await put('jwt/role/:name', `auth/jwt/role/${name}`, role);
    const accounts = { bound_service_account_names: 'mine', bound_service_account_namespaces: '*' };
    await put('ldap/users/:name', `auth/ldap/users/${name}`, { policies: 'mine' });
    await put('ldap/groups/:name', `auth/ldap/groups/${name}`, { policies: 'mine' });
    await put('cert/certs/:name', `auth/cert/certs/${name}`, { certificate: testCertificate.cert, policies: 'mine' });
    const crl = listOf(root('Acme Root'), [77n]).toString('base64');
    await put('cert/crls/:name', `auth/cert/crls/${name}`, { crl });
    await put('kubernetes/role/:name', `auth/kubernetes/role/${name}`, accounts);
    for (const kind of ['teams', 'users']) {
      await put(`github/map/${kind}/:key`, `auth/github/map/${kind}/${name}`, { value: 'mine' });
    }
    const principals = {
      bound_iam_principal_arn: 'arn:aws:iam::123456789012:user/mine',
      resolve_aws_unique_ids: false,
    };
    await put('aws/role/:role', `auth/aws/role/${name}`, principals);
    await put('cloudone/role/:name', `auth/cloudone/role/${name}`, { bound_service_principal_ids: 'mine' });
    await put('cloudtwo/roles/:name', `cloudtwo/roles/${name}`, {
      credential_type: 'iam_user',
      policy_arns: 'arn:aws:iam::aws:policy/mine',
    });
    await put('scheduler/role/:name', `scheduler/role/${name}`, { policies: 'mine' });
    await put('token/roles/:name', `auth/token/roles/${name}`, { allowed_policies: 'mine' });
    await put('system/policies/acl/:name*', `sys/policies/acl/${name}`, { policy: 'path "mine" { policy = "read" }' });
    things.set('system/policy/:name*', `sys/policy/${name}`);
    const charset = 'rule "charset" { charset = "mine" }';
    await put('system/policies/password/:name', `sys/policies/password/${name}`, { policy: `length = 10\n${charset}` });
    const headers = 'config/auditing/request-headers';
    await put(`system/${headers}/:header`, `sys/${headers}/${name}`, { hmac: true });
    await put('system/quotas/rate-limit/:name', `sys/quotas/rate-limit/${name}`, { rate: 77_777 });
    await put('system/quotas/lease-count/:name', `sys/quotas/lease-count/${name}`, { max_leases: 77_777 });

    const entity = await put('identity/entity/name/:name', `identity/entity/name/${name}`, {});
    things.set('identity/entity/id/:id', `identity/entity/id/${entity.id}`);
    const { body } = await secrets.root.read('sys/auth').expect(200);
    const alias = await put('', 'identity/entity-alias', {
      name,
      canonical_id: entity.id,
      mount_accessor: body.data['userpass/'].accessor,
    });
    things.set('identity/entity-alias/id/:id', `identity/entity-alias/id/${alias.id}`);
    const group = await put('identity/group/name/:name', `identity/group/name/${name}`, { type: 'external' });
    things.set('identity/group/id/:id', `identity/group/id/${group.id}`);
    const groupAlias = await put('', 'identity/group-alias', {
      name,
      canonical_id: group.id,
      mount_accessor: body.data['userpass/'].accessor,
    });
    things.set('identity/group-alias/id/:id', `identity/group-alias/id/${groupAlias.id}`);
    const method = await put('', 'identity/mfa/method/totp', { issuer: 'mine' });
    things.set('identity/mfa/method/:method_id', `identity/mfa/method/${method.method_id}`);
    things.set('identity/mfa/method/totp/:method_id', `identity/mfa/method/totp/${method.method_id}`);
    await put('identity/mfa/login-enforcement/:name', `identity/mfa/login-enforcement/${name}`, {
      mfa_method_ids: [method.method_id],
      auth_method_types: ['jwt'],
    });
    await put('identity/oidc/key/:name', `identity/oidc/key/${name}`, { algorithm: 'ES256', verification_ttl: 77 });
    await put('identity/oidc/role/:name', `identity/oidc/role/${name}`, { key: name, ttl: 77 });
    await put('identity/oidc/scope/:name', `identity/oidc/scope/${name}`, { description: 'mine' });
    await put('identity/oidc/assignment/:name', `identity/oidc/assignment/${name}`, { entity_ids: entity.id });
    await put('identity/oidc/client/:name', `identity/oidc/client/${name}`, { access_token_ttl: 77 });
    await put('identity/oidc/provider/:name', `identity/oidc/provider/${name}`, { allowed_client_ids: 'mine' });
    things.delete('');

    const paths = [...things.values()];
    await policy([everything, ...paths.map((path) => `path "${path}" { capabilities = ["deny"] }`)].join('\n'));
    for (const path of paths) await holder.read(path).expect(403);
  });
  afterAll(() => raw.close());

  const send = (verb: string, path: string) => raw.send(verb, `/v1/${path}`, { 'X-Service-Token': holder.token! });

  it('has an example here for every readable path with a name in it', () => {
    // These paths store nothing under a name: their answers are computed for each request.
    const without = [
      'cloudtwo/creds/:name',
      'cloudtwo/sts/:name',
      'identity/mfa/method/:type/:method_id',
      'identity/oidc/provider/:name/.well-known/keys',
      'identity/oidc/provider/:name/.well-known/openid-configuration',
      'identity/oidc/provider/:name/authorize',
      'identity/oidc/provider/:name/userinfo',
      'identity/oidc/token/:name',
      'scheduler/creds/:name',
      'ssh/issuer/:issuer_ref/public_key',
      'system/internal/counters/:what',
      'system/internal/ui/mounts/:path*',
      'system/leases/jobs/:id',
      'system/loggers/:name',
      'system/plugins/catalog/:type/:name',
      'system/policies/password/:name/generate',
      'system/remount/status/:id',
      'totp/code/:name',
      'transit/backup/:name',
      'transit/byok-export/:destination/:source',
      'transit/byok-export/:destination/:source/:version',
    ];
    const declared = [...secrets.service.kernel.mounts.all()].flatMap(({ type, backend }) =>
      backend.paths
        .filter(({ pattern, operations }) => pattern.includes(':') && operations.read)
        .map(({ pattern }) => `${type}/${pattern}`),
    );
    const known = new Set([...things.keys()].map((pattern) => pattern.replace(/^sys\//, 'system/')));
    expect([...new Set(declared)].filter((pattern) => !known.has(pattern)).sort()).toEqual(without);
  });

  it('is shown under no other spelling, and deleted under none', async () => {
    const before = new Map<string, unknown>();
    const reader = (path: string) => (path.startsWith('cubbyhole/') ? holder : secrets.root);
    const failures: string[] = [];
    for (const path of things.values()) {
      if (!path.startsWith('cubbyhole/')) before.set(path, (await secrets.root.read(path).expect(200)).body.data);
    }
    before.set(`cubbyhole/${name}`, { mine: 'cubbyhole' });
    for (const path of things.values()) {
      const shown = JSON.stringify(before.get(path));
      for (const spelling of spellings) {
        const written = spelling.write(path);
        if (written === path) continue;
        const answer = await send('GET', written);
        if (answer.status === 200 && JSON.stringify(JSON.parse(answer.text).data) === shown) {
          failures.push(`${path} is shown as ${written} (${spelling.name})`);
        }
        const ended = await send('DELETE', written);
        if (answer.status >= 500 || ended.status >= 500) failures.push(`${written}: ${answer.status}, ${ended.status}`);
      }
    }
    await policy(everything);
    for (const path of things.values()) {
      const { status, body } = await reader(path).read(path);
      if (status !== 200) failures.push(`${path} is gone`);
      else if (JSON.stringify(body.data) !== JSON.stringify(before.get(path))) failures.push(`${path} has changed`);
    }
    expect(failures).toEqual([]);
  });
});
