import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

const wrapped = (text: string) => `1 error occurred:\n\t* ${text}\n\n`;
const allow = (path: string, ...capabilities: string[]) =>
  `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`;

describe('policies', () => {
  const secrets = startSecrets();

  it('are written, read, listed and deleted by any spelling of their names', async () => {
    await secrets.root.write('sys/policies/acl/Team-A', { policy: allow('a', 'read') }).expect(204);
    const { body } = await secrets.root.read('sys/policies/acl/TEAM-a').expect(200);
    expect(body.data).toMatchObject({
      name: 'team-a',
      policy: allow('a', 'read'),
      version: 1,
      cas_required: false,
      allow_wildcards_in_identity_templates: false,
      allow_slashes_in_identity_templates: false,
    });
    expect(Date.parse(body.data.modified)).not.toBeNaN();
    expect(body.name).toBeUndefined();
    await secrets.root.put('sys/policies/acl/team-a', { policy: allow('b', 'read') }).expect(204);
    expect((await secrets.root.read('sys/policies/acl/team-a')).body.data.version).toBe(2);
    // Two ways to require that there is no policy yet.
    for (const cas of [-1, 0]) {
      const there = { policy: allow('c', 'read'), cas };
      await secrets.root.put('sys/policies/acl/team-a', there).expect(400, /did not match the current version/);
      await secrets.root.put(`sys/policies/acl/team${cas}`, there).expect(204);
      await secrets.root.delete(`sys/policies/acl/team${cas}`).expect(204);
    }
    const detailed = (await secrets.root.list('sys/policies/detailed/acl').expect(200)).body.data;
    expect(detailed.keys).toEqual((await secrets.root.list('sys/policies/acl')).body.data.keys);
    expect(detailed.key_info['team-a']).toEqual((await secrets.root.read('sys/policies/acl/team-a')).body.data);
    const listed = await secrets.root.list('sys/policies/acl').expect(200);
    expect(listed.body.data.keys).toEqual(expect.arrayContaining(['default', 'root', 'team-a']));
    await secrets.root.read('sys/policies/acl').expect(405);
    await secrets.root.delete('sys/policies/acl/Team-a').expect(204);
    await secrets.root.delete('sys/policies/acl/Team-a').expect(204);
    await secrets.root.read('sys/policies/acl/team-a').expect(404, '{"errors":[]}\n');
  });

  it('have an older form, whose fields are at the top level as well', async () => {
    await secrets.root.write('sys/policy/older', { policy: allow('a', 'read') }).expect(204);
    const one = await secrets.root.read('sys/policy/older').expect(200);
    expect(one.body.data).toMatchObject({ name: 'older', rules: allow('a', 'read') });
    expect(one.body).toMatchObject({ name: 'older', rules: allow('a', 'read') });
    for (const answer of [await secrets.root.read('sys/policy'), await secrets.root.list('sys/policy')]) {
      expect(answer.status).toBe(200);
      expect(answer.body.data.keys).toEqual(answer.body.data.policies);
      expect(answer.body.keys).toEqual(expect.arrayContaining(['default', 'older', 'root']));
    }
    await secrets.root.delete('sys/policy/older').expect(204);
  });

  it('are accepted in JSON and in base64 as well', async () => {
    const json = JSON.stringify({ path: { a: { capabilities: ['read'] } } });
    await secrets.root.write('sys/policies/acl/j', { policy: json }).expect(204);
    await secrets.root.write('sys/policies/acl/b', { policy: Buffer.from(json).toString('base64') }).expect(204);
    expect((await secrets.root.read('sys/policies/acl/b')).body.data.policy).toBe(json);
  });

  it.each([
    [{}, "'policy' parameter not supplied or empty"],
    [{ policy: '' }, "'policy' parameter not supplied or empty"],
    [{ policy: allow('x', 'bogus') }, 'failed to parse policy: path "x": invalid capability "bogus"'],
    [{ policy: 'path "x" {{' }, 'failed to parse policy: At 1:11: expected: IDENT | STRING got: LBRACE'],
    [{ policy: 'path "x" { foo = 1 }' }, `failed to parse policy: ${wrapped('path "x": invalid key "foo" on line 1')}`],
    [
      { policy: allow('x+*', 'read') },
      `failed to parse policy: path "x+*": invalid use of wildcards ('+*' is forbidden)`,
    ],
    [
      { policy: 'path "x" { min_wrapping_ttl = 5 max_wrapping_ttl = 4 }' },
      'failed to parse policy: max_wrapping_ttl cannot be less than min_wrapping_ttl',
    ],
    [{ policy: `# ${'x'.repeat(1_000_000)}` }, "'policy' is longer than 524288 bytes"],
    [{ policy: allow('s/'.repeat(10_000), 'read') }, /more than 1000 segments$/],
    [{ policy: '#', expiration: 'soon' }, "'expiration' must be a time such as 2030-01-31T12:00:00Z"],
    [{ policy: '#', cas: 7 }, 'check-and-set parameter did not match the current version'],
  ])('refuse bad input, case %#', async (body, message) => {
    const answer = await secrets.root.write('sys/policies/acl/bad', body).expect(400);
    expect(answer.body.errors).toHaveLength(1);
    if (typeof message === 'string') expect(answer.body.errors[0]).toBe(message);
    else expect(answer.body.errors[0]).toMatch(message);
    await secrets.root.read('sys/policies/acl/bad').expect(404);
  });

  it.each([
    ['write', 'root', 'cannot update "root" policy'],
    ['delete', 'Root', 'cannot delete "root" policy'],
    ['delete', 'default', 'cannot delete default policy'],
    ['write', 'response-wrapping', 'cannot update "response-wrapping" policy'],
  ] as const)('refuse to %s %s', async (verb, name, message) => {
    const path = `sys/policies/acl/${name}`;
    const answer = verb === 'write' ? secrets.root.write(path, { policy: '#' }) : secrets.root.delete(path);
    await answer.expect(400, { errors: [message] });
  });

  it('apply to the next request of existing tokens', async () => {
    await secrets.root
      .write('sys/policies/acl/live', { policy: allow('cubbyhole/x', 'read', 'create', 'update') })
      .expect(204);
    const made = await secrets.root
      .write('auth/token/create', { policies: ['live'], no_default_policy: true })
      .expect(200);
    const token = secrets.as(made.body.auth.client_token);
    await token.write('cubbyhole/x', { a: 1 }).expect(204);
    await secrets.root.write('sys/policies/acl/live', { policy: allow('cubbyhole/x', 'read') }).expect(204);
    await token.read('cubbyhole/x').expect(200);
    await token.write('cubbyhole/x', { a: 1 }).expect(403, { errors: [wrapped('permission denied')] });
    await secrets.root.delete('sys/policies/acl/live').expect(204);
    await token.read('cubbyhole/x').expect(403);
  });

  it('distinguish create from update if a path has both', async () => {
    const creator = await secrets.withPolicy(allow('cubbyhole/*', 'create'));
    await creator.write('cubbyhole/new', { a: 1 }).expect(204);
    await creator.write('cubbyhole/new', { a: 2 }).expect(403);
    const updater = await secrets.withPolicy(allow('cubbyhole/*', 'update'));
    await updater.write('cubbyhole/new', { a: 1 }).expect(403);
  });

  it('check the parameters of requests', async () => {
    const token = await secrets.withPolicy(
      'path "cubbyhole/*" {\n capabilities = ["create", "update"]\n allowed_parameters = { "color" = ["red", "gr*"] }\n required_parameters = ["color"] }',
    );
    await token.write('cubbyhole/p', { color: 'green' }).expect(204);
    await token.write('cubbyhole/p', { color: 'red', Color: 'red' }).expect(204);
    await token.write('cubbyhole/p', { Color: 'red' }).expect(403);
    await token.write('cubbyhole/p', { color: 'red', Color: 'blue' }).expect(403);
    await token.write('cubbyhole/p', { color: 'blue' }).expect(403, { errors: [wrapped('permission denied')] });
    await token.write('cubbyhole/p', { color: 'red', other: 1 }).expect(403);
    await token.write('cubbyhole/p', { size: 1 }).expect(403);
  });

  it('can require wrapped answers', async () => {
    const token = await secrets.withPolicy(
      'path "auth/token/lookup-self" { capabilities = ["read"] min_wrapping_ttl = "1m" max_wrapping_ttl = "2m" }',
    );
    await token.read('auth/token/lookup-self').expect(403);
    await token.read('auth/token/lookup-self').set('X-Service-Wrap-TTL', '30s').expect(403);
    await token.read('auth/token/lookup-self').set('X-Service-Wrap-TTL', '90s').expect(200);
  });
});

describe('the default policy', () => {
  const secrets = startSecrets();

  it('lets a token manage itself and nothing else', async () => {
    const made = await secrets.root.write('auth/token/create', { policies: ['default'] }).expect(200);
    const token = secrets.as(made.body.auth.client_token);
    await token.read('auth/token/lookup-self').expect(200);
    await token.write('auth/token/lookup-self').expect(403);
    await token.write('cubbyhole/mine', { a: 1 }).expect(204);
    await token.list('cubbyhole/').expect(200);
    await token.write('sys/capabilities-self', { paths: ['cubbyhole/mine'] }).expect(200);
    await token.read('sys/policies/acl/default').expect(403);
    await token.write('auth/token/create', {}).expect(403);
    await token.write('auth/token/revoke-self').expect(204);
  });

  it('can be edited', async () => {
    await secrets.root.write('sys/policies/acl/default', { policy: '# nothing' }).expect(204);
    const made = await secrets.root.write('auth/token/create', { policies: ['default'] }).expect(200);
    await secrets.as(made.body.auth.client_token).read('auth/token/lookup-self').expect(403);
  });
});

describe('capabilities', () => {
  const secrets = startSecrets();
  const rules = [
    allow('sec/*', 'read', 'list', 'create'),
    allow('sec/no', 'deny'),
    allow('sys/capabilities-self', 'update'),
  ].join('\n');

  it('are shown for the caller’s own token, another one, and an accessor', async () => {
    const token = await secrets.withPolicy(rules);
    const self = await token.write('sys/capabilities-self', { paths: ['sec/a', '/sec/no', 'else'] }).expect(200);
    expect(self.body.data).toEqual({ 'sec/a': ['create', 'list', 'read'], '/sec/no': ['deny'], else: ['deny'] });
    expect(self.body['sec/a']).toEqual(['create', 'list', 'read']);
    const one = await secrets.root.write('sys/capabilities', { token: token.token, path: 'sec/a' }).expect(200);
    expect(one.body.data).toEqual({ 'sec/a': ['create', 'list', 'read'], capabilities: ['create', 'list', 'read'] });
    expect(one.body.capabilities).toEqual(['create', 'list', 'read']);
    const { body } = await secrets.root.write('auth/token/lookup', { token: token.token }).expect(200);
    const byAccessor = await secrets.root
      .write('sys/capabilities-accessor', { accessor: body.data.accessor, paths: 'sec/a,sec/no' })
      .expect(200);
    expect(byAccessor.body.data).toEqual({ 'sec/a': ['create', 'list', 'read'], 'sec/no': ['deny'] });
    const root = await secrets.root.write('sys/capabilities-self', { paths: ['x'] }).expect(200);
    expect(root.body.data).toEqual({ x: ['root'], capabilities: ['root'] });
  });

  it.each([
    ['capabilities-self', {}, 'paths must be supplied'],
    ['capabilities', { paths: ['x'] }, wrapped('no token found')],
    ['capabilities', { paths: ['x'], token: 's.nope' }, wrapped('invalid token')],
    ['capabilities-accessor', { paths: ['x'], accessor: 'nope' }, wrapped('invalid token')],
    ['capabilities-self', { paths: ['a/'.repeat(10_000)] }, 'paths cannot have more than 1000 segments'],
  ])('%s refuses bad input, case %#', async (path, body, message) => {
    await secrets.root.write(`sys/${path}`, body).expect(400, { errors: [message] });
  });
});

describe('explanations', () => {
  const secrets = startSecrets();

  it('name the deciding rule, the losing ones, and other obstacles', async () => {
    await secrets.root.write('sys/policies/acl/wide', { policy: `# line one\n${allow('sec/*', 'read')}` }).expect(204);
    await secrets.root.write('sys/policies/acl/narrow', { policy: allow('sec/a*', 'deny') }).expect(204);
    const made = await secrets.root.write('auth/token/create', { policies: ['wide', 'narrow'] }).expect(200);
    const token = secrets.as(made.body.auth.client_token);
    const own = await token.write('sys/policies/explain', { path: 'sec/abc', operation: 'read' }).expect(200);
    expect(own.body.data).toMatchObject({
      allowed: false,
      granted_by_policy: false,
      reason: 'denied',
      rule: { path: 'sec/a*', capabilities: ['deny'], places: [{ policy: 'narrow', path: 'sec/a*', line: 1 }] },
      losing_rules: [
        {
          path: 'sec/*',
          lost_because: 'its first wildcard is further to the left',
          places: [{ policy: 'wide', line: 2 }],
        },
      ],
      obstacles: [],
    });
    const accessor = made.body.auth.accessor;
    const foreign = await secrets.root
      .write('sys/policies/explain', { accessor, path: 'sec/b', operation: 'read' })
      .expect(200);
    expect(foreign.body.data).toMatchObject({ allowed: true, rule: { path: 'sec/*' } });
    const ofPolicies = { policies: ['wide', 'missing'], path: 'sec/abc', operation: 'read' };
    const { data: imagined } = (await secrets.root.write('sys/policies/explain', ofPolicies).expect(200)).body;
    expect(imagined).toMatchObject({ allowed: true, policies: ['missing', 'wide'], rule: { path: 'sec/*' } });
    await token.write('sys/policies/explain', ofPolicies).expect(403, { errors: [wrapped('permission denied')] });
    const both = await secrets.root.write('sys/policies/explain', { ...ofPolicies, accessor }).expect(400);
    expect(both.body.errors).toEqual(["only one of 'token', 'accessor' and 'policies' can be given"]);
    await token
      .write('sys/policies/explain', { token: secrets.rootToken, path: 'sec/b', operation: 'read' })
      .expect(403, { errors: [wrapped('permission denied')] });
  });

  it('see address limits and missing sudo', async () => {
    await secrets.root
      .write('sys/policies/acl/all', { policy: allow('*', 'create', 'read', 'update', 'delete', 'list') })
      .expect(204);
    const role = { token_bound_cidrs: ['10.0.0.0/8'], allowed_policies: ['all'] };
    await secrets.root.write('auth/token/roles/bound', role).expect(204);
    const made = await secrets.root.write('auth/token/create/bound', { policies: ['all'] }).expect(200);
    const ask = (body: object) =>
      secrets.root.write('sys/policies/explain', { accessor: made.body.auth.accessor, ...body }).expect(200);
    const outside = await ask({ path: 'cubbyhole/a', operation: 'read' });
    expect(outside.body.data).toMatchObject({ allowed: false, granted_by_policy: true, obstacles: [{ kind: 'cidr' }] });
    const inside = await ask({ path: 'cubbyhole/a', operation: 'read', address: '10.1.2.3' });
    expect(inside.body.data).toMatchObject({ allowed: true, obstacles: [] });
    const sudo = await ask({ path: 'auth/token/accessors', operation: 'list', address: '10.1.2.3' });
    expect(sudo.body.data.obstacles).toMatchObject([{ kind: 'sudo' }]);
  });

  it('see a rate limit that is used up, without counting', async () => {
    await secrets.root.write('sys/quotas/rate-limit/slow', { rate: 1, interval: '1h', path: 'cubbyhole' }).expect(204);
    const ask = () =>
      secrets.root.write('sys/policies/explain', { path: 'cubbyhole/a', operation: 'read' }).expect(200);
    for (let i = 0; i < 3; i += 1) expect((await ask()).body.data.obstacles).toEqual([]);
    await secrets.root.read('cubbyhole/a').expect(404);
    await secrets.root.read('cubbyhole/a').expect(429);
    expect((await ask()).body.data.obstacles).toEqual([
      { kind: 'quota', message: 'the rate limit quota "slow" is exhausted' },
    ]);
    await secrets.root.delete('sys/quotas/rate-limit/slow').expect(204);
  });

  it.each([
    [{ operation: 'read' }, /missing required field "path"/],
    [{ path: 'x', operation: 'look' }, /operation/],
    [{ path: 'x', operation: 'read', token: 's.nope' }, /invalid token/],
    [{ path: 'a/'.repeat(10_000), operation: 'read' }, /more than 1000 segments/],
    [{ path: 'x', operation: 'read', address: 'zzz' }, /Unable to convert/],
  ])('refuse bad input, case %#', async (body, message) => {
    const answer = await secrets.root.write('sys/policies/explain', body).expect(400);
    expect(answer.body.errors[0]).toMatch(message);
  });
});
