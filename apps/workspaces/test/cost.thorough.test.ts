import type { AddressInfo } from 'node:net';
import net from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { startWorkspaces } from './start-workspaces';

const KiB = 1024;
const MiB = 1024 * KiB;

const endpoints = resources.flatMap((one) => one.endpoints);
const takers = endpoints.filter(({ body }) => body !== undefined);
const pathOf = ({ path, outside }: Endpoint) => `${outside ? '' : '/api/v2'}${path.replace(/:\w+/g, 'visited')}`;
const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`;

// The cost of a request is limited by the rights of its sender, which are checked before it is read: Decision 0060.
describe('the service, to limit the cost of a request,', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let port = 0;
  beforeAll(async () => {
    await workspaces.organization('acme');
    port = (workspaces.server.address() as AddressInfo).port;
  });

  /** The status of an answer to headers whose body is never sent, and `, closed` if it closes the connection. */
  function statusOfHead(endpoint: Endpoint, token: string | undefined, announced: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(port, '127.0.0.1');
      const sent = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
      socket.write(
        `${endpoint.method} ${pathOf(endpoint)} HTTP/1.1\r\nHost: x\r\n${sent}Content-Type: application/vnd.api+json\r\n` +
          `Content-Length: ${announced}\r\n\r\n`,
      );
      socket.once('data', (data) => {
        socket.destroy();
        const head = data.toString('latin1');
        resolve(`${head.slice(9, 12)}${/^connection: close\r$/im.test(head) ? ', closed' : ''}`);
      });
      socket.once('error', reject);
      socket.once('close', () => reject(new Error(`no answer: ${nameOf(endpoint)}`)));
    });
  }

  it('refuses a large body of an unknown sender without reading a byte of it, everywhere', async () => {
    expect(takers.length).toBeGreaterThan(80);
    const wrong: string[] = [];
    for (const endpoint of takers) {
      for (const token of [undefined, 'unknown.atlasv1.unknown']) {
        for (const bytes of [64 * KiB + 1, 64 * MiB + 1]) {
          const status = await statusOfHead(endpoint, token, bytes);
          const refusal = endpoint.auth === 'token' || (endpoint.auth === 'optional' && token) ? 401 : 413;
          // More than 64 MiB are not read, not even to discard them.
          const expected = `${refusal}${bytes > 64 * MiB ? ', closed' : ''}`;
          if (status !== expected) wrong.push(`${nameOf(endpoint)} ${bytes} ${token ?? 'no token'}: ${status}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('refuses a body above the limit from a known sender without reading a byte of it', async () => {
    const wrong: string[] = [];
    for (const endpoint of takers.filter(({ auth }) => auth === 'token')) {
      const status = await statusOfHead(endpoint, admin.token, (endpoint.largeBody?.bytes ?? 2 * MiB) + 1);
      if (status !== '413') wrong.push(`${nameOf(endpoint)}: ${status}`);
    }
    expect(wrong).toEqual([]);
  });

  const send = (endpoint: Endpoint, token: string | undefined, body: string) => {
    const test = request(workspaces.server)[endpoint.method.toLowerCase() as 'post'](pathOf(endpoint));
    if (token !== undefined) test.set('Authorization', `Bearer ${token}`);
    return test.set('Content-Type', endpoint.dialect?.mediaTypes[0] ?? 'application/vnd.api+json').send(body);
  };

  it.each([
    ['a list', (length: number) => `{"data":[${'1,'.repeat(length - 3)}1]}`],
    ['keys', (length: number) => `{${Array.from({ length: length - 1 }, (_, n) => `"k${n}":1`).join(',')}}`],
    ['empty objects', (length: number) => `{"data":[${'{},'.repeat(Math.ceil(length / 2))}{}]}`],
  ])('limits the values of %s', async (_what, body) => {
    const wrong: string[] = [];
    for (const endpoint of takers) {
      const [token, most] = endpoint.auth === 'token' ? [admin.token, 50_000] : [undefined, 1000];
      const { status, body: answer } = await send(endpoint, token, body(most + 1));
      const right =
        (answer.errors?.[0].detail ?? answer.detail) === `the request body contains more than ${most} values`;
      if (status !== 413 || !right) wrong.push(`${nameOf(endpoint)}: ${status} ${JSON.stringify(answer)}`);
    }
    expect(wrong).toEqual([]);
  });

  it('limits the length of every list, and names a list that is too long', async () => {
    const wrong: string[] = [];
    for (const endpoint of takers.filter(({ auth }) => auth === 'token')) {
      const { status, body: answer } = await send(endpoint, admin.token, `{"data":{"x":[${'1,'.repeat(10_000)}1]}}`);
      const right = (answer.errors?.[0].detail ?? answer.detail) === '/data/x contains more than 10000 members';
      if (status !== 413 || !right) wrong.push(`${nameOf(endpoint)}: ${status} ${JSON.stringify(answer)}`);
    }
    expect(wrong).toEqual([]);
  });

  it('refuses bodies nested deeper than 64 levels before they are parsed', async () => {
    const deep = `{"data":${'['.repeat(500_000)}`;
    const answer = await request(workspaces.server)
      .post('/api/v2/organizations')
      .set('Authorization', `Bearer ${admin.token}`)
      .set('Content-Type', 'application/vnd.api+json')
      .send(deep)
      .expect(400);
    expect(answer.body.errors[0].detail).toBe('the document is nested deeper than 64 levels');
  });
});
