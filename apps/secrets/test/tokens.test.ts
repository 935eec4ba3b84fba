import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { until } from './fresh-storage';
import { startSecrets } from './start-secrets';

const wrapped = (text: string) => `1 error occurred:\n\t* ${text}\n\n`;

describe('tokens', () => {
  const secrets = startSecrets();
  const make = async (fields: object = {}) =>
    (await secrets.root.write('auth/token/create', fields).expect(200)).body.auth as {
      client_token: string;
      accessor: string;
    };

  /** A statement as an operator would type it. */
  const query = async (text: string) => {
    const client = new pg.Client(secrets.database.url);
    await client.connect();
    return client.query(text).finally(() => client.end());
  };

  it('are looked up with their keys in the order clients know', async () => {
    const { client_token, accessor } = await make({
      policies: ['default'],
      ttl: '1h',
      explicit_max_ttl: '2h',
      num_uses: 5,
      meta: { a: 'b' },
      display_name: 'bob x',
    });
    const { body } = await secrets.as(client_token).read('auth/token/lookup-self').expect(200);
    expect(Object.keys(body.data)).toEqual([
      'accessor',
      'creation_time',
      'creation_ttl',
      'display_name',
      'entity_id',
      'expire_time',
      'explicit_max_ttl',
      'id',
      'issue_time',
      'meta',
      'num_uses',
      'orphan',
      'path',
      'policies',
      'renewable',
      'ttl',
      'type',
    ]);
    expect(body.data).toMatchObject({
      accessor,
      creation_ttl: 3600,
      display_name: 'token-bob-x',
      explicit_max_ttl: 7200,
      id: client_token,
      meta: { a: 'b' },
      num_uses: 4,
      orphan: false,
      path: 'auth/token/create',
      policies: ['default'],
      renewable: true,
      ttl: 3600,
      type: 'service',
    });
  });

  it('include the root token of the initialisation, which never expires', async () => {
    const { body } = await secrets.root.read('auth/token/lookup-self').expect(200);
    expect(body.data).toMatchObject({
      ttl: 0,
      expire_time: null,
      renewable: false,
      path: 'auth/token/root',
      display_name: 'root',
      policies: ['root'],
    });
  });

  it('are found by accessor, without showing the token', async () => {
    const { accessor } = await make();
    const { body } = await secrets.root.write('auth/token/lookup-accessor', { accessor }).expect(200);
    expect(body.data).toMatchObject({ accessor, id: '' });
    await secrets.root
      .write('auth/token/lookup-accessor', { accessor: 'zz' })
      .expect(400, { errors: [wrapped('invalid accessor')] });
    await secrets.root.write('auth/token/lookup-accessor').expect(400, { errors: [wrapped('missing accessor')] });
    await secrets.root.write('auth/token/lookup', { token: 'zz' }).expect(403);
  });

  it('are revoked with all their descendants and their cubbyholes', async () => {
    const parent = await make({ policies: ['root'], ttl: '1h' });
    const child = (await secrets.as(parent.client_token).write('auth/token/create', { ttl: '30m' }).expect(200)).body
      .auth;
    const grandchild = (await secrets.as(child.client_token).write('auth/token/create', { ttl: '30m' }).expect(200))
      .body.auth;
    await secrets.as(grandchild.client_token).write('cubbyhole/x', { a: 1 }).expect(204);
    await secrets.root.write('auth/token/revoke', { token: parent.client_token }).expect(204);
    for (const { client_token } of [parent, child, grandchild]) {
      await secrets
        .as(client_token)
        .read('auth/token/lookup-self')
        .expect(403, { errors: ['permission denied'] });
    }
    await secrets.root.write('auth/token/revoke', { token: parent.client_token }).expect(204);
  });

  it('revoke-self revokes the caller’s own token, once', async () => {
    const { client_token } = await make();
    await secrets.as(client_token).write('auth/token/revoke-self').expect(204);
    await secrets.as(client_token).write('auth/token/revoke-self').expect(403);
  });

  it('revoke-accessor warns of an unknown accessor', async () => {
    const { accessor, client_token } = await make();
    await secrets.root.write('auth/token/revoke-accessor', { accessor }).expect(204);
    await secrets.as(client_token).read('auth/token/lookup-self').expect(403);
    const { body } = await secrets.root.write('auth/token/revoke-accessor', { accessor }).expect(200);
    expect(body.warnings).toEqual(['No token found with this accessor']);
  });

  it('revoke-orphan keeps the children, now orphans', async () => {
    const parent = await make({ policies: ['root'], ttl: '1h' });
    const child = (await secrets.as(parent.client_token).write('auth/token/create', { ttl: '30m' })).body.auth;
    await secrets.root.write('auth/token/revoke-orphan', { token: parent.client_token }).expect(204);
    const { body } = await secrets.as(child.client_token).read('auth/token/lookup-self').expect(200);
    expect(body.data.orphan).toBe(true);
    await secrets.root
      .write('auth/token/revoke-orphan', { token: parent.client_token })
      .expect(400, { errors: ['token to revoke not found'] });
  });

  it('are renewed to the requested increment, also to a shorter one', async () => {
    const { client_token } = await make({ ttl: '1h', policies: ['default'] });
    const self = secrets.as(client_token);
    const { body } = await self.write('auth/token/renew-self', { increment: '10s' }).expect(200);
    expect(body.auth).toMatchObject({ lease_duration: 10, client_token, renewable: true });
    const again = await secrets.root.write('auth/token/renew', { token: client_token, increment: 7200 }).expect(200);
    expect(again.body.auth.lease_duration).toBe(7200);
    const looked = await self.read('auth/token/lookup-self').expect(200);
    expect(looked.body.data.last_renewal_time).toBeGreaterThan(0);
  });

  it('are renewed for simultaneous callers, and never after they are revoked', async () => {
    // Replicas may share one token: a renewal that lost a race must not look like an expired token.
    const { client_token } = await make({ ttl: '1h', policies: ['default'] });
    const self = secrets.as(client_token);
    const renewed = await Promise.all(Array.from({ length: 30 }, () => self.write('auth/token/renew-self', {})));
    expect(renewed.map(({ status }) => status)).toEqual(renewed.map(() => 200));
    const [revoked, ...late] = await Promise.all([
      secrets.root.write('auth/token/revoke', { token: client_token }),
      ...Array.from({ length: 10 }, () => self.write('auth/token/renew-self', {})),
    ]);
    expect(revoked.status).toBe(204);
    for (const { status } of late) expect([200, 400, 403]).toContain(status);
    await self.read('auth/token/lookup-self').expect(403);
  });

  it('warn when a lifetime is cut to the maximum', async () => {
    const { body } = await secrets.root
      .write('auth/token/create', { policies: ['default'], ttl: '2h', explicit_max_ttl: '1h' })
      .expect(200);
    expect(body.auth.lease_duration).toBe(3600);
    expect(body.warnings).toEqual([
      'TTL of "2h" exceeded the effective max_ttl of "1h"; TTL value is capped accordingly',
    ]);
  });

  it.each([
    ['renew', {}, 'missing token ID'],
    ['renew', { token: 'zz' }, 'token not found'],
    ['revoke', {}, 'missing token ID'],
    ['revoke-orphan', { token: 'zz' }, 'token to revoke not found'],
    ['create', { type: 'zz' }, "invalid 'token_type' value"],
    ['create', { type: 'batch', num_uses: 1 }, 'batch tokens cannot have "num_uses" set'],
    ['create', { num_uses: -1 }, 'number of uses cannot be negative'],
    ['create', { num_uses: 2 ** 31 }, 'number of uses cannot be greater than 2147483647'],
    ['create', { id: 's.mine' }, "custom token ID cannot have the 's.' prefix"],
    ['create', { id: 'mi.ne' }, "custom token ID cannot have a '.' in the value"],
    ['create', { type: 'batch' }, 'batch tokens cannot be root tokens'],
    ['create', { ttl: '-5s' }, 'ttl must be positive'],
    ['create', { explicit_max_ttl: -5 }, 'explicit_max_ttl must be positive'],
    ['create', { period: -5 }, 'period must be positive'],
    ['create', { ttl: '99999999999999h' }, 'time: invalid duration "99999999999999h"'],
    ['create', { policies: ['response-wrapping'] }, 'cannot assign policy "response-wrapping"'],
    ['create', { entity_alias: 'x' }, "'entity_alias' is only allowed in combination with token role"],
    ['create/nope', {}, 'unknown role nope'],
  ])('%s with %j is refused: %s', async (path, fields, message) => {
    await secrets.root.write(`auth/token/${path}`, fields).expect(400, { errors: [message] });
  });

  it('accept an id chosen by the caller only once', async () => {
    await secrets.root.write('auth/token/create', { id: 'mine' }).expect(200);
    await secrets.as('mine').read('auth/token/lookup-self').expect(200);
    await secrets.root
      .write('auth/token/create', { id: 'mine' })
      .expect(400, { errors: ['cannot create a token with a duplicate ID'] });
  });

  describe('of a caller without sudo', () => {
    const rules = 'path "auth/token/*" { capabilities = ["create", "update", "read"] }';
    it.each([
      [{ policies: ['other'] }, 'child policies must be subset of parent'],
      [{ no_parent: true }, 'root or sudo privileges required to create orphan token'],
      [{ period: '1h' }, 'root or sudo privileges required to create periodic token'],
      [{ id: 'abc' }, 'root or sudo privileges required to specify token id'],
    ])('%j is refused', async (fields, message) => {
      const weak = await secrets.withPolicy(rules);
      await weak.write('auth/token/create', fields).expect(400, { errors: [message] });
    });

    it('the parent’s policies are inherited', async () => {
      const weak = await secrets.withPolicy(rules);
      const { body } = await weak.write('auth/token/create').expect(200);
      const own = await weak.read('auth/token/lookup-self').expect(200);
      expect(body.auth.policies).toEqual(own.body.data.policies);
    });

    it('orphans come from create-orphan', async () => {
      const weak = await secrets.withPolicy(rules);
      const { body } = await weak.write('auth/token/create-orphan').expect(200);
      expect(body.auth.orphan).toBe(true);
    });
  });

  it('with one use are used exactly once under simultaneous requests', async () => {
    for (let round = 0; round < 5; round++) {
      const { client_token } = await make({ num_uses: 1, policies: ['default'] });
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => secrets.as(client_token).read('auth/token/lookup-self')),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403, 403, 403, 403, 403]);
      expect(answers.find(({ status }) => status === 200)!.body.data.num_uses).toBe(-1);
    }
  });

  it('with limited uses cannot create tokens', async () => {
    const { client_token } = await make({ num_uses: 3 });
    await secrets
      .as(client_token)
      .write('auth/token/create')
      .expect(400, { errors: ['restricted use token cannot generate child tokens'] });
  });

  it('of type batch are not stored, cannot be renewed or revoked, and have no cubbyhole', async () => {
    const zeros = { period: '0s', explicit_max_ttl: '0s', num_uses: 0 };
    const { client_token, accessor } = await make({ type: 'batch', policies: ['default'], ttl: '1h', ...zeros });
    expect(client_token).toMatch(/^b\./);
    expect(accessor).toBe('');
    const batch = secrets.as(client_token);
    const { body } = await batch.read('auth/token/lookup-self').expect(200);
    expect(body.data).toMatchObject({ type: 'batch', renewable: false });
    await batch.write('auth/token/renew-self').expect(400, { errors: ['batch tokens cannot be renewed'] });
    await batch
      .write('cubbyhole/a', { a: 1 })
      .expect(400, { errors: ["cubbyhole operations are only supported by 'service' type tokens"] });
    await secrets.root
      .write('auth/token/revoke', { token: client_token })
      .expect(400, { errors: ['batch tokens cannot be revoked'] });
  });

  it('created through a role get what the role allows', async () => {
    await secrets.root
      .write('auth/token/roles/app', {
        allowed_policies: 'child,default',
        orphan: true,
        token_period: '1h',
        path_suffix: 'ops',
      })
      .expect(204);
    const { body } = await secrets.root.write('auth/token/create/app').expect(200);
    expect(body.auth).toMatchObject({ policies: ['child', 'default'], orphan: true, lease_duration: 3600 });
    const looked = await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(200);
    expect(looked.body.data).toMatchObject({ period: 3600, role: 'app', path: 'auth/token/create/app/ops' });
    await secrets.root.write('auth/token/create/app', { policies: ['zzz'] }).expect(400, {
      errors: [
        'token policies (["default" "zzz"]) must be subset of the role\'s allowed policies (["child" "default"]) or glob policies ([])',
      ],
    });
    await secrets.root.list('auth/token/roles').expect(200, /"keys":\["app"\]/);
    const read = await secrets.root.read('auth/token/roles/app').expect(200);
    expect(read.body.data).toMatchObject({ name: 'app', allowed_policies: ['child', 'default'], renewable: true });
    await secrets.root.delete('auth/token/roles/app').expect(204);
    await secrets.root.read('auth/token/roles/app').expect(404);
    await secrets.root.delete('auth/token/roles/app').expect(204);
  });

  it('can be used from no more addresses than the token they come from', async () => {
    await secrets.root
      .write('auth/token/roles/near', { token_bound_cidrs: '127.0.0.0/8,::1', allowed_policies: 'root' })
      .expect(204);
    const near = secrets.as(
      (await secrets.root.write('auth/token/create/near', { ttl: '1h' }).expect(200)).body.auth.client_token,
    );
    const boundOf = async (path: string, fields: object = {}) => {
      const made = await near.write(`auth/token/${path}`, { ttl: '1h', ...fields }).expect(200);
      const { accessor } = made.body.auth;
      return (await secrets.root.write('auth/token/lookup-accessor', { accessor }).expect(200)).body.data.bound_cidrs;
    };
    expect(await boundOf('create')).toEqual(['127.0.0.0/8', '::1']);
    // Orphans have no parent, and a role sets its own addresses.
    expect(await boundOf('create-orphan')).toBeUndefined();
    await secrets.root.write('auth/token/roles/wide', {}).expect(204);
    expect(await boundOf('create/wide')).toBeUndefined();
  });

  it('show their accessors only to callers with sudo', async () => {
    await secrets.root.list('auth/token/accessors').expect(200);
    const weak = await secrets.withPolicy('path "auth/token/accessors/" { capabilities = ["list"] }');
    await weak.list('auth/token/accessors').expect(403);
    await secrets.root.read('auth/token/accessors').expect(405);
  });

  it('have the same accessors in pages as in one response', async () => {
    await Promise.all(Array.from({ length: 5 }, () => make()));
    const whole = (await secrets.root.list('auth/token/accessors').expect(200)).body.data.keys as string[];
    const paged: string[] = [];
    for (let page = whole; page.length > 0; ) {
      const after = paged.length === 0 ? '' : `&after=${paged.at(-1)}`;
      const answer = await secrets.root.list(`auth/token/accessors?limit=2${after}`);
      page = answer.status === 404 ? [] : answer.body.data.keys;
      paged.push(...page);
    }
    expect(paged).toEqual(whole);
  });

  it('tidy removes the remains of ended tokens in the background, and nothing of live ones', async () => {
    const [left, living] = [await make(), await make()];
    for (const { client_token } of [left, living]) {
      await secrets.as(client_token).write('cubbyhole/a/b', { v: '1' }).expect(204);
    }
    const { kernel } = secrets.service;
    const hash = (await kernel.tokens.find(left.client_token))!.key;
    const rows = async () =>
      (await query(`SELECT count(*)::int AS count FROM entry WHERE path LIKE '${hash}/%'`)).rows[0].count;
    // As in a backup that was taken between two statements.
    await query(`DELETE FROM token WHERE hash = '\\x${hash}'`);
    expect(await rows()).toBe(1);
    await secrets.root.write('auth/token/tidy').expect(202);
    await until(async () => (await rows()) === 0);
    expect((await secrets.as(living.client_token).read('cubbyhole/a/b').expect(200)).body.data).toEqual({ v: '1' });
  });
});
