import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { testCertificate } from '../../testing/src/certificate';
import { OutsideCalls, outsideCall, Reach, Unreachable } from './index';

let server: Server;
let url: string;
let answer: (req: IncomingMessage, res: ServerResponse) => void;
let received: { method?: string; path?: string; headers: IncomingMessage['headers']; body: string }[];

beforeAll(async () => {
  server = createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (piece) => (body += piece));
    req.on('end', () => {
      received.push({ method: req.method, path: req.url, headers: req.headers, body });
      answer(req, res);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  received = [];
  answer = (_req, res) => res.end('{"a":1}');
});

describe('a call to another system', () => {
  it('asks for JSON and reads it', async () => {
    const { status, json, bytes, retryAfterSeconds } = await outsideCall('it', `${url}/x?y=1`);
    expect({ status, json, text: bytes.toString(), retryAfterSeconds }).toEqual({
      status: 200,
      json: { a: 1 },
      text: '{"a":1}',
      retryAfterSeconds: 0,
    });
    expect(received).toMatchObject([
      { method: 'GET', path: '/x?y=1', headers: { accept: 'application/json, */*;q=0.5' }, body: '' },
    ]);
    expect(received[0]!.headers).not.toHaveProperty('content-type');
  });

  it.each<[string, object, string, string]>([
    ['a form', { form: new URLSearchParams({ a: 'b c' }) }, 'application/x-www-form-urlencoded', 'a=b+c'],
    ['JSON', { json: { a: null } }, 'application/json', '{"a":null}'],
    ['JSON that is null', { json: null }, 'application/json', 'null'],
    ['bytes', { bytes: { type: 'text/x', content: Buffer.from('raw') } }, 'text/x', 'raw'],
  ])('sends %s', async (_what, request, type, body) => {
    await outsideCall('it', url, { method: 'POST', headers: { 'x-own': '1', accept: 'text/plain' }, ...request });
    expect(received).toMatchObject([
      { method: 'POST', headers: { 'content-type': type, 'x-own': '1', accept: 'text/plain' }, body },
    ]);
  });

  it('returns answers with any status, body and Retry-After', async () => {
    answer = (_req, res) => res.writeHead(503, { 'retry-after': '7', location: '/elsewhere' }).end('no JSON');
    expect(await outsideCall('it', url)).toMatchObject({ status: 503, json: undefined, retryAfterSeconds: 7 });
    answer = (_req, res) => res.writeHead(302, { 'retry-after': 'soon', location: '/elsewhere' }).end();
    expect(await outsideCall('it', url)).toMatchObject({ status: 302, json: undefined, retryAfterSeconds: 0 });
    expect(received).toHaveLength(2);
  });

  it('accepts an answer of four MiB, and no longer one', async () => {
    const size = 4 * 1024 * 1024;
    answer = (_req, res) => res.end(Buffer.alloc(size, 32));
    expect((await outsideCall('it', url)).bytes).toHaveLength(size);
    answer = (_req, res) => res.end(Buffer.alloc(size + 1, 32));
    await expect(outsideCall('it', url)).rejects.toEqual(
      expect.objectContaining({ kind: 'upstream', message: 'it is unreachable: the answer is too large' }),
    );
  });

  it('reports which system did not answer, and why', async () => {
    answer = (req) => req.socket.destroy();
    const closed = await outsideCall('it', url).catch((error) => error);
    expect(closed).toBeInstanceOf(Unreachable);
    expect(closed).toMatchObject({ kind: 'upstream', message: 'it is unreachable: ECONNRESET' });
    expect(closed.cause).toMatchObject({ code: 'ECONNRESET' });
    answer = () => undefined;
    await expect(outsideCall('it', url, {}, 50)).rejects.toThrow('it is unreachable: no answer in time');
    answer = (_req, res) => void res.write('half', () => res.destroy());
    await expect(outsideCall('it', url)).rejects.toThrow(/^it is unreachable: (ECONNRESET|aborted)$/);
  });

  it('trusts only the given authorities', async () => {
    const secure = createSecureServer(testCertificate, (_req, res) => res.end('{"safe":true}'));
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const address = `https://127.0.0.1:${(secure.address() as AddressInfo).port}/`;
    try {
      const ca = testCertificate.cert;
      expect((await outsideCall('it', address, { ca })).json).toEqual({ safe: true });
      const reach = new Reach(['127.0.0.1/32']);
      expect((await outsideCall('it', address, { ca, reach })).json).toEqual({ safe: true });
      await expect(outsideCall('it', address)).rejects.toThrow('it is unreachable: DEPTH_ZERO_SELF_SIGNED_CERT');
    } finally {
      secure.closeAllConnections();
      secure.close();
    }
  });

  it('does not retry on a connection that it opened itself', async () => {
    answer = (req) => req.socket.resetAndDestroy();
    const reach = new Reach(['127.0.0.1']);
    await expect(outsideCall('it', url, { reach })).rejects.toThrow('it is unreachable: ECONNRESET');
    expect(received).toHaveLength(1);
  });

  it('repeats a call if a kept-alive connection closes at that moment', async () => {
    await outsideCall('it', url);
    let closed = 0;
    answer = (req, res) => {
      if (closed++ === 0) req.socket.resetAndDestroy();
      else res.end('{"again":true}');
    };
    expect((await outsideCall('it', url)).json).toEqual({ again: true });
    expect(received).toHaveLength(3);
  });
});

describe('calls to other systems', () => {
  it('stop for a system that has not answered five in a row, and for no other', async () => {
    let nowMs = 0;
    const calls = new OutsideCalls({ now: () => nowMs });
    answer = (req) => req.socket.destroy();
    const call = (base = url) => calls.call('it', `${base}/x`, {}, 10_000);
    for (let i = 0; i < 5; i++) await expect(call()).rejects.toThrow('it is unreachable: ECONNRESET');
    const before = received.length;
    await expect(call()).rejects.toThrow(
      `it at ${url} did not answer 5 calls in a row (ECONNRESET); it is tried again in 5 s`,
    );
    expect(received).toHaveLength(before);
    answer = (_req, res) => res.end('{}');
    expect((await call(url.replace('127.0.0.1', 'localhost'))).status).toBe(200);
    nowMs += 5_000;
    expect((await call()).status).toBe(200);
  });
});
