import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { startSecrets } from '../../../test/start-secrets';

describe('cubbyhole', () => {
  const secrets = startSecrets();
  const token = async (fields: object = {}) =>
    secrets.as((await secrets.root.write('auth/token/create', fields).expect(200)).body.auth.client_token);

  it('returns the pairs as they were written, any JSON (S20.1, S20.3, SP.7, SP.33)', async () => {
    const pairs = { text: 'a', number: 1, list: [1, 'b', null], object: { deep: { er: true } }, none: null, ttl: '1h' };
    const response = await secrets.root.write('cubbyhole/pairs', pairs).expect(204);
    expect(response.text).toBe('');
    const { body } = await secrets.root.read('cubbyhole/pairs').expect(200);
    expect(body).toMatchObject({ data: pairs, lease_id: '', lease_duration: 0, renewable: false, auth: null });
    expect(Object.keys(body.data)).toEqual(Object.keys(pairs));
    await secrets.root.put('cubbyhole/pairs', { only: 'this' }).expect(204);
    expect((await secrets.root.read('cubbyhole/pairs')).body.data).toEqual({ only: 'this' });
  });

  it('lists names below a folder, folders with a slash, also by the verb LIST (S20.2, SP.7, SP.8, SP.34)', async () => {
    const caller = await token();
    for (const at of ['a', 'a/b', 'a/c/d', 'e']) await caller.write(`cubbyhole/${at}`, { v: at }).expect(204);
    expect((await caller.list('cubbyhole').expect(200)).body.data).toEqual({ keys: ['a', 'a/', 'e'] });
    expect((await caller.list('cubbyhole/').expect(200)).body.data).toEqual({ keys: ['a', 'a/', 'e'] });
    expect((await caller.list('cubbyhole/a').expect(200)).body.data).toEqual({ keys: ['b', 'c/'] });
    expect((await caller.list('cubbyhole/a/').expect(200)).body).toMatchObject({ auth: null, lease_id: '' });
    const verb = await listVerb(secrets.server, '/v1/cubbyhole/a', caller.token!);
    expect(JSON.parse(verb).data).toEqual({ keys: ['b', 'c/'] });
  });

  it('lists page by page, after a name and up to a limit, each name once and folders as one', async () => {
    const caller = await token();
    const paths = ['a', 'b/one', 'b/two', 'c', 'd/deep/er', 'd/deep/est', 'e'];
    for (const at of paths) await caller.write(`cubbyhole/pages/${at}`, { v: at }).expect(204);
    const pages: string[][] = [];
    for (let after = ''; ; after = pages.at(-1)!.at(-1)!) {
      const { status, body } = await caller.read(
        `cubbyhole/pages?list=true&limit=2&after=${encodeURIComponent(after)}`,
      );
      if (status === 404) break;
      pages.push(body.data.keys);
    }
    expect(pages).toEqual([['a', 'b/'], ['c', 'd/'], ['e']]);
    const rest = await caller.read('cubbyhole/pages?list=true&after=b&limit=-1').expect(200);
    expect(rest.body.data.keys).toEqual(['b/', 'c', 'd/', 'e']);
  });

  it('lists nothing below a file or an absent folder (S20.2, S23.7)', async () => {
    await secrets.root.write('cubbyhole/file', { a: 1 }).expect(204);
    await secrets.root.list('cubbyhole/file').expect(404, { errors: [] });
    await secrets.root.list('cubbyhole/nothing').expect(404, { errors: [] });
  });

  it('deletes, also absent entries (S20.4, SP.7)', async () => {
    await secrets.root.write('cubbyhole/gone', { a: 1 }).expect(204);
    await secrets.root.delete('cubbyhole/gone').expect(204);
    await secrets.root.read('cubbyhole/gone').expect(404, { errors: [] });
    await secrets.root.delete('cubbyhole/gone').expect(204);
    await secrets.root.delete('cubbyhole/').expect(204);
  });

  it('belongs to one token: neither root, nor parent, nor child sees it (SP.14)', async () => {
    const parent = await token({ policies: ['root'], ttl: '1h' });
    await parent.write('cubbyhole/mine', { a: 'parent' }).expect(204);
    const created = await parent.write('auth/token/create', { ttl: '30m' }).expect(200);
    const child = secrets.as(created.body.auth.client_token);
    await child.read('cubbyhole/mine').expect(404);
    await secrets.root.read('cubbyhole/mine').expect(404);
    await child.write('cubbyhole/mine', { a: 'child' }).expect(204);
    expect((await parent.read('cubbyhole/mine')).body.data).toEqual({ a: 'parent' });
  });

  it('is deleted with its token, without a trace in storage', async () => {
    const caller = await token();
    await caller.write('cubbyhole/left', { a: 1 }).expect(204);
    const mount = secrets.service.kernel.mounts
      .list(secrets.service.kernel.namespaces.root.uuid)
      .find(({ type }) => type === 'cubbyhole')!;
    const count = async () =>
      (await secrets.service.kernel.entries.listDeep(mount.uuid, '')).filter((at) => at.endsWith('/left')).length;
    expect(await count()).toBe(1);
    await caller.write('auth/token/revoke-self').expect(204);
    expect(await count()).toBe(0);
  });

  it.each([
    ['post', 'cubbyhole/a', '{}', 400, ['missing data fields']],
    ['post', 'cubbyhole/a', undefined, 400, ['missing data fields']],
    ['post', 'cubbyhole/a/', '{"a":1}', 400, ["cannot write to a path ending in '/'"]],
    ['get', 'cubbyhole', undefined, 400, ['missing path']],
    ['get', 'cubbyhole/', undefined, 400, ['missing path']],
    ['patch', 'cubbyhole/a', '{"a":1}', 405, ['1 error occurred:\n\t* unsupported operation\n\n']],
  ] as const)('%s %s with %s is %i', async (method, path, body, status, errors) => {
    const sent = request(secrets.server)[method](`/v1/${path}`).set('X-Service-Token', secrets.rootToken);
    const type = method === 'patch' ? 'application/merge-patch+json' : 'application/json';
    const answer = await (body === undefined ? sent : sent.set('Content-Type', type).send(body));
    expect([answer.status, answer.body]).toEqual([status, { errors }]);
  });

  it('reads with list=false, and reports that it ignored this parameter', async () => {
    await secrets.root.write('cubbyhole/r', { a: 1 }).expect(204);
    const { body } = await secrets.root.read('cubbyhole/r?list=false').expect(200);
    expect(body.data).toEqual({ a: 1 });
    expect(body.warnings).toEqual(['Endpoint ignored these unrecognized parameters: [list]']);
  });
});

/** The verb LIST, which no HTTP client library of the test can send. */
function listVerb(server: Server, path: string, token: string): Promise<string> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`LIST ${path} HTTP/1.1\r\nHost: x\r\nX-Service-Token: ${token}\r\nConnection: close\r\n\r\n`);
    });
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text.slice(text.indexOf('\r\n\r\n') + 4)));
    socket.on('error', reject);
  });
}
