import { createHash, randomBytes } from 'node:crypto';
import { request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { resources } from '../src/resources/registry';
import { resource, startWorkspaces } from './start-workspaces';

const mib = 1024 * 1024;

function stateOf(serial: number, bytes: number): Buffer {
  const content = randomBytes(Math.floor((bytes - 200) / 2)).toString('hex');
  const resources = [
    { mode: 'managed', type: 'a', name: 'b', provider: 'c', instances: [{ attributes: { content } }] },
  ];
  return Buffer.from(JSON.stringify({ version: 4, terraform_version: '1.11.4', serial, lineage: 'one', resources }));
}

describe('the body of a request', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let counter = 0;
  beforeAll(() => workspaces.organization('acme'));

  const locked = async (): Promise<string> => {
    const { id } = await workspaces.workspace('acme', `w${++counter}`);
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    return id;
  };
  const inline = (state: Buffer, serial: number, more: object = {}) => {
    const md5 = createHash('md5').update(state).digest('hex');
    return resource('state-versions', { serial, md5, state: state.toString('base64'), ...more });
  };
  /** Sends a body without a Content-Length; returns the status. */
  const unannounced = (path: string, body: object): Promise<number> =>
    new Promise((resolve, reject) => {
      const { port } = workspaces.server.address() as AddressInfo;
      const headers = { Authorization: `Bearer ${admin.token}`, 'Content-Type': 'application/vnd.api+json' };
      const target = { host: '127.0.0.1', port, method: 'POST', path: `/api/v2/${path}`, headers };
      const sending = send(target, (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode!));
      });
      sending.on('error', reject);
      const text = JSON.stringify(body);
      for (let at = 0; at < text.length; at += mib) sending.write(text.slice(at, at + mib));
      sending.end();
    });

  it('may be large only for states', () => {
    const large = resources.flatMap(({ endpoints }) => endpoints.filter((endpoint) => endpoint.largeBody));
    expect(large.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /workspaces/:workspace_id/state-versions',
    ]);
  });

  it('is ignored if none is expected, with any content, and the connection continues', async () => {
    const { id } = await workspaces.workspace('acme', `w${++counter}`);
    const path = `workspaces/${id}`;
    await admin.post(`${path}/actions/lock`, {}).expect(200);
    await admin.post(`${path}/actions/unlock`).set('Content-Type', 'text/plain').send('{"no": JSON').expect(200);
    await admin.get(path).set('Content-Type', 'application/vnd.api+json').send('{').expect(200);
    expect(await unannounced(`${path}/actions/unlock`, { name: 'x'.repeat(3 * mib) })).toBe(409);
  });

  it('is refused above 2 MiB everywhere else', async () => {
    const { id } = await workspaces.workspace('acme', `w${++counter}`);
    const name = 'x'.repeat(2 * mib);
    for (const path of ['organizations', 'organizations/acme/workspaces', `workspaces/${id}/vars`]) {
      const { body } = await admin.post(path, resource('any', { name })).expect(413);
      const detail = `the request body is larger than ${2 * mib} bytes`;
      expect(body.errors).toEqual([{ status: '413', title: 'payload too large', detail }]);
    }
    await workspaces.workspace('acme', `w${++counter}`);
  });

  it('may hold the largest variable, however it is escaped', async () => {
    const { id } = await workspaces.workspace('acme', `w${++counter}`);
    const value = '\u00e9'.repeat(262_144);
    const text = JSON.stringify(resource('vars', { key: 'large', value, category: 'terraform' }));
    const { body } = await request(workspaces.server)
      .post(`/api/v2/workspaces/${id}/vars`)
      .set('Authorization', `Bearer ${admin.token}`)
      .set('Content-Type', 'application/vnd.api+json')
      .send(text.replace(/\u00e9/g, '\\u00e9'))
      .expect(201);
    expect(body.data.attributes.value).toBe(value);
  });

  it('may contain a state of 16 MiB, which is returned byte for byte', async () => {
    const id = await locked();
    const state = stateOf(1, 16 * mib);
    const json = Buffer.from(JSON.stringify({ values: 'x'.repeat(100_000) }));
    const sent = inline(state, 1, { 'json-state': json.toString('base64') });
    const { body } = await admin.post(`workspaces/${id}/state-versions`, sent).expect(201);
    const read = (url: string) =>
      request(workspaces.server)
        .get(url.replace('https://workspaces.test', ''))
        .buffer(true)
        .parse((response, done) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('end', () => done(null, Buffer.concat(pieces)));
        });
    const { attributes } = body.data;
    expect(attributes).toMatchObject({ size: state.length, 'resources-processed': true });
    expect((await read(attributes['hosted-state-download-url']).expect(200)).body.equals(state)).toBe(true);
    expect((await read(attributes['hosted-json-state-download-url']).expect(200)).body.equals(json)).toBe(true);
  });

  it('that is large takes effect once for one Idempotency-Key', async () => {
    const id = await locked();
    const state = stateOf(1, 3 * mib);
    const create = (text: string) =>
      admin.post(`workspaces/${id}/state-versions`, inline(state, 1, { state: text })).set('Idempotency-Key', 'one');
    const text = state.toString('base64');
    const { body } = await create(text).expect(201);
    expect((await create(text).expect(201)).body.data.id).toBe(body.data.id);
    await create(`AAAA${text.slice(4)}`).expect(422);
  });

  it('with a larger state is refused with the place to send it', async () => {
    const id = await locked();
    for (const state of [stateOf(1, 16 * mib + 400), stateOf(1, 19 * mib)]) {
      const { body } = await admin.post(`workspaces/${id}/state-versions`, inline(state, 1)).expect(413);
      expect(body.errors[0].detail).toContain('hosted-state-upload-url');
    }
  });

  it.each([
    ['invalid base64', (text: string) => `${text.slice(0, -8)}!AAAAAAA`, '/data/attributes/state'],
    ['another state', (text: string) => `AAAA${text.slice(4)}`, '/data/attributes/md5'],
  ])('that is large and holds %s is refused like a small one', async (_what, change, pointer) => {
    const id = await locked();
    const state = stateOf(1, 4 * mib);
    const text = change(state.toString('base64'));
    const { body } = await admin.post(`workspaces/${id}/state-versions`, inline(state, 1, { state: text })).expect(422);
    expect(body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer)).toEqual([pointer]);
  });

  it('is queued with large uploads if it is large, whether its length is announced or not, and does not delay small ones', async () => {
    const { largeUploads } = workspaces.service.env;
    const ids = [await locked(), await locked(), await locked()];
    const large = stateOf(1, 3 * mib);
    const leaving = [await largeUploads.enter(), await largeUploads.enter(), await largeUploads.enter()];
    const sent = Promise.all([
      admin.post(`workspaces/${ids[0]}/state-versions`, inline(large, 1)).then(({ status }) => status),
      unannounced(`workspaces/${ids[1]}/state-versions`, inline(large, 1)),
    ]);
    while (largeUploads.waiting < 2) await sleep(5);
    expect(await unannounced(`workspaces/${ids[2]}/state-versions`, inline(stateOf(1, 1000), 1))).toBe(201);
    expect(largeUploads.waiting).toBe(2);
    for (const leave of leaving) leave();
    expect(await sent).toEqual([201, 201]);
  });
});
