import { testCertificate } from '@keystead/testing';
import { sshExamples } from './ssh-examples';
import { root as authority } from './stand-ins/authority';
import { listOf } from './stand-ins/revocation';
import { transitExamples } from './transit-examples';

const signer = authority('Acme Root');
const revocationList = (serial: bigint): string => listOf(signer, [serial]).toString('base64');

/** Creates the objects of an example; returns the answer's body, and throws if the request fails. */
export interface World {
  root(method: string, path: string, body?: object): Promise<Body>;
  /** The same with another token. */
  as(token: string, method: string, path: string, body?: object): Promise<Body>;
  /** An unused name. */
  fresh(): string;
  readonly schedulerAddress: string;
  readonly schedulerToken: string;
  readonly publicKey: string;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
type Body = any;

/** One operation called by many at once, always about the same object. */
export interface Example {
  /** Values of the path's parameters. */
  readonly at?: Readonly<Record<string, string>>;
  /** The body of the n-th call. */
  readonly body?: (n: number) => object;
  readonly token?: string;
  /** Whether each call takes nearly a second, because it hashes a password. */
  readonly slow?: boolean;
  /** Whether the request asks for a wrapped answer. */
  readonly wrap?: boolean;
  /**
   * Statuses that are right besides success: for later callers, if something can be done only once. No other refusal is right, because the object exists throughout.
   */
  readonly also?: readonly number[];
  /** Runs between the calls, for example to recreate objects that the calls remove. */
  readonly between?: () => Promise<{ status: number }>;
}

/** Prepares an object and returns the calls for it, or the reason why the operation is left out. */
export type Making = ((world: World) => Promise<Example> | Example) | string;

const outside = 'needs an outside system, and decides nothing by what is stored';
const passkeys = 'needs an authenticator, and is called by many at once by its own test';
const wholeInstallation = 'is about the whole installation, and tested by itself';
const asCalled =
  (param: string) =>
  (body: (n: number) => object): Making =>
  async (world) => ({ at: { [param]: world.fresh() }, body });
const asNamed = asCalled('name');
/** Configured, and never called. */
const farDatabase = {
  plugin_name: 'postgresql-database-plugin',
  connection_url: 'postgresql://127.0.0.1:1/far',
  username: 'far',
  verify_connection: false,
};
/** An AWS role that is bound by ARN, without a lookup. */
const principals = { bound_iam_principal_arn: 'arn:aws:iam::123456789012:user/a', resolve_aws_unique_ids: false };
const readsOnly =
  (body: object = {}): Making =>
  () => ({ body: () => body });
const pick = async (made: Promise<Body>, field: string): Promise<string> => (await made).data[field];

/** An existing object, named by its id. */
const byId =
  (path: string, idField: string, first: (name: string) => object, body?: (n: number) => object): Making =>
  async (world) => ({ at: { [idField]: await pick(world.root('POST', path, first(world.fresh())), 'id') }, body });

const token = (world: World, fields: object = {}): Promise<{ client_token: string; accessor: string }> =>
  world.root('POST', 'auth/token/create', { policies: ['default'], ttl: '1h', ...fields }).then(({ auth }) => auth);
const lease = async (world: World): Promise<string> => (await world.root('GET', 'scheduler/creds/ops')).lease_id;
const accessorOf = async (world: World, mount: string): Promise<string> =>
  (await world.root('GET', 'sys/auth')).data[mount].accessor;
const role = async (world: World): Promise<string> => {
  const name = world.fresh();
  await world.root('POST', `auth/approle/role/${name}`, { policies: 'default', secret_id_bound_cidrs: '127.0.0.1/32' });
  return name;
};
const roleField =
  (body: (n: number) => object): Making =>
  async (world) => ({ at: { role_name: await role(world) }, body });
const resetField: Making = async (world) => ({ at: { role_name: await role(world) } });
const secretId = async (world: World, name: string): Promise<{ secret_id: string; secret_id_accessor: string }> =>
  (await world.root('POST', `auth/approle/role/${name}/secret-id`)).data;
const ofSecretId =
  (field: 'secret_id' | 'secret_id_accessor', also: readonly number[] = []): Making =>
  async (world) => {
    const role_name = await role(world);
    const made = await secretId(world, role_name);
    return { at: { role_name }, body: () => ({ [field]: made[field] }), also };
  };
const oneLease =
  (where: 'body' | 'path', also: readonly number[] = []): Making =>
  async (world) => {
    const lease_id = await lease(world);
    return where === 'body' ? { body: () => ({ lease_id }), also } : { at: { lease_id }, also };
  };
const secret = async (world: World): Promise<string> => {
  const path = world.fresh();
  await world.root('POST', `two/data/${path}`, { data: { a: '1' } });
  await world.root('POST', `two/data/${path}`, { data: { a: '2' } });
  return path;
};
const versionsOf: Making = async (world) => ({ at: { path: await secret(world) }, body: () => ({ versions: [1] }) });
const mount = async (world: World, kind: 'mounts' | 'auth'): Promise<string> => {
  const path = world.fresh();
  await world.root('POST', `sys/${kind}/${path}`, { type: kind === 'mounts' ? 'kv' : 'userpass' });
  return path;
};
const madeAgain =
  (path: (world: World) => Promise<Pick<Example, 'at' | 'also'> & { path: string; body: object }>): Making =>
  async (world) => {
    const { at, also, path: where, body } = await path(world);
    const between = () =>
      world.root('POST', where, body).then(
        () => ({ status: 204 }),
        (error: { status: number }) => error,
      );
    await between();
    return { at, also, between };
  };
/** A named object that all callers remove and some create again. */
const removedByName = (path: string, body: object = {}, field = 'name', also: readonly number[] = []): Making =>
  madeAgain(async (world) => {
    const name = world.fresh();
    return { at: { [field]: name }, path: `${path}/${name}`, body, also };
  });
const policy = 'path "cubbyhole/*" { capabilities = ["read"] }';
const newMethod = (world: World) =>
  pick(world.root('POST', 'identity/mfa/method/totp', { issuer: 'Acme', qr_size: 0 }), 'method_id');
const entity = async (world: World): Promise<string> =>
  pick(world.root('POST', 'identity/entity', { name: world.fresh() }), 'id');
const methodAndEntity =
  (also: readonly number[] = []): Making =>
  async (world) => {
    const fields = { method_id: await newMethod(world), entity_id: await entity(world) };
    await world.root('POST', 'identity/mfa/method/totp/admin-generate', fields);
    return { body: () => fields, also };
  };
const once = [400] as const;
/** An application, its request, and an entity that may sign in to it. */
const application = async (world: World) => {
  const name = world.fresh();
  const redirect_uri = 'https://app.example/back';
  const policy = 'path "identity/oidc/provider/+/authorize" { capabilities = ["read", "update"] }';
  await world.root('POST', `sys/policies/acl/${name}`, { policy });
  await world.root('POST', `auth/userpass/users/${name}`, { password: 'p4ssw0rd-long', token_policies: name });
  const { auth } = await world.root('POST', `auth/userpass/login/${name}`, { password: 'p4ssw0rd-long' });
  const fields = { redirect_uris: redirect_uri, assignments: 'allow_all' };
  await world.root('POST', `identity/oidc/client/${name}`, fields);
  await world.root('POST', 'identity/oidc/provider/default', { issuer: 'https://secrets.example' });
  const { client_id, client_secret } = (await world.root('GET', `identity/oidc/client/${name}`)).data;
  const asked = { client_id, redirect_uri, response_type: 'code', scope: 'openid' };
  return { asked, client_secret, token: auth.client_token as string };
};
const fileDevice = (name: string) => ({ type: 'file', options: { file_path: `${name}.log` } });

/** How each writing operation is called, by verb, type of its mount, and pattern. */
export const examples: Readonly<Record<string, Making>> = {
  'write cubbyhole/:path*': (world) => ({ at: { path: world.fresh() }, body: (n) => ({ n }) }),
  'delete cubbyhole/:path*': removedByName('cubbyhole', { a: 1 }, 'path'),
  'write kv/:path*': (world) => ({ at: { path: world.fresh() }, body: (n) => ({ n }) }),
  'delete kv/:path*': removedByName('one', { a: 1 }, 'path'),
  'write kv/config': readsOnly({ max_versions: 10 }),
  'write kv/data/:path*': (world) => ({ at: { path: world.fresh() }, body: (n) => ({ data: { n } }) }),
  'patch kv/data/:path*': async (world) => ({ at: { path: await secret(world) }, body: (n) => ({ data: { n } }) }),
  'delete kv/data/:path*': removedByName('two/data', { data: { a: 1 } }, 'path'),
  'write kv/delete/:path*': versionsOf,
  'write kv/move': async (world) => {
    const [from, to] = [await secret(world), world.fresh()];
    return { body: (n) => (n % 2 === 0 ? { from, to } : { from: to, to: from }), also: [404] };
  },
  'write kv/copy': async (world) => {
    const from = await secret(world);
    return { body: (n) => ({ from, to: `${from}-${n}` }) };
  },
  'write kv/undelete/:path*': versionsOf,
  'write kv/destroy/:path*': versionsOf,
  'write kv/metadata/:path*': (world) => ({
    at: { path: world.fresh() },
    body: (n) => ({ custom_metadata: { n: `${n}` } }),
  }),
  'patch kv/metadata/:path*': async (world) => ({
    at: { path: await secret(world) },
    body: (n) => ({ custom_metadata: { [`k${n % 7}`]: `${n}` } }),
  }),
  'delete kv/metadata/:path*': removedByName('two/data', { data: { a: 1 } }, 'path'),

  'write identity/entity': (world) => {
    const name = world.fresh();
    return { body: (n) => ({ name, metadata: { n: `${n}` } }) };
  },
  'write identity/entity/id/:id': byId(
    'identity/entity',
    'id',
    (name) => ({ name }),
    (n) => ({ metadata: { n: `${n}` } }),
  ),
  'delete identity/entity/id/:id': byId('identity/entity', 'id', (name) => ({ name })),
  'write identity/entity/name/:name': asNamed((n) => ({ metadata: { n: `${n}` } })),
  'delete identity/entity/name/:name': removedByName('identity/entity/name'),
  'write identity/entity/batch-delete': async (world) => {
    const ids = [await entity(world), await entity(world)];
    return { body: (n) => ({ entity_ids: n % 2 ? ids : [...ids].reverse() }) };
  },
  'write identity/entity/merge': async (world) => {
    const [from, to] = [await entity(world), await entity(world)];
    return { body: () => ({ from_entity_ids: [from], to_entity_id: to }), also: once };
  },
  'write identity/entity-alias': async (world) => {
    const fields = { name: world.fresh(), mount_accessor: await accessorOf(world, 'userpass/') };
    const canonical_id = await entity(world);
    return { body: (n) => ({ ...fields, canonical_id, custom_metadata: { n: `${n}` } }) };
  },
  'write identity/entity-alias/id/:id': async (world) => {
    const fields = { name: world.fresh(), mount_accessor: await accessorOf(world, 'userpass/') };
    const canonical_id = await entity(world);
    const id = await pick(world.root('POST', 'identity/entity-alias', { ...fields, canonical_id }), 'id');
    return { at: { id }, body: (n) => ({ ...fields, canonical_id, custom_metadata: { n: `${n}` } }) };
  },
  'delete identity/entity-alias/id/:id': async (world) => {
    const fields = { name: world.fresh(), mount_accessor: await accessorOf(world, 'userpass/') };
    return { at: { id: await pick(world.root('POST', 'identity/entity-alias', fields), 'id') } };
  },
  'write identity/group': async (world) => {
    const name = world.fresh();
    const member = await entity(world);
    return { body: (n) => ({ name, metadata: { n: `${n}` }, member_entity_ids: n % 2 ? [member] : [] }) };
  },
  'write identity/group/id/:id': byId(
    'identity/group',
    'id',
    (name) => ({ name }),
    (n) => ({ metadata: { n: `${n}` } }),
  ),
  'delete identity/group/id/:id': byId('identity/group', 'id', (name) => ({ name })),
  'write identity/group/name/:name': asNamed((n) => ({ metadata: { n: `${n}` } })),
  'delete identity/group/name/:name': removedByName('identity/group/name'),
  'write identity/group-alias': async (world) => {
    const group = await pick(world.root('POST', 'identity/group', { name: world.fresh(), type: 'external' }), 'id');
    const fields = { name: world.fresh(), mount_accessor: await accessorOf(world, 'userpass/'), canonical_id: group };
    return { body: () => fields, also: once };
  },
  'write identity/group-alias/id/:id': async (world) => {
    const group = await pick(world.root('POST', 'identity/group', { name: world.fresh(), type: 'external' }), 'id');
    const fields = { name: world.fresh(), mount_accessor: await accessorOf(world, 'userpass/'), canonical_id: group };
    return { at: { id: await pick(world.root('POST', 'identity/group-alias', fields), 'id') }, body: () => fields };
  },
  'delete identity/group-alias/id/:id': async (world) => {
    const group = await pick(world.root('POST', 'identity/group', { name: world.fresh(), type: 'external' }), 'id');
    const fields = { name: world.fresh(), mount_accessor: await accessorOf(world, 'userpass/'), canonical_id: group };
    return { at: { id: await pick(world.root('POST', 'identity/group-alias', fields), 'id') } };
  },
  'write identity/lookup/entity': async (world) => {
    const id = await entity(world);
    return { body: () => ({ id }) };
  },
  'write identity/lookup/group': async (world) => {
    const id = await pick(world.root('POST', 'identity/group', { name: world.fresh() }), 'id');
    return { body: () => ({ id }) };
  },
  'write identity/mfa/method/totp': (world) => {
    const method_name = world.fresh();
    return { body: () => ({ method_name, issuer: 'Acme' }) };
  },
  'write identity/mfa/method/totp/:method_id': async (world) => ({
    at: { method_id: await newMethod(world) },
    body: (n) => ({ skew: n % 2 }),
  }),
  'delete identity/mfa/method/totp/:method_id': async (world) => ({
    at: { method_id: await newMethod(world) },
    also: [404],
  }),
  'write identity/mfa/method/totp/generate': async (world) => {
    const user = world.fresh();
    const userpass = await accessorOf(world, 'userpass/');
    await world.root('POST', `auth/userpass/users/${user}`, { password: 'long enough', policies: 'everything' });
    await world.root('POST', 'identity/entity-alias', { name: user, mount_accessor: userpass });
    const { auth } = await world.root('POST', `auth/userpass/login/${user}`, { password: 'long enough' });
    const method_id = await newMethod(world);
    return { body: () => ({ method_id }), token: auth.client_token };
  },
  'write identity/mfa/method/totp/admin-generate': async (world) => {
    const fields = { method_id: await newMethod(world), entity_id: await entity(world) };
    return { body: () => fields };
  },
  'write identity/mfa/method/totp/admin-destroy': methodAndEntity(),
  'write identity/mfa/method/totp/admin-unlock': methodAndEntity(),
  'write identity/mfa/method/totp/self-enroll': 'continues a login that waits; see mfa-nodes.thorough.test.ts',
  'write identity/mfa/login-enforcement/:name': async (world) => {
    const fields = { mfa_method_ids: [await newMethod(world)], identity_entity_ids: [await entity(world)] };
    return { at: { name: world.fresh() }, body: () => fields };
  },
  'delete identity/mfa/login-enforcement/:name': async (world) => {
    const fields = { mfa_method_ids: [await newMethod(world)], identity_entity_ids: [await entity(world)] };
    const name = world.fresh();
    await world.root('POST', `identity/mfa/login-enforcement/${name}`, fields);
    return { at: { name }, also: [404] };
  },

  'write identity/oidc/config': readsOnly({ issuer: 'https://secrets.example' }),
  'write identity/oidc/key/:name': asNamed((n) => ({
    algorithm: 'ES256',
    rotation_period: 3600 + n,
    verification_ttl: 60,
  })),
  'delete identity/oidc/key/:name': removedByName('identity/oidc/key', { algorithm: 'ES256' }),
  'write identity/oidc/key/:name/rotate': async (world) => {
    const name = world.fresh();
    await world.root('POST', `identity/oidc/key/${name}`, { algorithm: 'ES256' });
    return { at: { name } };
  },
  'write identity/oidc/role/:name': asNamed((n) => ({ key: 'default', ttl: n + 1 })),
  'delete identity/oidc/role/:name': removedByName('identity/oidc/role', { key: 'default' }),
  'write identity/oidc/introspect': readsOnly({ token: 'a.b.c' }),
  'write identity/oidc/scope/:name': asNamed((n) => ({ description: `${n}` })),
  'delete identity/oidc/scope/:name': removedByName('identity/oidc/scope'),
  'write identity/oidc/assignment/:name': async (world) => {
    const group_ids = [await entity(world)];
    return { at: { name: world.fresh() }, body: () => ({ group_ids }) };
  },
  'delete identity/oidc/assignment/:name': removedByName('identity/oidc/assignment'),
  'write identity/oidc/client/:name': asNamed((n) => ({ access_token_ttl: n + 1 })),
  'delete identity/oidc/client/:name': removedByName('identity/oidc/client'),
  'write identity/oidc/provider/:name': asNamed((n) => ({ allowed_client_ids: [`${n}`] })),
  'delete identity/oidc/provider/:name': removedByName('identity/oidc/provider'),
  'write identity/oidc/provider/:name/authorize': async (world) => {
    const { asked, token } = await application(world);
    return { at: { name: 'default' }, body: () => asked, token };
  },
  'write identity/oidc/provider/:name/token': async (world) => {
    const { asked, token, client_secret } = await application(world);
    const { code } = await world.as(token, 'POST', 'identity/oidc/provider/default/authorize', asked);
    const body = { grant_type: 'authorization_code', code, client_secret, ...asked };
    // One of the calls uses the code first, and the others are refused.
    return { at: { name: 'default' }, body: () => body, also: once };
  },
  'write identity/oidc/provider/:name/userinfo': async (world) => {
    const { asked, token, client_secret } = await application(world);
    const { code } = await world.as(token, 'POST', 'identity/oidc/provider/default/authorize', asked);
    const body = { grant_type: 'authorization_code', code, client_secret, ...asked };
    const { access_token } = await world.root('POST', 'identity/oidc/provider/default/token', body);
    return { at: { name: 'default' }, token: access_token };
  },

  'write system/init': wholeInstallation,
  'write system/unseal': wholeInstallation,
  'write system/seal': wholeInstallation,
  'write system/step-down': readsOnly(),
  'write system/mounts/:path*': (world) => ({ at: { path: world.fresh() }, body: () => ({ type: 'kv' }), also: once }),
  'delete system/mounts/:path*': async (world) => ({ at: { path: await mount(world, 'mounts') } }),
  'write system/mounts/:path*/tune': async (world) => ({
    at: { path: await mount(world, 'mounts') },
    body: (n) => ({ description: `${n}` }),
  }),
  'write system/auth/:path*': (world) => ({
    at: { path: world.fresh() },
    body: () => ({ type: 'userpass' }),
    also: once,
  }),
  'delete system/auth/:path*': async (world) => ({ at: { path: await mount(world, 'auth') } }),
  'write system/auth/:path*/tune': async (world) => ({
    at: { path: await mount(world, 'auth') },
    body: (n) => ({ description: `${n}` }),
  }),
  'write system/wrapping/wrap': () => ({ wrap: true, body: () => ({ a: 1 }) }),
  'write system/wrapping/lookup': async (world) => wrapping(world),
  'write system/wrapping/unwrap': async (world) => ({ ...(await wrapping(world)), also: once }),
  'write system/wrapping/rewrap': async (world) => ({ ...(await wrapping(world)), also: once }),
  'write system/remount': async (world) => {
    const [from, to] = [await mount(world, 'mounts'), world.fresh()];
    return { body: () => ({ from, to }), also: once };
  },
  'write system/namespaces/:path*': (world) => ({
    at: { path: world.fresh() },
    body: (n) => ({ custom_metadata: { n: `${n}` } }),
  }),
  'write system/namespaces/api-lock/lock': 'is refused in the root namespace, and the same as for those below',
  'write system/namespaces/api-lock/unlock': 'is refused in the root namespace, and the same as for those below',
  'write system/namespaces/api-lock/lock/:path*': async (world) => {
    const path = world.fresh();
    await world.root('POST', `sys/namespaces/${path}`);
    return { at: { path }, also: once };
  },
  'write system/namespaces/api-lock/unlock/:path*': async (world) => {
    const path = world.fresh();
    await world.root('POST', `sys/namespaces/${path}`);
    await world.root('POST', `sys/namespaces/api-lock/lock/${path}`);
    return { at: { path }, also: once };
  },
  'patch system/namespaces/:path*': async (world) => {
    const path = world.fresh();
    await world.root('POST', `sys/namespaces/${path}`);
    return { at: { path }, body: (n) => ({ custom_metadata: { [`k${n % 7}`]: `${n}` } }) };
  },
  'delete system/namespaces/:path*': removedByName('sys/namespaces', {}, 'path'),
  'write system/audit/:path*': (world) => {
    const path = world.fresh();
    return { at: { path }, body: () => fileDevice(path), also: once };
  },
  'delete system/audit/:path*': async (world) => {
    const path = world.fresh();
    // This call is refused while the device still exists.
    const between = () =>
      world.root('POST', `sys/audit/${path}`, fileDevice(path)).then(
        () => ({ status: 204 }),
        ({ status }: { status: number }) => ({ status: status === 400 ? 204 : status }),
      );
    await between();
    return { at: { path }, between };
  },
  'write system/audit-hash/:path*': async (world) => {
    const path = world.fresh();
    await world.root('POST', `sys/audit/${path}`, fileDevice(path));
    return { at: { path }, body: () => ({ input: 'x' }) };
  },
  'write system/config/auditing/request-headers/:header': (world) => ({
    at: { header: world.fresh() },
    body: (n) => ({ hmac: n % 2 === 0 }),
  }),
  'delete system/config/auditing/request-headers/:header': removedByName(
    'sys/config/auditing/request-headers',
    {},
    'header',
  ),
  'write system/audit-chain/verify': 'reads the chained table; see audit-chain.test.ts',
  'write system/tools/hash': readsOnly({ input: 'YQ==' }),
  'write system/tools/hash/:algorithm': () => ({ at: { algorithm: 'sha2-256' }, body: () => ({ input: 'YQ==' }) }),
  'write system/tools/random': readsOnly(),
  'write system/tools/random/:source': () => ({ at: { source: 'all' } }),
  'write system/tools/random/:source/:bytes': () => ({ at: { source: 'all', bytes: '8' } }),
  'write system/internal/specs/openapi': 'is made for each mount once, and decides nothing',
  'write system/config/cors': readsOnly({ allowed_origins: 'https://console.example.com' }),
  'delete system/config/cors': readsOnly(),
  'write system/loggers': readsOnly({ level: 'error' }),
  'delete system/loggers': readsOnly(),
  'write system/loggers/:name': () => ({ at: { name: 'secrets' }, body: () => ({ level: 'error' }) }),
  'delete system/loggers/:name': () => ({ at: { name: 'secrets' } }),
  ...Object.fromEntries(
    ['rekey-recovery-key', 'rekey', 'rotate/recovery', 'rotate/root'].flatMap((ceremony) => [
      [`write system/${ceremony}/init`, 'is a ceremony; see rekey-nodes.thorough.test.ts'],
      [`delete system/${ceremony}/init`, readsOnly()],
      [`write system/${ceremony}/update`, 'is a ceremony; see rekey-nodes.thorough.test.ts'],
      [`write system/${ceremony}/verify`, 'is a ceremony; see rekey-nodes.thorough.test.ts'],
      [`delete system/${ceremony}/verify`, 'is a ceremony; see rekey-nodes.thorough.test.ts'],
      [`write system/${ceremony}/check`, 'reads shares only'],
      [`delete system/${ceremony}/backup`, readsOnly()],
    ]),
  ),
  'delete system/rekey/recovery-key-backup': readsOnly(),
  'write system/rotate': readsOnly(),
  'write system/rotate/keyring': readsOnly(),
  'write system/rotate/config': () => ({ body: (n) => ({ max_operations: 2_000_000 + n }) }),
  'write system/rotate/keyring/config': () => ({ body: (n) => ({ interval: `${24 + n}h` }) }),
  'delete system/plugins/catalog/:type/:name': () => ({ at: { type: 'secret', name: 'absent' } }),
  'write system/plugins/reload/backend': readsOnly({ plugin: 'scheduler' }),
  'write system/locked-users/:mount_accessor/unlock/:alias_identifier': async (world) => ({
    at: { mount_accessor: await accessorOf(world, 'userpass/'), alias_identifier: 'unknown' },
  }),
  'write system/generate-root/attempt': () => ({ also: once }),
  'delete system/generate-root/attempt': readsOnly(),
  'write system/generate-root/update': 'is a ceremony; see rekey-nodes.thorough.test.ts',
  'write system/generate-root-token/attempt': () => ({ also: once }),
  'delete system/generate-root-token/attempt': readsOnly(),
  'write system/generate-root-token/update': 'is a ceremony; see rekey-nodes.thorough.test.ts',
  'write system/policies/password/:name': asNamed((n) => ({
    policy: `length = ${10 + (n % 90)}\nrule "charset" { charset = "abc" }`,
  })),
  'delete system/policies/password/:name': removedByName('sys/policies/password', {
    policy: 'length = 10\nrule "charset" { charset = "abc" }',
  }),
  'write system/leases/lookup': oneLease('body'),
  'write system/leases/renew': oneLease('body'),
  'write system/leases/renew/:lease_id*': oneLease('path'),
  'write system/renew': oneLease('body'),
  'write system/renew/:lease_id*': oneLease('path'),
  'write system/leases/revoke': oneLease('body'),
  'write system/leases/revoke/:lease_id*': oneLease('path'),
  'write system/revoke': oneLease('body'),
  'write system/revoke/:lease_id*': oneLease('path'),
  'write system/leases/revoke-prefix/:prefix*': async (world) => {
    await lease(world);
    return { at: { prefix: 'scheduler/creds/ops' }, body: () => ({ sync: true }) };
  },
  'write system/leases/revoke-force/:prefix*': async (world) => {
    await lease(world);
    return { at: { prefix: 'scheduler/creds/ops' }, body: () => ({ sync: true }) };
  },
  'write system/leases/replay': readsOnly(),
  'write system/leases/tidy': readsOnly(),
  'write system/quotas/config': readsOnly({ rate_limit_exempt_paths: ['sys/health'] }),
  'write system/quotas/rate-limit/:name': asNamed((n) => ({ rate: 1_000_000 + n, path: 'one/' })),
  'delete system/quotas/rate-limit/:name': removedByName('sys/quotas/rate-limit', { rate: 1_000_000, path: 'two/' }),
  'write system/quotas/lease-count/:name': asNamed((n) => ({ max_leases: 1_000_000 + n, path: 'one/' })),
  'delete system/quotas/lease-count/:name': removedByName('sys/quotas/lease-count', {
    max_leases: 1_000_000,
    path: 'two/',
  }),
  'write system/policies/acl/:name*': asNamed((n) => ({ policy: `# ${n}\n${policy}` })),
  'delete system/policies/acl/:name*': removedByName('sys/policies/acl', { policy }),
  'write system/policy/:name*': asNamed((n) => ({ policy: `# ${n}\n${policy}` })),
  'delete system/policy/:name*': removedByName('sys/policy', { policy }),
  'write system/capabilities': async (world) => ofToken(world, (auth) => ({ paths: ['a'], token: auth.client_token })),
  'write system/capabilities-accessor': async (world) =>
    ofToken(world, (auth) => ({ paths: ['a'], accessor: auth.accessor })),
  'write system/capabilities-self': readsOnly({ paths: ['a'] }),
  'write system/policies/who-may': readsOnly({ path: 'a', operation: 'read' }),
  'write system/policies/explain': readsOnly({ path: 'a', operation: 'read' }),
  'write system/mfa/validate': 'continues a login that waits; see mfa-nodes.thorough.test.ts',

  'write token/create': readsOnly({ ttl: '1m' }),
  'write token/create-orphan': readsOnly({ ttl: '1m' }),
  'write token/create/:role': async (world) => {
    const name = world.fresh();
    await world.root('POST', `auth/token/roles/${name}`);
    return { at: { role: name }, body: () => ({ ttl: '1m' }) };
  },
  'write token/lookup': async (world) => ofToken(world, (auth) => ({ token: auth.client_token })),
  'write token/lookup-self': readsOnly(),
  'write token/lookup-accessor': async (world) => ofToken(world, ({ accessor }) => ({ accessor })),
  'write token/renew': async (world) => ofToken(world, (auth) => ({ token: auth.client_token })),
  'write token/renew-self': async (world) => ({ token: (await token(world)).client_token }),
  'write token/renew-accessor': async (world) => ofToken(world, ({ accessor }) => ({ accessor })),
  'write token/revoke': async (world) => ofToken(world, (auth) => ({ token: auth.client_token })),
  'write token/revoke-self': async (world) => ({ token: (await token(world)).client_token, also: [403] }),
  'write token/revoke-accessor': async (world) => ofToken(world, ({ accessor }) => ({ accessor })),
  'write token/revoke-orphan': async (world) => ({
    ...(await ofToken(world, (auth) => ({ token: auth.client_token }))),
    also: once,
  }),
  'write token/tidy': readsOnly(),
  'write token/roles/:name': asNamed((n) => ({ path_suffix: `suffix${n}` })),
  'delete token/roles/:name': removedByName('auth/token/roles'),

  'write cloudone/config': readsOnly({ tenant_id: 'contoso.example', resource: 'https://resource.example' }),
  'delete cloudone/config': readsOnly(),
  'write cloudone/role/:name': asNamed(() => ({ bound_group_ids: ['a'] })),
  'delete cloudone/role/:name': removedByName('auth/cloudone/role', { bound_group_ids: ['a'] }),
  'write cloudone/login': outside,
  'write scheduler/config/access': (world) => ({
    body: () => ({ address: world.schedulerAddress, token: world.schedulerToken }),
  }),
  'delete scheduler/config/access': 'would take the scheduler from the examples of leases',
  'write scheduler/config/lease': readsOnly({ ttl: '1h', max_ttl: '2h' }),
  'delete scheduler/config/lease': readsOnly(),
  'write scheduler/role/:name': asNamed(() => ({ policies: 'read' })),
  ...sshExamples,
  'write kubernetes-accounts/config': readsOnly({ kubernetes_host: 'https://cluster.invalid' }),
  'delete kubernetes-accounts/config': readsOnly(),
  'write kubernetes-accounts/roles/:name': asNamed(() => ({
    allowed_kubernetes_namespaces: 'shop',
    service_account_name: 'web',
  })),
  'delete kubernetes-accounts/roles/:name': removedByName('kubernetes/roles', {
    allowed_kubernetes_namespaces: 'shop',
    service_account_name: 'web',
  }),
  'write kubernetes-accounts/creds/:name': outside,
  ...transitExamples,
  'write database/config/:name': asNamed((n) => ({ ...farDatabase, max_open_connections: n + 1 })),
  'delete database/config/:name': removedByName('database/config', farDatabase),
  'write database/config/:name/verify': outside,
  'write database/reset/:name': async (world) => {
    const name = world.fresh();
    await world.root('POST', `database/config/${name}`, farDatabase);
    return { at: { name } };
  },
  'write database/rotate-root/:name': outside,
  'write database/roles/:name': asNamed((n) => ({ db_name: 'far', default_ttl: n + 1 })),
  'delete database/roles/:name': removedByName('database/roles', { db_name: 'far' }),
  'write database/roles/:name/dry-run': outside,
  'write database/static-roles/:name': outside,
  'delete database/static-roles/:name': outside,
  'write database/rotate-role/:name': 'asks a database; backends/database has two nodes that do it at once',
  'write totp/keys/:name': asNamed((n) => ({ key: 'JBSWY3DPEHPK3PXP', period: 30 + n })),
  'delete totp/keys/:name': removedByName('totp/keys', { key: 'JBSWY3DPEHPK3PXP' }),
  'write totp/code/:name': async (world) => {
    const name = world.fresh();
    await world.root('POST', `totp/keys/${name}`, { key: 'JBSWY3DPEHPK3PXP', period: 86_400 });
    const { code } = (await world.root('GET', `totp/code/${name}`)).data;
    return { at: { name }, body: () => ({ code }), also: [400] };
  },

  'write pki/roles/:name': asNamed((n) => ({ ttl: n + 1 })),
  'patch pki/roles/:name': async (world) => {
    const name = world.fresh();
    await world.root('POST', `pki/roles/${name}`, {});
    return { at: { name }, body: (n) => ({ ttl: n + 1 }) };
  },
  'delete pki/roles/:name': removedByName('pki/roles', {}),
  'write pki/root/generate/:exported': ofKind('root'),
  'write pki/issuers/generate/root/:exported': ofKind('root'),
  'write pki/root/rotate/:exported': ofKind('root'),
  'write pki/intermediate/generate/:exported': ofKind('below'),
  'write pki/issuers/generate/intermediate/:exported': ofKind('below'),
  'write pki/keys/generate/:kind': () => ({ at: { kind: 'internal' }, body: () => ({ key_type: 'ec' }) }),
  'write pki/issuer/:ref': issuerBy((n) => ({ leaf_not_after_behavior: n % 2 === 0 ? 'truncate' : 'err' })),
  'patch pki/issuer/:ref': issuerBy((n) => ({ leaf_not_after_behavior: n % 2 === 0 ? 'truncate' : 'err' })),
  'delete pki/issuer/:ref': issuerBy(),
  'write pki/issuer/:ref/revoke': issuerBy(),
  'write pki/key/:ref': async (world) => {
    const { data } = await world.root('POST', 'pki/keys/generate/internal', { key_type: 'ec' });
    return { at: { ref: data.key_id }, body: (n) => ({ key_name: `key-${data.key_id}-${n}` }) };
  },
  'delete pki/key/:ref': async (world) => {
    const { data } = await world.root('POST', 'pki/keys/generate/internal', { key_type: 'ec' });
    return { at: { ref: data.key_id } };
  },
  'write pki/config/issuers': async (world) => {
    const { data } = await world.root('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
    return { body: () => ({ default: data.issuer_id }) };
  },
  'write pki/config/keys': async (world) => {
    const { data } = await world.root('POST', 'pki/keys/generate/internal', { key_type: 'ec' });
    return { body: () => ({ default: data.key_id }) };
  },
  'write pki/root/replace': async (world) => {
    const { data } = await world.root('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
    return { body: () => ({ default: data.issuer_id }) };
  },
  'write pki/issue/:role': async (world) => ({
    at: { role: await pkiRole(world) },
    body: () => ({ common_name: 'a.test' }),
  }),
  'write pki/roles/:role/dry-run': async (world) => ({
    at: { role: await pkiRole(world) },
    body: () => ({ common_name: 'a.test' }),
  }),
  'write pki/revoke': async (world) => {
    const { data } = await world.root('POST', `pki/issue/${await pkiRole(world)}`, { common_name: 'a.test' });
    return { body: () => ({ serial_number: data.serial_number }) };
  },
  'write pki/certs/import': async (world) => {
    const { data } = await world.root('POST', `pki/issue/${await pkiRole(world)}`, { common_name: 'a.test' });
    return { body: () => ({ certificates: [{ certificate: data.certificate, revocation_time: 1_700_000_000 }] }) };
  },
  'write pki/crl/rotate': readsOnly(),
  'write pki/crl/rotate-delta': readsOnly(),
  'write pki/config/crl': readsOnly({ expiry: '48h' }),
  'write pki/config/urls': readsOnly({ ocsp_servers: 'http://ocsp.example' }),
  'write pki/config/cluster': readsOnly({ path: 'https://keys.example/v1/pki' }),
  'write pki/config/auto-tidy': readsOnly({ tidy_cert_store: true }),
  'write pki/tidy': readsOnly({ tidy_cert_store: true }),
  'write pki/tidy-cancel': readsOnly(),
  'delete pki/root': 'would take the issuers from the other examples',
  ...Object.fromEntries(
    [
      'intermediate/cross-sign',
      'root/sign-intermediate',
      'issuer/:ref/sign-intermediate',
      'root/sign-self-issued',
      'issuer/:ref/sign-self-issued',
      'issuer/:ref/issue/:role',
      'sign/:role',
      'issuer/:ref/sign/:role',
      'sign-verbatim',
      'sign-verbatim/:role',
      'issuer/:ref/sign-verbatim',
      'issuer/:ref/sign-verbatim/:role',
      'issuer/:ref/resign-crls',
      'issuer/:ref/sign-revocation-list',
      'ocsp',
    ].map((at) => [`write pki/${at}`, 'signs something new with every call, like its neighbour that is called']),
  ),
  ...Object.fromEntries(
    ['issuers/import/cert', 'issuers/import/bundle', 'config/ca', 'intermediate/set-signed', 'keys/import'].map(
      (at) => [`write pki/${at}`, 'imports once, in the same decision as root/generate'],
    ),
  ),
  'write pki/revoke-with-key': 'decides like revoke',
  'write pki/config/acme': readsOnly({ dns_resolver: '192.0.2.53:53' }),
  ...Object.fromEntries(
    ['', 'roles/:role/', 'issuer/:ref/', 'issuer/:ref/roles/:role/'].flatMap((prefix) => [
      [`write pki/${prefix}acme/new-eab`, 'makes something new with every call'],
      ...[
        ...['new-account', 'account/:id', 'key-change', 'new-order', 'orders', 'order/:id', 'order/:id/finalize'],
        ...['order/:id/cert', 'authorization/:id', 'challenge/:id/:type', 'revoke-cert'],
      ].map((at) => [`write pki/${prefix}acme/${at}`, 'takes messages that its clients sign: see the tests of ACME']),
    ]),
  ),
  'delete pki/eab/:key_id': 'deletes one entry',
  'delete scheduler/role/:name': removedByName('scheduler/role', { policies: 'read' }),
  'write cloudtwo/config/root': readsOnly({ access_key: 'AKIAEXAMPLE', secret_key: 'example', region: 'eu-west-1' }),
  'write cloudtwo/config/root/check': outside,
  'write cloudtwo/config/root/rotation': async (world) => {
    await world.root('POST', 'cloudtwo/config/root', { access_key: 'AKIAEXAMPLE', secret_key: 'example' });
    return { body: (n) => ({ rotation_period: 3600 + n }) };
  },
  'write cloudtwo/config/rotate-root': outside,
  'write cloudtwo/config/lease': readsOnly({ lease: '1h', lease_max: '2h' }),
  'write cloudtwo/roles/:name': asNamed(() => ({
    credential_type: 'iam_user',
    policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess',
  })),
  'delete cloudtwo/roles/:name': removedByName(
    'cloudtwo/roles',
    { credential_type: 'iam_user', policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess' },
    'name',
    [404],
  ),
  'write cloudtwo/creds/:name': outside,
  'write cloudtwo/sts/:name': outside,

  'write userpass/users/:username': async (world) => ({
    at: { username: await user(world) },
    body: (n) => ({ token_ttl: 60 + n }),
  }),
  'delete userpass/users/:username': removedByName('auth/userpass/users', { password: 'long enough' }, 'username'),
  'write userpass/users/:username/password': async (world) => ({
    at: { username: await user(world) },
    body: (n) => ({ password: `long enough ${n}` }),
    slow: true,
  }),
  'write userpass/users/:username/policies': async (world) => ({
    at: { username: await user(world) },
    body: (n) => ({ token_policies: [`p${n}`] }),
  }),
  'write userpass/passkey/register/begin': passkeys,
  'write userpass/passkey/register': passkeys,
  'write userpass/passkey/login/begin': passkeys,
  'write userpass/passkey/login': passkeys,
  'delete userpass/passkeys/:id': passkeys,
  'delete userpass/users/:username/passkeys/:id': passkeys,
  'write userpass/login/:username': async (world) => ({
    at: { username: await user(world) },
    body: () => ({ password: 'long enough' }),
    slow: true,
  }),
  'write approle/role/:role_name': (world) => ({
    at: { role_name: world.fresh() },
    body: (n) => ({ token_policies: [`p${n}`] }),
  }),
  'delete approle/role/:role_name': removedByName('auth/approle/role', { policies: 'default' }, 'role_name'),
  'write approle/role/:role_name/role-id': roleField((n) => ({ role_id: `r${n}${Math.random()}` })),
  'write approle/role/:role_name/policies': roleField((n) => ({ token_policies: [`p${n}`] })),
  'delete approle/role/:role_name/policies': resetField,
  'write approle/role/:role_name/bind-secret-id': roleField((n) => ({ bind_secret_id: n % 2 === 0 })),
  'delete approle/role/:role_name/bind-secret-id': resetField,
  'write approle/role/:role_name/secret-id-num-uses': roleField((n) => ({ secret_id_num_uses: n })),
  'delete approle/role/:role_name/secret-id-num-uses': resetField,
  'write approle/role/:role_name/secret-id-ttl': roleField((n) => ({ secret_id_ttl: 60 + n })),
  'delete approle/role/:role_name/secret-id-ttl': resetField,
  'write approle/role/:role_name/secret-id-bound-cidrs': roleField(() => ({ secret_id_bound_cidrs: '127.0.0.0/8' })),
  'delete approle/role/:role_name/secret-id-bound-cidrs': resetField,
  'write approle/role/:role_name/bound-cidr-list': roleField(() => ({ bound_cidr_list: '127.0.0.0/8' })),
  'delete approle/role/:role_name/bound-cidr-list': resetField,
  'write approle/role/:role_name/token-bound-cidrs': roleField(() => ({ token_bound_cidrs: '127.0.0.0/8' })),
  'delete approle/role/:role_name/token-bound-cidrs': resetField,
  'write approle/role/:role_name/period': roleField((n) => ({ token_period: 60 + n })),
  'delete approle/role/:role_name/period': resetField,
  'write approle/role/:role_name/token-num-uses': roleField((n) => ({ token_num_uses: n })),
  'delete approle/role/:role_name/token-num-uses': resetField,
  'write approle/role/:role_name/token-ttl': roleField((n) => ({ token_ttl: 60 + n })),
  'delete approle/role/:role_name/token-ttl': resetField,
  'write approle/role/:role_name/token-max-ttl': roleField((n) => ({ token_max_ttl: 6000 + n })),
  'delete approle/role/:role_name/token-max-ttl': resetField,
  'write approle/role/:role_name/secret-id': roleField(() => ({})),
  'write approle/role/:role_name/custom-secret-id': async (world) => {
    const secret_id = world.fresh();
    return { at: { role_name: await role(world) }, body: () => ({ secret_id }), also: once };
  },
  'write approle/role/:role_name/secret-id/lookup': ofSecretId('secret_id'),
  'write approle/role/:role_name/secret-id/destroy': ofSecretId('secret_id'),
  'delete approle/role/:role_name/secret-id/destroy': 'is the same as its write',
  'write approle/role/:role_name/secret-id-accessor/lookup': ofSecretId('secret_id_accessor'),
  'write approle/role/:role_name/secret-id-accessor/destroy': ofSecretId('secret_id_accessor', [404]),
  'delete approle/role/:role_name/secret-id-accessor/destroy': 'is the same as its write',
  'write approle/tidy/secret-id': readsOnly(),
  'write approle/login': async (world) => {
    const name = await role(world);
    await world.root('POST', `auth/approle/role/${name}/secret-id-num-uses`, { secret_id_num_uses: 1_000_000 });
    const { role_id } = (await world.root('GET', `auth/approle/role/${name}/role-id`)).data;
    const { secret_id } = await secretId(world, name);
    return { body: () => ({ role_id, secret_id }) };
  },
  'write jwt/config': (world) => ({ body: () => ({ jwt_validation_pubkeys: world.publicKey }) }),
  'delete jwt/config': readsOnly(),
  'write jwt/role/:name': asNamed(() => ({ role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' })),
  'delete jwt/role/:name': removedByName('auth/jwt/role', { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' }),
  'write jwt/login': outside,
  'write ldap/config': readsOnly({ url: 'ldap://127.0.0.1:1' }),
  'write ldap/users/:name': asNamed((n) => ({ policies: `p${n}` })),
  'delete ldap/users/:name': removedByName('auth/ldap/users', { policies: 'a' }),
  'write ldap/groups/:name': asNamed((n) => ({ policies: `p${n}` })),
  'delete ldap/groups/:name': removedByName('auth/ldap/groups', { policies: 'a' }),
  'write ldap/login/:username': outside,
  'write cert/config': readsOnly({ disable_binding: false }),
  'write cert/certs/:name': asNamed((n) => ({ certificate: testCertificate.cert, token_policies: [`p${n}`] })),
  'delete cert/certs/:name': removedByName('auth/cert/certs', { certificate: testCertificate.cert }),
  'write cert/crls/:name': asNamed((n) => ({ crl: revocationList(BigInt(n + 1)) })),
  'delete cert/crls/:name': removedByName('auth/cert/crls', { crl: revocationList(1n) }, 'name', once),
  'write cert/login': outside,
  'write kubernetes/config': readsOnly({ kubernetes_host: 'https://cluster.invalid' }),
  'write kubernetes/role/:name': asNamed(() => ({
    bound_service_account_names: 'a',
    bound_service_account_namespaces: '*',
  })),
  'delete kubernetes/role/:name': removedByName('auth/kubernetes/role', {
    bound_service_account_names: 'a',
    bound_service_account_namespaces: '*',
  }),
  'write kubernetes/login': outside,
  'write github/config': readsOnly({ organization: 'acme', organization_id: 1 }),
  'write github/map/teams/:key': asCalled('key')((n) => ({ value: `p${n}` })),
  'delete github/map/teams/:key': removedByName('auth/github/map/teams', { value: 'a' }, 'key'),
  'write github/map/users/:key': asCalled('key')((n) => ({ value: `p${n}` })),
  'delete github/map/users/:key': removedByName('auth/github/map/users', { value: 'a' }, 'key'),
  'write github/login': outside,
  'write aws/config/client': readsOnly({ sts_region: 'eu-west-1' }),
  'delete aws/config/client': readsOnly(),
  'write aws/config/identity': readsOnly({ iam_alias: 'unique_id' }),
  'write aws/role/:role': asCalled('role')(() => principals),
  'delete aws/role/:role': removedByName('auth/aws/role', principals, 'role'),
  'write aws/login': outside,
  'write jwt/oidc/auth_url': outside,
  'write jwt/oidc/callback': outside,
  'write jwt/oidc/poll': outside,
};

/** An authority of this kind, created by every call. */
function ofKind(name: string): Making {
  // Signatures of this kind all have the same length.
  return () => ({ at: { exported: 'internal' }, body: (n) => ({ common_name: `${name} ${n}`, key_type: 'ed25519' }) });
}

/** An existing issuer, named by its id. */
function issuerBy(body?: (n: number) => object): Making {
  return async (world) => {
    // The other examples need the default of the mount.
    await pkiRole(world);
    const { data } = await world.root('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
    return { at: { ref: data.issuer_id }, body };
  };
}

async function pkiRole(world: World): Promise<string> {
  const name = world.fresh();
  await world.root('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec', ttl: '700h' });
  await world.root('POST', `pki/roles/${name}`, { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  return name;
}

async function user(world: World): Promise<string> {
  const name = world.fresh();
  await world.root('POST', `auth/userpass/users/${name}`, { password: 'long enough' });
  return name;
}

async function wrapping(world: World): Promise<Example> {
  const { wrap_info } = await world.root('WRAP', 'sys/wrapping/wrap', { a: 1 });
  return { body: () => ({ token: wrap_info.token }) };
}

async function ofToken(
  world: World,
  body: (auth: { client_token: string; accessor: string }) => object,
): Promise<Example> {
  const fields = body(await token(world));
  return { body: () => fields };
}
