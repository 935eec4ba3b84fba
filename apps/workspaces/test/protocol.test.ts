import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { resources } from '../src/resources/registry';
import { resource, startWorkspaces } from './start-workspaces';

const JSON_API = 'application/vnd.api+json';

describe('the protocol', () => {
  const workspaces = startWorkspaces();
  const { admin, anyone } = workspaces;
  const raw = (method: 'get' | 'post' | 'patch' | 'put', path: string) =>
    request(workspaces.server)[method](`/api/v2/${path}`).set('Authorization', `Bearer ${admin.token}`);

  it('answers ping without a token, with the headers that clients read', async () => {
    const { headers, text } = await anyone.get('ping').expect(204);
    expect(text).toBe('');
    expect(headers).toMatchObject({
      'tfp-api-version': '2.6',
      'tfp-appname': 'Terraform Enterprise',
      'x-tfe-version': expect.stringMatching(/^v\d{6}-\d$/),
      'x-tfe-current-version': expect.stringMatching(/^\d\.\d\.\d$/),
      'x-api-version': '2.6',
      'x-ratelimit-limit': '0',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '0.0',
    });
    expect(headers['content-type']).toBeUndefined();
  });

  it('lists the addresses of its services', async () => {
    const { body } = await anyone.get('/.well-known/terraform.json').expect(200).expect('Content-Type', /json/);
    expect(body).toMatchObject({ 'tfe.v2': '/api/v2/', 'state.v2': '/api/v2/' });
  });

  it('shows its addresses if they are configured', async () => {
    await anyone.get('/api/meta/ip-ranges').expect(404);
  });

  it.each([
    ['no token', undefined],
    ['an unknown token', 'Bearer nonsense'],
    ['another scheme', 'Basic YTpi'],
    ['an empty token', 'Bearer '],
  ])('answers 401 and nothing more to %s', async (_what, header) => {
    const sent = request(workspaces.server).get('/api/v2/organizations');
    const { body } = await (header === undefined ? sent : sent.set('Authorization', header)).expect(401);
    expect(body).toEqual({ errors: [{ status: '401', title: 'unauthorized' }] });
  });

  it('uses its own request id, not one that the caller sends', async () => {
    const kept = await raw('get', 'organizations').set('X-Request-Id', 'trace-0123456789');
    expect(kept.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    const made = await raw('get', 'organizations').set('X-Request-Id', 'bad id');
    expect(made.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['malformed JSON', '{"data":', 400, 'bad request'],
    ['truncated JSON', '"', 400, 'bad request'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('latin1'), 400, 'bad request'],
    ['a null character', '{"data":{"type":"organizations","attributes":{"name":"a\\u0000b"}}}', 400, 'bad request'],
    ['a null character in a name', '{"data":{"a\\u0000b":1}}', 400, 'bad request'],
    [
      'half of a surrogate pair',
      '{"data":{"type":"organizations","attributes":{"name":"a\\ud800b"}}}',
      400,
      'bad request',
    ],
    ['half of a surrogate pair in a name', '{"data":{"\\udfff":1}}', 400, 'bad request'],
    ['a number', '7', 422, 'unprocessable entity'],
    ['a list', '[]', 422, 'unprocessable entity'],
    ['no data', '{}', 422, 'unprocessable entity'],
    ['data that is a string', '{"data":"x"}', 422, 'unprocessable entity'],
    ['the wrong type', '{"data":{"type":"teams","attributes":{}}}', 422, 'unprocessable entity'],
    ['no type', '{"data":{"attributes":{}}}', 422, 'unprocessable entity'],
    ['attributes that are a list', '{"data":{"type":"organizations","attributes":[]}}', 422, 'unprocessable entity'],
  ])('refuses %s', async (_what, text, status, title) => {
    const sent = raw('post', 'organizations').set('Content-Type', JSON_API);
    const { body } = await sent
      .serialize((bytes) => bytes)
      .send(Buffer.from(text, 'latin1'))
      .expect(status);
    expect(body.errors[0]).toMatchObject({ status: String(status), title });
  });

  it.each([
    ['a value', { name: 'a\ud800b' }, '/data/attributes/name', 'Name contains an unpaired surrogate'],
    ['a null character', { email: 'a\0b' }, '/data/attributes/email', 'Email contains a null character'],
    ['a name', { 'a\udfff': 1 }, '/data/attributes', 'contains an unpaired surrogate'],
    ['a member', { tags: [{ name: '\ud800' }] }, '/data/attributes/tags/0/name', 'Name contains an unpaired surrogate'],
  ])('points at characters that no text may contain: %s', async (_what, attributes, pointer, detail) => {
    const { body } = await admin.post('organizations', resource('organizations', attributes)).expect(400);
    expect(body.errors).toEqual([{ status: '400', title: 'bad request', detail, source: { pointer } }]);
  });

  it('names a member of a document without data that contains such characters', async () => {
    await workspaces.organization('halves');
    const { id } = await workspaces.workspace('halves', 'main');
    const { body } = await admin.post(`workspaces/${id}/actions/lock`, { reason: '\ud800' }).expect(400);
    expect(body.errors[0].detail).toBe('/reason contains an unpaired surrogate');
    await admin.post(`workspaces/${id}/actions/unlock`).expect(409);
  });

  it('refuses documents that are nested too deep', async () => {
    const deep = `{"data":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`;
    await raw('post', 'organizations').set('Content-Type', JSON_API).send(deep).expect(400);
  });

  it('reads __proto__ as a key like any other', async () => {
    const text = '{"data":{"type":"organizations","__proto__":{"attributes":{"name":"polluted"}},"attributes":{}}}';
    await raw('post', 'organizations').set('Content-Type', JSON_API).send(text).expect(422);
    expect(({} as Record<string, unknown>).attributes).toBeUndefined();
  });

  it('accepts plain JSON and refuses other media types', async () => {
    const text = JSON.stringify(resource('organizations', { name: 'plain', email: 'p@example.com' }));
    await raw('post', 'organizations').set('Content-Type', 'text/plain').send(text).expect(415);
    const packed = raw('post', 'organizations').set({ 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' });
    await packed.send(text).expect(415);
    await raw('post', 'organizations').set('Content-Type', 'application/json').send(text).expect(201);
  });

  it('refuses compressed bodies wherever bodies are streamed', async () => {
    const taken: string[] = [];
    const streamed = resources.flatMap(({ endpoints }) => endpoints).filter(({ streams }) => streams);
    expect(streamed.length).toBeGreaterThan(8);
    for (const { method, path, outside } of streamed) {
      const at = `${outside ? '' : '/api/v2'}${path.replace(/:\w+/g, 'x')}`;
      const word = method.toLowerCase() as 'post' | 'put';
      const sent = request(workspaces.server)[word](at).set('Content-Encoding', 'gzip');
      const { status } = await sent.set('Authorization', `Bearer ${admin.token}`).send(Buffer.from('{}'));
      if (status !== 415) taken.push(`${method} ${path}: ${status}`);
    }
    expect(taken).toEqual([]);
  });

  it('names every failing attribute, under the key that was sent', async () => {
    await workspaces.organization('pointers');
    const body = resource('workspaces', { 'terraform-version': 7, 'auto-apply': 'yes', 'trigger-prefixes': {} });
    const { body: answer } = await admin.post('organizations/pointers/workspaces', body).expect(422);
    expect(answer.errors).toEqual([
      expect.objectContaining({ title: 'invalid attribute', source: { pointer: '/data/attributes/name' } }),
      expect.objectContaining({ source: { pointer: '/data/attributes/auto-apply' } }),
      expect.objectContaining({ source: { pointer: '/data/attributes/terraform-version' } }),
      expect.objectContaining({ source: { pointer: '/data/attributes/trigger-prefixes' } }),
    ]);
  });

  it('refuses a name and its alias with different values, naming both', async () => {
    const attributes = { name: 'two', 'infra-version': '1.5.0', 'terraform-version': '1.6.0' };
    const { body } = await admin
      .post('organizations/pointers/workspaces', resource('workspaces', attributes))
      .expect(422);
    expect(body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer)).toEqual([
      '/data/attributes/infra-version',
      '/data/attributes/terraform-version',
    ]);
  });

  it.each([
    ['page[number]=0', 'page[number]'],
    ['page[size]=0', 'page[size]'],
    ['page[number]=-1', 'page[number]'],
    ['page[size]=many', 'page[size]'],
    ['page[size]=1.5', 'page[size]'],
    ['sort=colour', 'sort'],
    ['include=nonsense', 'include'],
  ])('refuses the parameter %s', async (query, parameter) => {
    const { body } = await admin.get(`organizations/pointers/workspaces?${query}`).expect(400);
    expect(body.errors[0]).toMatchObject({ status: '400', title: 'bad request', source: { parameter } });
  });

  it('ignores parameters that mean nothing anywhere, and keeps them in links', async () => {
    const { body } = await admin
      .get('organizations/pointers/workspaces?TagBindings=%7B%7D&page%5Bsize%5D=1')
      .expect(200);
    expect(body.links.self).toBe(
      'https://workspaces.test/api/v2/organizations/pointers/workspaces?TagBindings=%7B%7D&page%5Bnumber%5D=1&page%5Bsize%5D=1',
    );
  });

  it('cuts pages larger than 100, and answers an empty page beyond the end', async () => {
    const { body } = await admin.get('organizations/pointers/workspaces?page[number]=999&page[size]=5000').expect(200);
    expect(body.data).toEqual([]);
    expect(body.meta.pagination).toMatchObject({ 'current-page': 999, 'page-size': 100, 'next-page': null });
  });

  it.each([
    ['get', 'nothing/here'],
    ['put', 'organizations'],
    ['patch', 'ping'],
    ['get', 'organizations/pointers/'.repeat(40)],
    ['get', 'workspaces/%E0%A4%A'],
  ] as const)('answers 404 to %s %s', async (method, path) => {
    const { body } = await raw(method, path).expect(404);
    expect(body).toEqual({ errors: [{ status: '404', title: 'not found' }] });
  });

  it('shows a revision and refuses changes to an older one', async () => {
    const workspace = await workspaces.workspace('pointers', 'versioned');
    const path = `workspaces/${workspace.id}`;
    const first = (await raw('get', path).expect(200)).headers.etag!;
    expect(first).toMatch(/^W\/"\d+"$/);
    const change = (etag: string, description: string) =>
      raw('patch', path)
        .set('Content-Type', JSON_API)
        .set('If-Match', etag)
        .send(resource('workspaces', { description }));
    const { headers } = await change(first, 'one').expect(200);
    const { body } = await change(first, 'two').expect(412);
    expect(body.errors[0]).toMatchObject({ status: '412', title: 'precondition failed' });
    await change(headers.etag!, 'three').expect(200);
    await change('*', 'four').expect(200);
  });

  it('accepts only one of many changes to the same revision', async () => {
    const { id } = await workspaces.workspace('pointers', 'contested');
    const etag = (await raw('get', `workspaces/${id}`)).headers.etag!;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        raw('patch', `workspaces/${id}`)
          .set('Content-Type', JSON_API)
          .set('If-Match', etag)
          .send(resource('workspaces', { description: `try ${i}` })),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)]);
  });

  it('loses none of many simultaneous updates', async () => {
    const { id } = await workspaces.workspace('pointers', 'busy');
    const keys = ['auto-apply', 'queue-all-runs', 'auto-apply-run-trigger', 'global-remote-state'];
    const answers = await Promise.all(
      keys.map((key) => admin.patch(`workspaces/${id}`, resource('workspaces', { [key]: true }))),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { body } = await admin.get(`workspaces/${id}`).expect(200);
    expect(keys.map((key) => body.data.attributes[key])).toEqual([true, true, true, true]);
  });

  it('creates once for an idempotency key, however often the key is sent', async () => {
    const create = (name: string) =>
      raw('post', 'organizations/pointers/workspaces')
        .set('Content-Type', JSON_API)
        .set('Idempotency-Key', 'deploy-42')
        .send(resource('workspaces', { name }));
    const answers = await Promise.all(Array.from({ length: 5 }, () => create('once')));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    await create('other').expect(422);
  });

  it('refuses an idempotency key if it would store a secret', async () => {
    const { body: me } = await admin.get('account/details').expect(200);
    const path = `users/${me.data.id}/authentication-tokens`;
    const sent = raw('post', path).set('Content-Type', JSON_API).set('Idempotency-Key', 'k');
    await sent.send(resource('authentication-tokens', { description: 'd' })).expect(400);
  });

  it('names the missing permission only to a caller who may see the target', async () => {
    const member = await workspaces.person('curious');
    const stranger = await workspaces.person('stranger');
    await workspaces.organization('secretive');
    const { db } = workspaces.service;
    const organization = await db.prisma.organization.findFirstOrThrow({ where: { name: 'secretive' } });
    await db.prisma.membership.create({
      data: { id: 'ou-curious', organizationId: organization.id, userId: member.id, status: 'active' },
    });
    const change = resource('organizations', { email: 'new@example.com' });
    const told = await member.patch('organizations/secretive', change).expect(404);
    expect(told.body.errors[0]).toEqual({
      status: '404',
      title: 'not found',
      code: 'permission-missing',
      meta: { reason: 'this needs can-update' },
    });
    const hidden = await stranger.patch('organizations/secretive', change).expect(404);
    const absent = await stranger.patch('organizations/no-such-thing', change).expect(404);
    expect(hidden.text).toBe(absent.text);
  });
});

describe('the rate limit', () => {
  let nowMs = Date.now();
  const workspaces = startWorkspaces({ env: { WORKSPACES_RATE_LIMIT: '5' }, now: () => nowMs });

  it('gives each caller a bucket that refills', async () => {
    const { admin } = workspaces;
    const answers = await Promise.all(Array.from({ length: 8 }, () => admin.get('organizations')));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.body).toEqual({
      errors: [{ detail: "You have exceeded the API's rate limit.", status: 429, title: 'Too many requests' }],
    });
    expect(refused.headers['x-ratelimit-limit']).toBe('5');
    expect(Number(refused.headers['x-ratelimit-reset'])).toBeGreaterThan(0);
    const other = await workspaces.person('someone-else');
    await other.get('organizations').expect(200);
    nowMs += 1000;
    await admin.get('organizations').expect(200);
  });
});

describe('without client aliases', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_CLIENT_ALIASES: 'off' } });

  it('sends and accepts only the neutral names', async () => {
    const { admin, anyone } = workspaces;
    await workspaces.organization('neutral');
    const attributes = { name: 'w', 'terraform-version': '1.2.0' };
    const { body } = await admin
      .post('organizations/neutral/workspaces', resource('workspaces', attributes))
      .expect(201);
    expect(body.data.attributes).not.toHaveProperty('terraform-version');
    expect(body.data.attributes['infra-version']).not.toBe('1.2.0');
    const { body: shown } = await admin.get('organizations/neutral').expect(200);
    expect(shown.data.attributes.permissions).not.toHaveProperty('can-update-sentinel');
    const { headers } = await anyone.get('ping').expect(204);
    expect(headers).not.toHaveProperty('tfp-api-version');
    expect(headers['x-api-version']).toBe('2.6');
  });
});
