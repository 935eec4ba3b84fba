import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, startSecrets } from './start-secrets';

interface Auth {
  readonly client_token: string;
  readonly accessor: string;
  readonly policies: readonly string[];
}

const everything = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "patch", "sudo"] }';
const wrapped = (text: string) => `1 error occurred:\n\t* ${text}\n\n`;

/** A namespace can read and change nothing in the namespaces above and next to it. */
describe('between namespaces', () => {
  const secrets = startSecrets();
  const at = (namespace: string, token = secrets.rootToken) => secrets.as(token, { 'X-Service-Namespace': namespace });
  const make = async (client: Client, fields: object = {}): Promise<Auth> =>
    (await client.write('auth/token/create', { policies: ['default'], ttl: '1h', ...fields }).expect(200)).body.auth;
  /** The administrator of a namespace: may do everything, but is root nowhere. */
  const admin = async (namespace: string): Promise<string> => {
    await at(namespace).write('sys/policies/acl/boss', { policy: everything }).expect(204);
    return (await make(at(namespace), { policies: ['boss'], no_default_policy: true })).client_token;
  };
  let boss = '';

  beforeAll(async () => {
    for (const name of ['one', 'two', 'one/below']) await secrets.root.write(`sys/namespaces/${name}`).expect(200);
    boss = await admin('one');
  });

  describe.each([
    ['the namespace above', ''],
    ['a sibling', 'two'],
  ])('a token of %s', (_name, home) => {
    let foreign: Auth;
    beforeAll(async () => {
      foreign = await make(at(home));
    });
    const alive = () => at(home, foreign.client_token).read('auth/token/lookup-self').expect(200);

    it.each([
      ['auth/token/lookup', 'token', 403, wrapped('bad token')],
      ['auth/token/renew', 'token', 400, 'token not found'],
      ['auth/token/revoke-orphan', 'token', 400, 'token to revoke not found'],
      ['auth/token/lookup-accessor', 'accessor', 400, wrapped('invalid accessor')],
      ['auth/token/renew-accessor', 'accessor', 400, wrapped('invalid accessor')],
      ['sys/capabilities', 'token', 400, wrapped('invalid token')],
      ['sys/capabilities-accessor', 'accessor', 400, wrapped('invalid token')],
      ['sys/policies/explain', 'token', 400, wrapped('invalid token')],
      ['sys/policies/explain', 'accessor', 400, wrapped('invalid token')],
    ])('%s by its %s gets the same answer as for an absent one', async (path, by, status, error) => {
      const fields = { path: 'a', operation: 'read', [by]: by === 'token' ? foreign.client_token : foreign.accessor };
      const answer = await at('one', boss).write(path, fields);
      expect({ status: answer.status, errors: answer.body.errors }).toEqual({ status, errors: [error] });
      await alive();
    });

    it('revoking it gets the same answer as for an absent one, and it stays valid', async () => {
      await at('one', boss).write('auth/token/revoke', { token: foreign.client_token }).expect(204);
      const { body } = await at('one', boss)
        .write('auth/token/revoke-accessor', { accessor: foreign.accessor })
        .expect(200);
      expect(body.warnings).toEqual(['No token found with this accessor']);
      await alive();
    });

    it('is not found by its id in lease listings, for lookup or revocation', async () => {
      const { keys } = (await at(home).list('sys/leases/lookup/auth/token/create').expect(200)).body.data;
      for (const key of keys as string[]) {
        const lease_id = `auth/token/create/${key}`;
        await at('one', boss).write('sys/leases/lookup', { lease_id }).expect(400);
        await at('one', boss).write('sys/leases/revoke', { lease_id }).expect(204);
        await at('one', boss).write(`sys/revoke/${lease_id}`).expect(204);
      }
      await alive();
    });
  });

  it('tokens of child namespaces are found and revoked', async () => {
    const below = await make(at('one/below'));
    const client = at('one', boss);
    const { body } = await client.write('auth/token/lookup-accessor', { accessor: below.accessor }).expect(200);
    expect(body.data.namespace_path).toBe('one/below/');
    await client.write('auth/token/lookup', { token: below.client_token }).expect(200);
    await client.write('auth/token/renew', { token: below.client_token }).expect(200);
    await client.write('sys/capabilities', { token: below.client_token, paths: ['a'] }).expect(200);
    await client.write('auth/token/revoke-accessor', { accessor: below.accessor }).expect(204);
    await at('one/below', below.client_token).read('auth/token/lookup-self').expect(403);
  });

  it('the caller’s own token is always found, also in child namespaces', async () => {
    const client = at('one/below', boss);
    await client.write('auth/token/lookup').expect(200);
    await client.write('auth/token/lookup', { token: boss }).expect(200);
    await client.write('auth/token/renew', { token: boss }).expect(200);
    await client.write('auth/token/renew-self').expect(200);
    await client.write('sys/capabilities', { token: boss, paths: ['a'] }).expect(200);
  });

  describe('a token made in a namespace below', () => {
    const creates = 'path "one/auth/token/create*" { capabilities = ["create", "update"] }';

    it('needs sudo, because policies of the same name mean something else there', async () => {
      await at('one').write('sys/policies/acl/namesake', { policy: everything }).expect(204);
      await secrets.root.write('sys/policies/acl/namesake', { policy: creates }).expect(204);
      const { client_token } = await make(secrets.root, { policies: ['namesake'] });
      const refused = {
        errors: ['root or sudo privileges required to directly generate a token in a child namespace'],
      };
      await at('one', client_token).write('auth/token/create').expect(400, refused);
      await at('one', client_token)
        .write('auth/token/create', { policies: ['namesake'] })
        .expect(400, refused);
      await at('one', client_token).write('auth/token/create-orphan').expect(400, refused);
    });

    it('has the requested policies and none of its parent', async () => {
      const sudo = await secrets.withPolicy(creates.replace('"update"', '"update", "sudo"'));
      const asked = await at('one', sudo.token).write('auth/token/create', { policies: ['boss'] });
      expect(asked.body.auth.policies).toEqual(['boss', 'default']);
      const nothing = await at('one', sudo.token).write('auth/token/create').expect(200);
      expect(nothing.body.auth.policies).toEqual(['default']);
    });

    it.each(['create', 'create-orphan'])('is never a root token: %s', async (path) => {
      await at('one')
        .write(`auth/token/${path}`, { policies: ['root'] })
        .expect(400, { errors: ['root tokens may not be created from a parent namespace'] });
    });

    it('cannot be given an id, because an error for an id in use would reveal tokens elsewhere', async () => {
      await at('one')
        .write('auth/token/create', { policies: ['default'], id: 'chosen' })
        .expect(400, { errors: ['token IDs can only be manually specified in the root namespace'] });
    });

    it('of a role follows the same rules', async () => {
      await at('one').write('auth/token/roles/open', { disallowed_policies: 'none' }).expect(204);
      const { body } = await at('one').write('auth/token/create/open').expect(200);
      expect(body.auth.policies).toEqual(['default']);
    });
  });

  describe('a wrapped answer', () => {
    const wrap = async (namespace: string): Promise<string> =>
      (
        await secrets
          .as(secrets.rootToken, { 'X-Service-Namespace': namespace, 'X-Service-Wrap-TTL': '60' })
          .write('sys/wrapping/wrap', { a: 1 })
          .expect(200)
      ).body.wrap_info.token;

    it('is unknown to siblings of its namespace', async () => {
      const token = await wrap('two');
      const unknown = { errors: ['wrapping token is not valid or does not exist'] };
      for (const step of ['lookup', 'unwrap', 'rewrap']) {
        await at('one', boss).write(`sys/wrapping/${step}`, { token }).expect(400, unknown);
      }
      await secrets.as(token, { 'X-Service-Namespace': 'one' }).write('sys/wrapping/unwrap').expect(400, unknown);
      await at('two').write('sys/wrapping/unwrap', { token }).expect(200);
    });

    it('can be unwrapped above and below', async () => {
      await at('one')
        .write('sys/wrapping/unwrap', { token: await wrap('one/below') })
        .expect(200);
      await at('one/below')
        .write('sys/wrapping/unwrap', { token: await wrap('one') })
        .expect(200);
    });
  });

  it('background work shows its progress only in its own namespace', async () => {
    await at('two').write('sys/mounts/from', { type: 'kv' }).expect(204);
    const { body } = await at('two').write('sys/remount', { from: 'from', to: 'to' }).expect(200);
    const move = `sys/remount/status/${body.migration_id}`;
    expect((await at('two').read(move).expect(200)).body.data.migration_info).toMatchObject({
      source_mount: 'from/',
      target_mount: 'to/',
    });
    await at('one', boss).read(move).expect(404);
    await at('one', boss).read(`sys/leases/jobs/${body.migration_id}`).expect(404);
  });

  describe('a quota', () => {
    const limits = ['rate-limit', 'lease-count'] as const;
    const fields = { 'rate-limit': { rate: 1, interval: '1h' }, 'lease-count': { max_leases: 3 } };

    it.each(limits)(
      'is read, listed, changed and deleted only in its own namespace; another may have one of the same name: %s',
      async (kind) => {
        const quota = `sys/quotas/${kind}/same`;
        const field = kind === 'rate-limit' ? 'rate' : 'max_leases';
        await secrets.root.write(quota, { [field]: 1_000_000 }).expect(204);
        await at('one', boss).read(quota).expect(404);
        await at('one', boss).list(`sys/quotas/${kind}`).expect(404);
        await at('one', boss).delete(quota).expect(204);
        await at('one', boss)
          .write(quota, { [field]: 500_000 })
          .expect(204);
        const limitOf = async (client: Client) => {
          const { data } = (await client.read(quota).expect(200)).body;
          return data.rate ?? data.max_leases;
        };
        expect(await limitOf(secrets.root)).toBe(1_000_000);
        expect(await limitOf(at('one', boss))).toBe(500_000);
        expect((await at('one', boss).list(`sys/quotas/${kind}`).expect(200)).body.data.keys).toEqual(['same']);
        await at('two').read(quota).expect(404);
        await at('one', boss).delete(quota).expect(204);
        expect(await limitOf(secrets.root)).toBe(1_000_000);
        await secrets.root.delete(quota).expect(204);
      },
    );

    it('applies from its namespace downwards', async () => {
      await at('one', boss).write('sys/quotas/rate-limit/evil', fields['rate-limit']).expect(204);
      const asks = [at('one', boss), at('one/below'), at('two'), secrets.root];
      const refusals = await Promise.all(
        asks.map(async (client) => {
          const answers = [await client.read('sys/mounts'), await client.read('sys/mounts')];
          return answers.some(({ status }) => status === 429);
        }),
      );
      expect(refusals).toEqual([true, true, false, false]);
      // The quota cannot prevent its own removal.
      await at('one').delete('sys/quotas/rate-limit/evil').expect(204);
      await at('one').read('sys/mounts').expect(200);
    });

    it('of a parent namespace does not reveal its name below', async () => {
      await secrets.root
        .write('sys/quotas/rate-limit/hush', { rate: 1, interval: '1h', path: 'two/cubbyhole' })
        .expect(204);
      await at('two').write('cubbyhole/a', { a: 1 }).expect(204);
      await at('two').read('cubbyhole/a').expect(429);
      const question = { path: 'cubbyhole/a', operation: 'read' };
      const { body } = await at('two').write('sys/policies/explain', question).expect(200);
      expect(body.data.obstacles).toEqual([
        { kind: 'quota', message: 'a rate limit quota of a parent namespace is exhausted' },
      ]);
      await secrets.root.delete('sys/quotas/rate-limit/hush').expect(204);
    });

    it('names only paths below the namespace it is written in', async () => {
      await at('two').write('sys/mounts/only-in-two', { type: 'kv' }).expect(204);
      for (const path of ['two', 'two/only-in-two', 'only-in-two', '../two', '/two']) {
        await at('one/below').write('sys/quotas/rate-limit/elsewhere', { rate: 1, path }).expect(400);
      }
      await at('two').write('sys/quotas/rate-limit/here', { rate: 1000, path: 'only-in-two' }).expect(204);
      await secrets.root.write('sys/quotas/rate-limit/down', { rate: 1000, path: 'two/only-in-two' }).expect(204);
    });

    it.each(limits)('is written by many at once: %s', async (kind) => {
      const written = await Promise.all(
        Array.from({ length: 12 }, () => secrets.root.write(`sys/quotas/${kind}/crowd`, fields[kind])),
      );
      expect(written.map(({ status }) => status)).toEqual(written.map(() => 204));
      await secrets.root.delete(`sys/quotas/${kind}/crowd`).expect(204);
    });
  });
});
