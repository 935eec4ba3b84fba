import path from 'node:path';
import { asker, type FuzzSubject, withstandsMadeUpRequests } from '@keystead/testing';
import { authMethods, secretsEngines } from './auth-methods';
import { gardenOf } from './garden';
import { CloudStandIn } from './stand-ins/cloudtwo';
import { SchedulerStandIn } from './stand-ins/scheduler';

const shares = { recovery_shares: 5, recovery_threshold: 3 };
const verbs = '["create", "read", "update", "delete", "list", "patch", "sudo"]';
const refused = '[1000000, "1000000", -1, "x", "", "1e9"]';

/**
 * All operations except those that end the caller's token, seal the service or a namespace, or limit the rate of all
 * callers.
 */
const callerPolicy = `
path "*" { capabilities = ${verbs} }
path "auth/token/revoke-self" { capabilities = ["deny"] }
path "sys/seal" { capabilities = ["deny"] }
path "sys/step-down" { capabilities = ["deny"] }
path "sys/namespaces/api-lock/lock*" { capabilities = ["deny"] }
path "+/sys/namespaces/api-lock/lock*" { capabilities = ["deny"] }
path "+/+/sys/namespaces/api-lock/lock*" { capabilities = ["deny"] }
path "sys/policy/caller" { capabilities = ["deny"] }
path "sys/policies/acl/caller" { capabilities = ["deny"] }
path "sys/leases/revoke-prefix/auth*" { capabilities = ["deny"] }
path "sys/leases/revoke-force/auth*" { capabilities = ["deny"] }
path "sys/quotas/rate-limit/*" {
  capabilities = ${verbs}
  allowed_parameters = { "rate" = ${refused}, "*" = [] }
}
path "sys/quotas/lease-count/*" {
  capabilities = ${verbs}
  allowed_parameters = { "max_leases" = ${refused}, "*" = [] }
}
`;
const mounts: readonly (readonly [string, object])[] = [
  ['sys/mounts/one', { type: 'kv' }],
  ['sys/mounts/two', { type: 'kv', options: { version: '2' } }],
  ...secretsEngines.map((type) => [`sys/mounts/${type}`, { type }] as const),
  ['sys/mounts/scheduler', { type: 'scheduler' }],
  ['sys/mounts/cloudtwo', { type: 'cloudtwo' }],
  ...[...authMethods, 'cloudone'].map((type) => [`sys/auth/${type}`, { type }] as const),
];

const scheduler = new SchedulerStandIn();
const cloud = new CloudStandIn();

const subject: FuzzSubject = {
  name: 'secrets',
  main: path.resolve(__dirname, '../src/main.ts'),
  env: (url) => ({ AUDIT_TABLE: 'on', AUDIT_BY_API_DIRECTORY: '.', PUBLIC_URL: url }),
  async target({ service }) {
    await Promise.all([scheduler.start(), cloud.start()]);
    let root = '';
    const { ask, must } = asker(`${service.url}/v1`, () => ({ 'X-Service-Token': root }));
    const first = await must('POST', '/sys/init', shares);
    root = first.root_token;
    const wrapping = asker(`${service.url}/v1`, () => ({ 'X-Service-Token': root, 'X-Service-Wrap-TTL': '5m' }));
    const outside: readonly (readonly [string, object])[] = [
      ['/scheduler/config/access', { address: scheduler.address, token: scheduler.management }],
      ['/scheduler/role/ops', { policies: 'read' }],
      [
        '/cloudtwo/config/root',
        {
          access_key: cloud.rootKey.id,
          secret_key: cloud.rootKey.secret,
          region: 'eu-west-1',
          iam_endpoint: cloud.address,
          sts_endpoint: cloud.address,
        },
      ],
      ['/cloudtwo/roles/ops', { credential_type: 'iam_user', policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess' }],
    ];
    const restore = async () => {
      for (const [at, body] of mounts) await ask('POST', `/${at}`, body);
      for (const [at, body] of outside) await ask('POST', at, body);
      for (const kind of ['rate-limit', 'lease-count']) {
        const { body } = await ask('GET', `/sys/quotas/${kind}?list=true`);
        for (const name of body?.data?.keys ?? []) {
          await ask('DELETE', `/sys/quotas/${kind}/${encodeURIComponent(name)}`);
        }
      }
      const { body } = await ask('GET', '/sys/audit');
      for (const at of Object.keys(body?.data ?? {})) {
        if (at.startsWith('fuzz')) await ask('DELETE', `/sys/audit/${at}`);
      }
      return tend();
    };
    for (const [at, body] of mounts) await ask('POST', `/${at}`, body);
    const tend = gardenOf(
      {
        root: (method, at, body) =>
          method === 'WRAP' ? wrapping.must('POST', `/${at}`, body) : must(method, `/${at}`, body),
        as: (by, method, at, body) =>
          asker(`${service.url}/v1`, () => ({ 'X-Service-Token': by })).must(method, `/${at}`, body),
      },
      scheduler,
    );
    await must('POST', '/sys/policies/acl/caller', { policy: callerPolicy });
    // This caller may list tokens, so it sees accessors.
    const never = [root, (await must('GET', '/auth/token/lookup-self')).data.accessor];
    const make = async (): Promise<string> => {
      // With a period, so that renewing it for a second does not let it expire after one.
      const { auth } = await must('POST', '/auth/token/create', {
        policies: ['caller'],
        no_parent: true,
        period: '24h',
      });
      never.push(auth.client_token, auth.accessor);
      return auth.client_token;
    };
    const tokens = [await make(), await make(), await make(), await make()];
    const token = async () => tokens.pop() ?? make();
    // Created objects have short lifetimes, so that they do not make the service grow.
    await must('POST', '/sys/auth/token/tune', { default_lease_ttl: '20s' });

    const document = await must('GET', '/sys/internal/specs/openapi');
    // The answer of this operation has no end; separate tests cover its refusals.
    delete document.paths['/sys/monitor'];
    // A generated policy in a namespace would take precedence over the caller's own rules, and refuse everything there.
    for (const path of Object.keys(document.paths)) {
      if (path.startsWith('/sys/namespaces/api-lock/lock')) delete document.paths[path];
    }
    return {
      document,
      token,
      restore,
      place: {
        never,
        paths: {
          found: '/sys/health',
          missing: '/sys/policies/acl/not-there',
          writes: '/one/raw',
          self: '/auth/token/lookup-self',
        },
        dialect: {
          prefix: '/v1',
          token: { header: 'X-Service-Token', before: '' },
          hints: hints(cloud, service.folder, first.recovery_keys),
          fixed: {},
          parameters: {
            '/sys/plugins/catalog/{type} type': ['auth', 'secret', 'x'],
            '/sys/audit/{path} path': ['fuzz-a', 'fuzz-b'],
            '/sys/mounts/{path} path': mountNames,
            '/sys/auth/{path} path': mountNames,
            '/sys/namespaces/{path} path': ['ns-a', 'ns-b', 'ns-a/inner', 'ns_c'],
          },
          secrets: {},
          weights,
          // By the specification a user name that is too long for the provider is 500.
          faults: Object.fromEntries([
            ...['creds', 'sts'].flatMap((at) =>
              ['GET', 'POST'].map((verb): [string, number[]] => [`${verb} /cloudtwo/${at}/{name}`, [500]]),
            ),
            // This verifies the whole table, which may take long.
            ['POST /sys/audit-chain/verify', [504]],
            // Of two simultaneous requests to enable versions, one is refused because the upgrade is in progress.
            ['POST /sys/mounts/{path}/tune', [503]],
          ]),
          headers: {
            'X-Service-Namespace': ['ns-a', 'ns-b', 'ns-a/inner', '/', '..', ''],
            'X-Service-Wrap-TTL': ['60', '1s', '5m', '-1', 'x'],
            'X-Service-MFA': ['a:1', 'a', ':', 'a:b:c'],
            'X-Vault-Token': ['x'],
            'X-Forwarded-For': ['127.0.0.2', 'x'],
            Origin: ['http://example.com', 'null'],
          },
        },
      },
    };
  },
  async end() {
    await Promise.all([scheduler.stop(), cloud.stop()]);
  },
};
withstandsMadeUpRequests(subject);

const mountNames = ['fz-a', 'fz-b', 'fz/c', 'fz-a/d', 'one', 'sys', 'token'];

/** Operations that are rare because they are slow (key derivation), or because their objects are never deleted. */
const weights: Readonly<Record<string, number>> = {
  'POST /auth/userpass/login/{username}': 0.1,
  'POST /auth/userpass/users/{username}': 0.2,
  'POST /auth/userpass/users/{username}/password': 0.1,
  'DELETE /sys/mounts/{path}': 0.1,
  'DELETE /sys/auth/{path}': 0.1,
  'POST /sys/remount': 0.1,
  'POST /sys/rotate': 0.05,
  'POST /sys/rotate/keyring': 0.05,
  'GET /sys/internal/specs/openapi': 0.05,
  'POST /sys/internal/specs/openapi': 0.05,
  'POST /sys/audit-chain/verify': 0.1,
};

function hints(cloud: CloudStandIn, folder: string, shares: readonly string[]) {
  const policies = [
    'path "a/*" { capabilities = ["read", "list"] }',
    'path "+/b" { capabilities = ["deny"] }',
    'path "two/data/*" { capabilities = ["create", "update"] required_parameters = ["a"] denied_parameters = { "b" = [] } }',
    '{"path":{"x":{"capabilities":["read"]}}}',
  ];
  return {
    type: ['kv', 'kv-v2', 'userpass', 'approle', 'jwt', 'scheduler', 'cloudtwo', 'totp', 'file', 'token', 'internal'],
    policy: policies,
    rules: policies,
    rate: [1_000_000],
    max_leases: [1_000_000],
    options: [{ version: '2' }, { file_path: path.join(folder, 'a.log') }, {}],
    file_path: [path.join(folder, 'b.log')],
    policies: ['default', 'a', 'b', ['a', 'b']],
    token_policies: ['default', 'a'],
    ttl: ['5s', '20s', 10],
    period: ['10s', 5],
    explicit_max_ttl: ['30s'],
    token_ttl: ['5s'],
    token_max_ttl: ['30s'],
    wrap_ttl: ['30s'],
    password: ['correct horse', 'battery staple'],
    name: ['ops', 'a', 'b', 'fuzz-1', 'fuzz-2', 'with.dots', 'thing1', 'thing2'],
    key: shares,
    secret_shares: [1, 3],
    secret_threshold: [1, 2],
    what: ['tokens', 'entities', 'requests'],
    source: ['platform', 'seal', 'all'],
    access_key: [cloud.rootKey.id],
    secret_key: [cloud.rootKey.secret],
    iam_endpoint: [cloud.address, 'http://127.0.0.1:1'],
    sts_endpoint: [cloud.address],
    policy_arns: ['arn:aws:iam::aws:policy/ReadOnlyAccess'],
    role_arns: ['arn:aws:iam::123456789012:role/x'],
    policy_document: ['{"Version":"2012-10-17","Statement":[]}'],
    jwks_url: ['http://127.0.0.1:1/keys'],
    oidc_discovery_url: ['http://127.0.0.1:1'],
    bytes: [16, '32'],
    format: ['base64', 'hex'],
    input: ['aGVsbG8='],
    algorithm: ['sha2-256', 'sha2-512', 'sha3-256'],
    bound_cidrs: ['127.0.0.0/8'],
    metadata: [{ a: 'b' }],
    path: ['one/a', 'two/data/a', 'fz-a', 'sys/mounts'],
    data: [{ a: 'b' }, { a: { b: [1, null] } }],
    versions: [[1], [1, 2], '3'],
    cas: [0, 1],
  };
}
