import http from 'node:http';
import https from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import { AgentClient } from './client';
import { proxyFor } from './proxy';

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

describe('the proxy of an agent', () => {
  const at = (url: string, environment: NodeJS.ProcessEnv) => proxyFor(new URL(url), environment)?.href;

  it.each([
    ['https://keystead.test', { HTTPS_PROXY: 'http://p:3128' }, 'http://p:3128/'],
    ['https://keystead.test', { https_proxy: 'p:3128', HTTPS_PROXY: 'http://q' }, 'http://p:3128/'],
    ['https://keystead.test', { HTTP_PROXY: 'http://p' }, undefined],
    ['http://keystead.test', { HTTP_PROXY: 'http://p' }, 'http://p/'],
    ['https://keystead.test', { ALL_PROXY: 'http://p' }, 'http://p/'],
    ['https://a.keystead.test', { HTTPS_PROXY: 'http://p', NO_PROXY: 'other.test, .keystead.test' }, undefined],
    ['https://keystead.test', { HTTPS_PROXY: 'http://p', NO_PROXY: 'stead.test' }, 'http://p/'],
    ['https://keystead.test:8443', { HTTPS_PROXY: 'http://p', NO_PROXY: 'keystead.test:443' }, 'http://p/'],
    ['https://keystead.test', { HTTPS_PROXY: 'http://p', no_proxy: '*' }, undefined],
  ])('of %s with %j is %s', (url, environment, expected) => expect(at(url, environment)).toBe(expected));
});

describe('a request of an agent', () => {
  const asked: string[] = [];
  const tunnels: string[] = [];
  const answer: http.RequestListener = (req, res) => {
    asked.push(`${req.method} ${req.url} ${req.headers.host} ${req.headers.authorization}`);
    const status = Number(/status=(\d+)/.exec(req.url ?? '')?.[1] ?? 200);
    const body = status < 300 ? { fine: true } : { errors: [{ title: 'no', detail: 'for a reason' }] };
    req.resume().on('end', () => res.writeHead(status).end(status === 204 ? undefined : JSON.stringify(body)));
  };
  const plain = http.createServer(answer);
  const secure = https.createServer(testCertificate, answer);
  const proxy = http.createServer().on('connect', (req, socket) => {
    tunnels.push(`${req.url} ${req.headers['proxy-authorization'] ?? ''}`);
    if (req.headers['proxy-authorization'] === undefined) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const [host, port] = (req.url ?? '').split(':');
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    for (const one of [onward, socket]) one.on('error', () => undefined);
  });
  const { NODE_TLS_REJECT_UNAUTHORIZED: before } = process.env;
  beforeAll(async () => {
    for (const one of [plain, secure, proxy]) await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
  });
  afterAll(() => {
    for (const one of [plain, secure, proxy]) {
      one.closeAllConnections();
      one.close();
    }
  });
  const through = (user = 'agent:p%40ss@') => new URL(`http://${user}127.0.0.1:${portOf(proxy)}`);

  it('goes through a tunnel of the proxy, and sends name and password only to the proxy', async () => {
    const client = new AgentClient(new URL(`http://127.0.0.1:${portOf(plain)}/below/`), 'secret', through());
    expect(await client.json({ method: 'POST', path: '/agents', json: { a: 1 } })).toEqual({ fine: true });
    const login = Buffer.from('agent:p@ss').toString('base64');
    expect(tunnels.at(-1)).toBe(`127.0.0.1:${portOf(plain)} Basic ${login}`);
    expect(asked.at(-1)).toBe(`POST /below/api/agent/v1/agents 127.0.0.1:${portOf(plain)} Bearer secret`);
    client.close();
  });

  it('is encrypted end to end through a proxy, with the certificate checked', async () => {
    const address = new URL(`https://127.0.0.1:${portOf(secure)}`);
    const careful = new AgentClient(address, 'secret', through());
    await expect(careful.json({ method: 'GET', path: '/x' })).rejects.toThrow(/self-signed/);
    careful.close();
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    const client = new AgentClient(address, 'secret', through());
    expect(await client.json({ method: 'GET', path: '/x' })).toEqual({ fine: true });
    client.close();
    const direct = new AgentClient(address, 'secret', undefined);
    expect(await direct.json({ method: 'GET', path: '/x' })).toEqual({ fine: true });
    direct.close();
  });

  it('reports the refusal of a proxy', async () => {
    const client = new AgentClient(new URL(`http://127.0.0.1:${portOf(plain)}`), 'secret', through(''));
    await expect(client.json({ method: 'GET', path: '/x' })).rejects.toThrow('the proxy answered 407');
    client.close();
  });

  it.each([
    [401, 'unauthenticated'],
    [403, 'denied'],
    [404, 'missing'],
    [409, 'transition'],
    [422, 'invalid'],
  ])('that the service answers with %i fails with a refusal: %s', async (status, kind) => {
    const client = new AgentClient(new URL(`http://127.0.0.1:${portOf(plain)}`), 'secret', undefined);
    const sent = { method: 'GET', path: '/x', query: { status: String(status) } } as const;
    await expect(client.json(sent)).rejects.toMatchObject({ kind, message: 'for a reason' });
    client.close();
  });

  it.each([408, 429, 500, 502, 503])('that the service answers with %i may be sent again', async (status) => {
    const client = new AgentClient(new URL(`http://127.0.0.1:${portOf(plain)}`), 'secret', undefined);
    const sent = { method: 'GET', path: '/x', query: { status: String(status) } } as const;
    await expect(client.json(sent)).rejects.toThrow(`answered ${status}`);
    await expect(client.json(sent)).rejects.not.toHaveProperty('kind');
    client.close();
  });
});
