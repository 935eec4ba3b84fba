import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

describe('mounts', () => {
  const secrets = startSecrets();

  it('have the plugin version and a random accessor', async () => {
    const enable = (more: object) => secrets.root.write('sys/mounts/plain', { type: 'kv', ...more });
    await enable({ plugin_version: 'v9.9.9' }).expect(400, /plugin_version: kv is built in/);
    await enable({ config: { plugin_version: 'v9.9.9' } }).expect(400, /plugin_version: kv is built in/);
    await enable({ external_entropy_access: true }).expect(400, /'external_entropy_access' is not supported/);
    await enable({ config: { user_lockout_config: { lockout_threshold: 3 } } }).expect(400, /user_lockout_config/);
    await secrets.root.read('sys/mounts/plain').expect(400);
    const { body } = await secrets.root.read('sys/plugins/catalog/secret/kv').expect(200);
    await enable({ plugin_version: body.data.version, external_entropy_access: false }).expect(204);
    await secrets.root.write('sys/mounts/plain/tune', { plugin_version: 'v9.9.9' }).expect(400, /plugin_version/);
    await secrets.root.write('sys/unseal', { key: 'x', migrate: true }).expect(400, /'migrate' is not supported/);
    await secrets.root.delete('sys/mounts/plain').expect(204);
  });

  it('are listed with everything that clients read about them', async () => {
    const { body } = await secrets.root.read('sys/mounts').expect(200);
    expect(Object.keys(body.data)).toEqual(['cloudtwo/', 'cubbyhole/', 'identity/', 'scheduler/', 'sys/']);
    expect(body.data['cubbyhole/']).toMatchObject({
      type: 'cubbyhole',
      description: 'per-token private secret storage',
      local: true,
      options: null,
      config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false },
    });
    expect(body.data['cubbyhole/'].accessor).toMatch(/^cubbyhole_[0-9a-f]{8}$/);
    const auth = await secrets.root.read('sys/auth').expect(200);
    expect(Object.keys(auth.body.data)).toEqual(['cloudone/', 'token/']);
    expect(auth.body.data['token/'].accessor).toMatch(/^auth_token_[0-9a-f]{8}$/);
  });

  it.each([
    ['sys/mounts', 'aws', 'aws/config/lease', { lease: '1h', lease_max: '2h' }],
    ['sys/mounts', 'nomad', 'nomad/config/lease', { ttl: '1h' }],
    ['sys/auth', 'azure', 'auth/azure/role/r', { bound_service_principal_ids: 'p' }],
  ])('at %s can be of the type %s, as existing clients call it', async (where, type, path, settings) => {
    await secrets.root.write(`${where}/${type}`, { type }).expect(204);
    const { body } = await secrets.root.read(where).expect(200);
    expect(body.data[`${type}/`].type).toBe(type);
    await secrets.root.write(path, settings).expect(204);
    await secrets.root.read(path).expect(200);
    await secrets.root.delete(`${where}/${type}`).expect(204);
  });

  it('can be mounted, tuned, moved and removed', async () => {
    await secrets.root
      .write('sys/mounts/a/b', { type: 'kv', description: 'mine', config: { max_lease_ttl: '2h' } })
      .expect(204);
    const one = await secrets.root.read('sys/mounts/a/b').expect(200);
    expect(one.body).toMatchObject({ type: 'kv', description: 'mine', data: { config: { max_lease_ttl: 7200 } } });
    await secrets.root
      .write('sys/mounts/a/b/tune', { default_lease_ttl: '90m', description: 'new', listing_visibility: 'unauth' })
      .expect(204);
    const tuned = await secrets.root.read('sys/mounts/a/b/tune').expect(200);
    expect(tuned.body.data).toEqual({
      default_lease_ttl: 5400,
      description: 'new',
      force_no_cache: false,
      listing_visibility: 'unauth',
      max_lease_ttl: 7200,
    });
    await secrets.root.write('a/b/x', { v: 1 }).expect(204);
    const moved = await secrets.root.write('sys/remount', { from: 'a/b', to: 'c' }).expect(200);
    const status = await secrets.root.read(`sys/remount/status/${moved.body.data.migration_id}`).expect(200);
    expect(status.body.data.migration_info).toEqual({ source_mount: 'a/b/', status: 'success', target_mount: 'c/' });
    expect((await secrets.root.read('c/x').expect(200)).body.data).toEqual({ v: 1 });
    await secrets.root.read('a/b/x').expect(404);
    await secrets.root.delete('sys/mounts/c').expect(204);
    await secrets.root.delete('sys/mounts/c').expect(204);
  });

  it.each([
    ['write', 'sys/mounts/x', {}, 'backend type must be specified as a string'],
    ['write', 'sys/mounts/x', { type: 'nosuchtype' }, 'plugin not found in the catalog: nosuchtype'],
    ['write', 'sys/mounts/cubbyhole', { type: 'kv' }, 'path is already in use at cubbyhole/'],
    ['write', 'sys/mounts/cubbyhole/deep', { type: 'kv' }, 'path is already in use at cubbyhole/'],
    ['write', 'sys/mounts/sys/x', { type: 'kv' }, 'cannot mount "sys/x/"'],
    ['write', 'sys/mounts/auth/x', { type: 'kv' }, 'cannot mount "auth/x/"'],
    ['write', 'sys/mounts/x', { type: 'cubbyhole' }, 'mount type of "cubbyhole" is not mountable'],
    [
      'write',
      'sys/mounts/x',
      { type: 'kv', options: { version: '7' } },
      'option version of kv must be 1 or 2, got "7"',
    ],
    [
      'write',
      'sys/mounts/x',
      { type: 'kv', config: { default_lease_ttl: '2h', max_lease_ttl: '1h' } },
      'given default lease TTL greater than given max lease TTL',
    ],
    ['write', 'sys/auth/x', { type: 'token' }, 'token credential backend cannot be instantiated'],
    ['write', 'sys/auth/x', { type: 'kv' }, 'plugin not found in the catalog: kv'],
    ['read', 'sys/mounts/nope', undefined, 'No secret engine mount at nope/'],
    ['read', 'sys/auth/nope', undefined, 'No auth engine at nope/'],
    ['delete', 'sys/mounts/sys', undefined, 'cannot unmount "sys/"'],
    ['delete', 'sys/mounts/cubbyhole', undefined, 'cannot unmount "cubbyhole/"'],
    ['delete', 'sys/auth/token', undefined, 'token credential backend cannot be disabled'],
    ['write', 'sys/mounts/nope/tune', {}, 'tune of path "nope/" failed: no mount entry found'],
    [
      'write',
      'sys/mounts/cubbyhole/tune',
      { default_lease_ttl: 5 },
      'cannot tune parameter default_lease_ttl of cubbyhole/',
    ],
    [
      'write',
      'sys/mounts/scheduler/tune',
      { default_lease_ttl: '10h', max_lease_ttl: '2h' },
      'backend max lease TTL of 7200 would be less than backend default lease TTL of 36000',
    ],
    ['write', 'sys/auth/cloudone/tune', { token_type: 'zz' }, "invalid value for 'token_type'"],
    ['write', 'sys/remount', { from: 'nope', to: 'x' }, 'no matching mount at "nope/"'],
    ['write', 'sys/remount', { from: 'scheduler', to: 'cubbyhole' }, 'cannot remount to destination cubbyhole/'],
    ['write', 'sys/remount', { from: 'sys', to: 'x' }, 'cannot remount "sys/"'],
  ] as const)('%s %s with %j is refused', async (verb, path, body, message) => {
    await secrets.root[verb](path, body as object).expect(400, { errors: [message] });
  });

  it('and a namespace never have the same name', async () => {
    const { root } = secrets;
    const make = async (name: string) => (await root.write(`sys/mounts/${name}`, { type: 'kv' })).status < 300;
    const move = async (name: string) => {
      const { status: said, body } = await root.write('sys/remount', { from: `from-${name}`, to: name });
      while (said === 200) {
        const { status } = (await root.read(`sys/remount/status/${body.data.migration_id}`)).body.data.migration_info;
        if (status === 'failure') await root.write(`from-${name}/kept`, { a: 'b' }).expect(204);
        if (status !== 'in-progress') return status === 'success';
      }
      return false;
    };
    for (const [way, mount] of [['made', make] as const, ['moved', move] as const]) {
      const names = Array.from({ length: 6 }, (_, n) => `${way}-${n}`);
      for (const name of names) await root.write(`sys/mounts/from-${name}`, { type: 'kv' }).expect(204);
      const both = names.map(async (name) => {
        const space = root.write(`sys/namespaces/${name}`, {});
        return [await mount(name), (await space).status < 300].filter(Boolean).length;
      });
      expect(await Promise.all(both)).toEqual(names.map(() => 1));
    }
  });

  it('get the lifetime of the system again when their own is reset', async () => {
    await secrets.root.write('sys/mounts/scheduler/tune', { max_lease_ttl: '2h', default_lease_ttl: '1h' }).expect(204);
    await secrets.root
      .write('sys/mounts/scheduler/tune', { max_lease_ttl: 'system', default_lease_ttl: -1 })
      .expect(204);
    const { body } = await secrets.root.read('sys/mounts/scheduler').expect(200);
    expect(body.data.config).toMatchObject({ default_lease_ttl: 0, max_lease_ttl: 0 });
  });

  it('are shown to user interfaces as far as the caller may know them', async () => {
    await secrets.root.write('sys/mounts/open', { type: 'kv', config: { listing_visibility: 'unauth' } }).expect(204);
    const open = await secrets.anonymous.read('sys/internal/ui/mounts').expect(200);
    expect(Object.keys(open.body.data.secret)).toEqual(['open/']);
    const weak = await secrets.withPolicy('path "scheduler/creds/*" { capabilities = ["read"] }');
    const seen = await weak.read('sys/internal/ui/mounts').expect(200);
    expect(Object.keys(seen.body.data.secret)).toEqual(['open/', 'scheduler/']);
    await weak.read('sys/internal/ui/mounts/scheduler/creds/a').expect(200);
    await weak.read('sys/internal/ui/mounts/nope').expect(403, {
      errors: [
        '1 error occurred:\n\t* preflight capability check returned 403, please ensure client\'s policies grant access to path "nope/"\n\n',
      ],
    });
    await secrets.anonymous.read('sys/internal/ui/mounts/open').expect(403, { errors: ['permission denied'] });
  });

  it('disabling an auth method revokes its tokens, and enabling it again gives another accessor', async () => {
    await secrets.root.write('sys/auth/up', { type: 'userpass' }).expect(204);
    await secrets.root.write('auth/up/users/bob', { password: 'correct horse' }).expect(204);
    const { body } = await secrets.anonymous.write('auth/up/login/bob', { password: 'correct horse' }).expect(200);
    const bob = secrets.as(body.auth.client_token);
    await bob.read('auth/token/lookup-self').expect(200);
    const before = (await secrets.root.read('sys/auth/up')).body.data.accessor;
    await secrets.root.delete('sys/auth/up').expect(204);
    await bob.read('auth/token/lookup-self').expect(403);
    await secrets.root.write('sys/auth/up', { type: 'userpass' }).expect(204);
    expect((await secrets.root.read('sys/auth/up')).body.data.accessor).not.toBe(before);
  });
});

describe('an installation without the usual mounts', () => {
  const secrets = startSecrets({ env: { SECRETS_DEFAULT_MOUNTS: 'none' } });
  it('begins with only the built-in mounts', async () => {
    expect(Object.keys((await secrets.root.read('sys/mounts')).body.data)).toEqual(['cubbyhole/', 'identity/', 'sys/']);
  });
});
