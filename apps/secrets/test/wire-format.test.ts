import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { startSecrets } from './start-secrets';

const wrapped = (text: string) => `1 error occurred:\n\t* ${text}\n\n`;

describe('wire format', () => {
  const secrets = startSecrets();

  it('sends the fixed headers with every answer, refusals included (SP.3, SP.54)', async () => {
    for (const answer of [
      await secrets.root.read('auth/token/lookup-self'),
      await secrets.anonymous.read('nosuch'),
      await secrets.anonymous.read('sys/health'),
      await secrets.root.delete('cubbyhole/none'),
    ]) {
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.headers['strict-transport-security']).toBe('max-age=31536000; includeSubDomains');
    }
  });

  it('sends the eight envelope keys in their order, with a fresh request id (S1.1, S1.2, S1.3, S1.4, S1.5)', async () => {
    await secrets.root.write('cubbyhole/e', { a: 'b' }).expect(204);
    const first = await secrets.root.read('cubbyhole/e').expect(200);
    const second = await secrets.root.read('cubbyhole/e').expect(200);
    expect(Object.keys(first.body)).toEqual([
      'request_id',
      'lease_id',
      'renewable',
      'lease_duration',
      'data',
      'wrap_info',
      'warnings',
      'auth',
    ]);
    expect(first.body).toMatchObject({
      lease_id: '',
      renewable: false,
      lease_duration: 0,
      wrap_info: null,
      auth: null,
    });
    expect(first.body.request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(first.body.request_id).not.toBe(second.body.request_id);
    await secrets.root.write('cubbyhole/f', { c: 'd' }).expect(204);
    const other = await secrets.root.read('cubbyhole/f').expect(200);
    expect([first.body.data, second.body.data, other.body.data]).toEqual([{ a: 'b' }, { a: 'b' }, { c: 'd' }]);
    const listed = await secrets.root.list('cubbyhole/').expect(200);
    expect(listed.body).toMatchObject({ data: { keys: ['e', 'f'] }, auth: null, lease_id: '', lease_duration: 0 });
    const made = await secrets.root.write('auth/token/create', {}).expect(200);
    expect(made.body).toMatchObject({ data: null, auth: { client_token: expect.any(String), policies: ['root'] } });
  });

  it('sends created tokens in auth, with null in data', async () => {
    const { body } = await secrets.root
      .write('auth/token/create', { policies: ['dev'], ttl: '1h', meta: { a: 'b' } })
      .expect(200);
    expect(body.data).toBeNull();
    expect(Object.keys(body.auth)).toEqual([
      'client_token',
      'accessor',
      'policies',
      'token_policies',
      'metadata',
      'lease_duration',
      'renewable',
      'entity_id',
      'token_type',
      'orphan',
      'mfa_requirement',
      'num_uses',
    ]);
    expect(body.auth).toMatchObject({
      policies: ['default', 'dev'],
      metadata: { a: 'b' },
      lease_duration: 3600,
      renewable: true,
      token_type: 'service',
      orphan: false,
      num_uses: 0,
    });
    expect(body.auth.client_token).toMatch(/^s\.[0-9A-Za-z]{24}$/);
    expect(body.auth.accessor).toMatch(/^[0-9A-Za-z]{24}$/);
    expect(body.warnings).toEqual(['Policy "dev" does not exist']);
  });

  it('leaves token_policies out of a token without any', async () => {
    const { body } = await secrets.root
      .write('auth/token/create', { policies: ['default'], no_default_policy: true })
      .expect(200);
    expect(body.auth.policies).toEqual([]);
    expect(body.auth).not.toHaveProperty('token_policies');
  });

  it('copies data to the top level on the older system paths only', async () => {
    const mounts = await secrets.root.read('sys/mounts').expect(200);
    expect(mounts.body['cubbyhole/']).toEqual(mounts.body.data['cubbyhole/']);
    const self = await secrets.root.write('sys/capabilities-self', { path: 'sys/mounts' }).expect(200);
    expect(self.body).toMatchObject({ capabilities: ['root'], data: { 'sys/mounts': ['root'] } });
    const policies = await secrets.root.list('sys/policies/acl').expect(200);
    expect(policies.body).not.toHaveProperty('keys');
  });

  it('answers health, seal status, leader and init without an envelope', async () => {
    for (const path of ['sys/health', 'sys/seal-status', 'sys/leader', 'sys/init']) {
      const { body } = await secrets.anonymous.read(path).expect(200);
      expect(body).not.toHaveProperty('request_id');
    }
  });

  it.each([
    ['{"n":12345678901234567890}', '{"n":12345678901234567890}'],
    ['{"n":1.50}', '{"n":1.50}'],
    ['{"n":1e3}', '{"n":1e3}'],
    ['{"n":-0}', '{"n":-0}'],
    [
      '{"n":0.1, "m":[100000000000000000000000001, {"x": 3.14159265358979323846}]}',
      '{"n":0.1,"m":[100000000000000000000000001,{"x":3.14159265358979323846}]}',
    ],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['{"a":1.5,"a":2.5}', '{"a":2.5}'],
    ['{"__proto__":{"x":1},"constructor":"c"}', '{"__proto__":{"x":1},"constructor":"c"}'],
    ['{"__proto__":{"x":1.0},"constructor":"c"}', '{"__proto__":{"x":1.0},"constructor":"c"}'],
    ['{"isLosslessNumber":true,"value":"1","n":1.0}', '{"isLosslessNumber":true,"value":"1","n":1.0}'],
  ])('keeps %s digit by digit', async (sent, kept) => {
    await secrets.root.write('cubbyhole/number', sent).expect(204);
    const { text } = await secrets.root.read('cubbyhole/number').expect(200);
    expect(text).toContain(`"data":${kept},`);
  });

  describe('refusals', () => {
    it.each([
      ['no token', undefined, 'get', 'cubbyhole/a', undefined, 403, ['permission denied']],
      ['no token on a path without mount', undefined, 'get', 'nosuch/foo', undefined, 403, ['permission denied']],
      ['an unknown token', 's.unknown', 'get', 'cubbyhole/a', undefined, 403, ['permission denied']],
      [
        'root on a path without mount',
        'root',
        'get',
        'nosuch/foo',
        undefined,
        404,
        ['no handler for route "nosuch/foo". route entry not found.'],
      ],
      ['an unknown path of a mount', 'root', 'get', 'auth/token/nosuch', undefined, 404, [wrapped('unsupported path')]],
      [
        'an operation that a path does not have',
        'root',
        'delete',
        'auth/token/lookup-self',
        undefined,
        405,
        [wrapped('unsupported operation')],
      ],
      ['a missing item', 'root', 'get', 'cubbyhole/none', undefined, 404, []],
      ['an empty list', 'root', 'get', 'cubbyhole/none/?list=true', undefined, 404, []],
      ['a write to a folder', 'root', 'post', 'cubbyhole/a/', '{"a":1}', 400, ["cannot write to a path ending in '/'"]],
      ['a list parameter that is not a boolean', 'root', 'get', 'cubbyhole/?list=maybe', undefined, 400, []],
      ['list and scan at once', 'root', 'get', 'cubbyhole/?list=true&scan=true', undefined, 400, []],
      [
        'invalid JSON',
        'root',
        'post',
        'cubbyhole/a',
        '{bad',
        400,
        ["failed to decode JSON input: invalid character 'b'"],
      ],
      [
        'truncated JSON',
        'root',
        'post',
        'cubbyhole/a',
        '{"a":',
        400,
        ['failed to decode JSON input: unexpected end of JSON input'],
      ],
      [
        'half of a surrogate pair',
        'root',
        'post',
        'cubbyhole/a',
        '{"b":{"c":["\\uD83D"]}}',
        400,
        ['b.c.0 contains an unpaired surrogate'],
      ],
      [
        'half of a surrogate pair in a name',
        'root',
        'post',
        'cubbyhole/a',
        '{"\\udfff":1.0}',
        400,
        ['the body contains an unpaired surrogate'],
      ],
      [
        'an array as body',
        'root',
        'post',
        'cubbyhole/a',
        '[1]',
        400,
        ['failed to decode JSON input: json: cannot unmarshal array into Go value of type map[string]interface {}'],
      ],
      [
        'a string as body',
        'root',
        'post',
        'cubbyhole/a',
        '"x"',
        400,
        ['failed to decode JSON input: json: cannot unmarshal string into Go value of type map[string]interface {}'],
      ],
      ['an empty cubbyhole write', 'root', 'post', 'cubbyhole/a', '{}', 400, ['missing data fields']],
      ['a bad duration', 'root', 'post', 'auth/token/create', '{"ttl":"zz"}', 400, ['time: invalid duration "zz"']],
      [
        'an invalid number',
        'root',
        'post',
        'auth/token/create',
        '{"num_uses":"zz"}',
        400,
        [
          'Field validation failed: error converting input zz for field "num_uses": cannot parse \'\' as int: strconv.ParseInt: parsing "zz": invalid syntax',
        ],
      ],
      [
        'a bad wrapping TTL',
        'root',
        'get',
        'sys/mounts',
        undefined,
        400,
        ['error parsing X-Service-Wrap-TTL header: time: invalid duration "zz"'],
        { 'X-Service-Wrap-TTL': 'zz' },
      ],
      [
        'an unknown namespace',
        'root',
        'get',
        'sys/mounts',
        undefined,
        404,
        ['namespace not found'],
        { 'X-Service-Namespace': 'nope' },
      ],
      ['PATCH without a media type', 'root', 'patch', 'cubbyhole/a', undefined, 400, ['mime: no media type']],
      [
        'PATCH with another media type',
        'root',
        'patch',
        'cubbyhole/a',
        '{}',
        415,
        ['PATCH requires Content-Type of application/merge-patch+json, provided application/json'],
      ],
      ['OPTIONS', 'root', 'options', 'cubbyhole/a', undefined, 400, ['cannot handle internal-only request operation']],
      ['GET on a bare system path that only takes POST', 'root', 'get', 'sys/seal', undefined, 405, []],
    ] as const)(
      '%s',
      async (_what, token, method, path, body, status, errors, headers: Readonly<Record<string, string>> = {}) => {
        const sent = request(secrets.server)[method](`/v1/${path}`);
        if (token) sent.set('X-Service-Token', token === 'root' ? secrets.rootToken : token);
        for (const [name, value] of Object.entries(headers)) sent.set(name, value);
        if (body !== undefined) sent.set('Content-Type', 'application/json').send(body);
        const answer = await sent;
        expect([answer.status, answer.body]).toEqual([status, { errors }]);
      },
    );

    it('reveal nothing about mounts, paths or items to a token without rights (SA.7)', async () => {
      const weak = await secrets.withPolicy(
        'path "cubbyhole/yes" { capabilities = ["read"] } path "nowhere/*" { capabilities = ["read"] }',
      );
      for (const path of ['cubbyhole/no', 'nosuch/foo', 'auth/token/nosuch', 'sys/mounts', 'nowhere/foo']) {
        await weak.read(path).expect(403, { errors: [wrapped('permission denied')] });
      }
      await weak.read('cubbyhole/yes').expect(404);
    });

    it('HEAD is answered without a body', async () => {
      await request(secrets.server).head('/v1/sys/health').expect(200);
      await request(secrets.server).head('/v1/cubbyhole/a').set('X-Service-Token', secrets.rootToken).expect(405);
    });
  });

  describe('tokens on the wire', () => {
    it.each([
      ['X-Service-Token', (token: string) => token, 200],
      ['X-Vault-Token', (token: string) => token, 200],
      ['Authorization', (token: string) => `Bearer ${token}`, 200],
      ['Authorization', (token: string) => `bearer ${token}`, 403],
      ['Authorization', (token: string) => `Basic ${token}`, 403],
    ] as const)('%s is understood in its own form', async (name, form, status) => {
      await request(secrets.server).get('/v1/auth/token/lookup-self').set(name, form(secrets.rootToken)).expect(status);
    });

    it('X-Service-Token wins over Authorization (SA.1)', async () => {
      await request(secrets.server)
        .get('/v1/auth/token/lookup-self')
        .set('X-Service-Token', secrets.rootToken)
        .set('Authorization', 'Bearer nonsense')
        .expect(200);
    });

    it('two spellings of one header must have the same value', async () => {
      const ask = (family: string) =>
        request(secrets.server)
          .get('/v1/auth/token/lookup-self')
          .set('X-Service-Token', secrets.rootToken)
          .set('X-Vault-Token', family);
      await ask(secrets.rootToken).expect(200);
      await ask('another').expect(400, {
        errors: ['the headers x-service-token and x-vault-token have different values'],
      });
    });

    it('the requested namespace is echoed', async () => {
      const answer = await secrets
        .as(secrets.rootToken, { 'X-Service-Namespace': 'root' })
        .read('sys/mounts')
        .expect(200);
      expect(answer.headers['x-service-namespace']).toBe('root');
    });
  });

  describe('paths', () => {
    it.each([
      ['cubbyhole//a', '/v1/cubbyhole/a'],
      ['cubbyhole/./a', '/v1/cubbyhole/a'],
      ['x/%2e%2e/cubbyhole/a', '/v1/cubbyhole/a'],
    ])('%s is redirected to its simplest form', async (path, location) => {
      const answer = await request(secrets.server).get(`/v1/${path}?x=1`).set('X-Service-Token', secrets.rootToken);
      expect([answer.status, answer.headers.location]).toEqual([307, `${location}?x=1`]);
    });

    it('an escaped slash is a slash, an escaped blank a blank', async () => {
      await secrets.root.write('cubbyhole/p%2Fq', { a: 1 }).expect(204);
      await secrets.root.read('cubbyhole/p/q').expect(200);
      await secrets.root.write('cubbyhole/with%20blank', { a: 1 }).expect(204);
      await secrets.root.read('cubbyhole/with%20blank').expect(200);
    });

    it.each([
      ['a control character', 'cubbyhole/a%00b', 400],
      ['a line break', 'cubbyhole/a%0ab', 400],
      ['a broken escape', 'cubbyhole/a%zzb', 400],
      ['five thousand characters', `cubbyhole/${'a'.repeat(5000)}`, 400],
      ['ten thousand segments', `cubbyhole/${'a/'.repeat(10_000)}b`, 431],
    ])('%s is refused', async (_what, path, status) => {
      await secrets.root.read(path).expect(status);
    });
  });

  describe('bodies', () => {
    it('accepts a form, whose values are text', async () => {
      await request(secrets.server)
        .post('/v1/cubbyhole/form')
        .set('X-Service-Token', secrets.rootToken)
        .type('form')
        .send('a=1&b=x%20y')
        .expect(204);
      const { body } = await secrets.root.read('cubbyhole/form').expect(200);
      expect(body.data).toEqual({ a: '1', b: 'x y' });
    });

    it('keeps characters sent as surrogate pairs', async () => {
      await secrets.root.write('cubbyhole/crane', '{"text":"\\ud83c\\udfd7"}').expect(204);
      const { body } = await secrets.root.read('cubbyhole/crane').expect(200);
      expect(body.data).toEqual({ text: '\u{1f3d7}' });
    });

    it('accepts 400 levels of nesting and refuses 5,000, and the process survives', async () => {
      const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
      await secrets.root.write('cubbyhole/deep', nested(400)).expect(204);
      await secrets.root.read('cubbyhole/deep').expect(200);
      await secrets.root
        .write('cubbyhole/deep', nested(5000))
        .expect(400, { errors: ['failed to decode JSON input: exceeded 500 levels of nesting'] });
      await secrets.root.write('cubbyhole/deep', `{"a":${'['.repeat(200_000)}`).expect(400);
    });

    it('refuses more than 32 MiB with 413 and continues', async () => {
      const answer = await secrets.root.write('cubbyhole/big', { a: 'x'.repeat(33 * 1024 * 1024) });
      expect([answer.status, answer.body]).toEqual([413, { errors: ['http: request body too large'] }]);
      await secrets.root.read('cubbyhole/big').expect(404);
    });

    it('of more than 2 MiB are read three at a time, without delaying small ones', async () => {
      const { largeBodies } = secrets.service;
      const leaving = [await largeBodies.enter(), await largeBodies.enter(), await largeBodies.enter()];
      const value = 'x'.repeat(3 * 1024 * 1024);
      const sent = secrets.root.write('cubbyhole/large', { value }).then(({ status }) => status);
      while (largeBodies.waiting < 1) await new Promise((resolve) => setTimeout(resolve, 5));
      await secrets.root.write('cubbyhole/small', { value: 'x' }).expect(204);
      expect(largeBodies.waiting).toBe(1);
      for (const leave of leaving) leave();
      expect(await sent).toBe(204);
      const { body } = await secrets.root.read('cubbyhole/large').expect(200);
      expect(body.data.value === value).toBe(true);
    });

    it.each(['application/json', 'application/x-www-form-urlencoded'])('compressed as %s are refused', async (type) => {
      const { body } = await request(secrets.server)
        .post('/v1/cubbyhole/packed')
        .set({ 'X-Service-Token': secrets.rootToken, 'Content-Type': type, 'Content-Encoding': 'gzip' })
        .send(gzipSync('{"a":1}'))
        .expect(415);
      expect(body.errors).toEqual(['Content-Encoding: send the body as it is, not compressed']);
      await secrets.root.read('cubbyhole/packed').expect(404);
    });

    it('an empty body and null mean no fields', async () => {
      await secrets.root.write('auth/token/lookup').expect(200);
      await secrets.root.write('auth/token/lookup', 'null').expect(200);
      await secrets.root.write('auth/token/create', { ttl: null, num_uses: null, policies: null }).expect(200);
    });

    it('an unknown field is a warning if the answer has a body', async () => {
      const { body } = await secrets.root.write('auth/token/lookup', { zebra: 1, ape: 2 }).expect(200);
      expect(body.warnings).toEqual(['Endpoint ignored these unrecognized parameters: [ape zebra]']);
    });
  });
});
