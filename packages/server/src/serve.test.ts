import http from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { during } from '@keystead/tracing';
import { Registry } from 'prom-client';
import { createApp } from './app';
import { createLogger } from './logger';
import { requestId } from './request-id';
import { labelRoute } from './route';
import { type ServeOptions, type Serving, serve } from './serve';

const local = { host: '127.0.0.1', port: 0 };
const running: Serving[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.close()));
});

async function start(options: Partial<ServeOptions> & { onGo?: (release: () => void) => void } = {}) {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    name: 'test',
    level: 'info',
    destination: { write: (l) => void lines.push(JSON.parse(l)) },
  });
  const app = createApp();
  app.get('/hello', (req, res) => {
    labelRoute(req, 'GET /hello');
    res.json({ id: requestId(req) });
  });
  app.get('/links/:secret', (req, res) => {
    labelRoute(req, '/links/:secret');
    res.end();
  });
  // Starts at once and takes a while.
  app.get('/long', (req, res) => {
    labelRoute(req, '/long');
    res.writeHead(200);
    setTimeout(() => res.end(), 30);
  });
  app.get('/slow', (req, res) => {
    labelRoute(req, '/slow');
    options.onGo?.(() => res.end('done'));
  });
  const serving = await serve({
    app,
    listen: local,
    log,
    ready: async () => ({ ready: true, reasons: [] }),
    ...options,
  });
  running.push(serving);
  return { ...serving, lines };
}

/** Sends bytes on a fresh connection and returns all that comes back until the server closes it. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a serving application', () => {
  it('writes one line per request, without path, query string, headers or body', async () => {
    const { url, lines } = await start();
    const begunMs = performance.now();
    const response = await fetch(`${url}/hello?token=hvs.secret`, { headers: { authorization: 'Bearer hvs.secret' } });
    const { id } = (await response.json()) as { id: string };
    await until(() => lines.length === 1);
    expect(lines[0]).toMatchObject({ msg: 'request', method: 'GET', route: 'GET /hello', status: 200, requestId: id });
    expect(lines[0]!.ms).toBeGreaterThanOrEqual(0);
    expect(lines[0]!.ms).toBeLessThanOrEqual(performance.now() - begunMs);
    await (await fetch(`${url}/links/hvs.secret`)).text();
    await (await fetch(`${url}/lynks/hvs.secret`)).text();
    await until(() => lines.length === 3);
    expect(lines.slice(1).map(({ route, status }) => [route, status])).toEqual([
      ['/links/:secret', 200],
      ['other', 404],
    ]);
    expect(JSON.stringify(lines)).not.toContain('hvs');
  });

  it('logs a slow request, with the time until its answer began and the time of each step', async () => {
    const { url, lines } = await start({
      slowMs: 1,
      onGo: (release) => void during('outside', 'the issuer', undefined, () => sleep(30)).then(release),
    });
    for (const path of ['slow', 'long']) await (await fetch(`${url}/${path}`)).text();
    await until(() => lines.filter(({ msg }) => msg === 'request').length === 2);
    const lineOf = (route: string, msg: string) => lines.find((line) => line.route === route && line.msg === msg);
    const slow = lineOf('/slow', 'slow request')!;
    expect(slow).toMatchObject({ level: 'warn', status: 200, waitingMs: 0, databaseMs: 0 });
    expect(slow.outsideMs).toBeGreaterThan(20);
    expect(slow.ms).toBeGreaterThanOrEqual(slow.outsideMs as number);
    const begunMs = (lineOf('/long', 'slow request')?.ms ?? 0) as number;
    expect((lineOf('/long', 'request')!.ms as number) - begunMs).toBeGreaterThan(20);
  });

  it('logs no slow request unless it is configured to', async () => {
    const { url, lines } = await start({ onGo: (release) => void sleep(5).then(release) });
    await (await fetch(`${url}/slow`)).text();
    await until(() => lines.some(({ msg }) => msg === 'request'));
    expect(lines.filter(({ msg }) => msg === 'slow request')).toEqual([]);
  });

  it('can leave requests out of the log', async () => {
    const { url, lines } = await start({ logRequests: false });
    await (await fetch(`${url}/hello`)).text();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(lines).toEqual([]);
  });

  it('gives every request a new id, even if one was sent', async () => {
    const { url } = await start();
    const idOf = async (sent: string) => {
      const response = await fetch(`${url}/hello`, { headers: { 'x-request-id': sent } });
      return ((await response.json()) as { id: string }).id;
    };
    for (const bad of ['build-4711.step_2', 'short', 'has space in it', 'x'.repeat(200), '"quoted-id"']) {
      expect(await idOf(bad)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/);
    }
  });

  it('answers whether it is alive and ready, with the reasons', async () => {
    const states = [
      { ready: true, reasons: [] },
      { ready: false, reasons: ['the database is unreachable'] },
    ];
    let current = states[0]!;
    const { url, lines } = await start({ ready: async () => current });
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    const first = await fetch(`${url}/readyz`);
    expect([first.status, await first.json()]).toEqual([200, states[0]]);
    current = states[1]!;
    const second = await fetch(`${url}/readyz`);
    expect([second.status, await second.json()]).toEqual([503, states[1]]);
    expect(lines).toEqual([]);
  });

  it('is not ready when the check itself fails', async () => {
    const { url } = await start({ ready: () => Promise.reject(new Error('password=hunter2')) });
    const response = await fetch(`${url}/readyz`);
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ ready: false, reasons: ['the readiness check failed'] });
  });

  it('shows request metrics by route on a separate listener', async () => {
    const registry = new Registry();
    const begunMs = performance.now();
    const { url, metricsPort } = await start({ metrics: { listen: local, registry } });
    await (await fetch(`${url}/hello`)).text();
    await (await fetch(`${url}/nowhere`)).text();
    const metricsUrl = `http://127.0.0.1:${metricsPort}`;
    let text = '';
    await until(() => {
      void registry.metrics().then((metricsText) => {
        text = metricsText;
      });
      return text.includes('route="other"');
    });
    text = await (await fetch(`${metricsUrl}/metrics`)).text();
    expect(text).toContain('http_requests_total{route="GET /hello",status="200"} 1');
    expect(text).toContain('http_requests_total{route="other",status="404"} 1');
    expect(text).toContain('http_requests_in_flight 0');
    expect(text).toContain('http_request_duration_seconds_bucket{le="+Inf",route="GET /hello"} 1');
    const [, seconds] = /http_request_duration_seconds_sum\{route="GET \/hello"\} (\S+)/.exec(text)!;
    expect(Number(seconds) * 1000).toBeLessThanOrEqual(performance.now() - begunMs);
    expect(text).toContain('process_cpu_seconds_total');
    expect((await fetch(`${metricsUrl}/hello`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
  });

  it.each([
    ['a bad request line', 'NONSENSE\r\n\r\n', 400, 'unknown method'],
    ['a bad version', 'GET / HTTP/9.9\r\n\r\n', 400, 'invalid HTTP version'],
    ['a header line without colon', 'GET / HTTP/1.1\r\nHost: a\r\nbroken\r\n\r\n', 400, 'malformed request'],
    [
      'headers above the limit',
      `GET / HTTP/1.1\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
      431,
      'request header fields too large',
    ],
    ['a path above the limit', `GET /${'y'.repeat(20_000)} HTTP/1.1\r\n\r\n`, 431, 'request header fields too large'],
    [
      'two content lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na',
      400,
      'malformed request',
    ],
    ['a tunnel', 'CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405, 'method not allowed'],
  ])('answers %s cleanly and continues', async (_what, text, status, why) => {
    const refusal = (_code: number, message: string) => ({
      type: 'application/json',
      body: JSON.stringify({ errors: [message] }),
    });
    const { url, port } = await start({ refusal });
    const answer = await raw(port, text);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\nConnection: close\r\nContent-Type: application\/json\r\nContent-Length: \d+\r\n\r\n/);
    const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
    expect(JSON.parse(body)).toEqual({ errors: [why] });
    expect((await fetch(`${url}/hello`)).status).toBe(200);
  });

  it('answers a request once, even if it is answered before its body turns out to be broken', async () => {
    const app = createApp();
    app.use((_req, res) => void res.status(403).end());
    const { port } = await start({ app });
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const answer = await new Promise<string>((resolve, reject) => {
      let received = '';
      const socket = net.connect(port, '127.0.0.1', () => socket.write(head));
      socket.on('data', (chunk) => {
        received += chunk;
        if (socket.writable) socket.write('no length of a chunk\r\n');
      });
      socket.on('close', () => resolve(received));
      socket.on('error', reject);
    });
    expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 403']);
  });

  it('ends a request that does not arrive in time', async () => {
    const { port } = await start({ limits: { requestSeconds: 0.1 } });
    const answer = await raw(port, 'POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf');
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(answer).toMatch(/Content-Type: text\/plain; charset=utf-8\r\nContent-Length: 16\r\n\r\nrequest timeout\n$/);
  });

  it('finishes pending answers before it closes, and is not ready in the meantime', async () => {
    let release: (() => void) | undefined;
    const serving = await start({
      onGo: (go) => {
        release = go;
      },
    });
    const idle = net.connect(serving.port, '127.0.0.1');
    const idleClosed = new Promise((resolve) => idle.once('close', resolve));
    const agent = new http.Agent({ keepAlive: true });
    const answer = new Promise<string>((resolve, reject) => {
      http
        .get(`${serving.url}/slow`, { agent }, (res) => res.setEncoding('utf8').on('data', resolve))
        .on('error', reject);
    });
    await until(() => release !== undefined);
    const closed = serving.close();
    await idleClosed;
    await expect(fetch(`${serving.url}/hello`)).rejects.toThrow();
    release?.();
    expect(await answer).toBe('done');
    await closed;
    agent.destroy();
  });

  it('continues for a while when it is asked to close: not ready, and every answer closes its connection', async () => {
    let release: (() => void) | undefined;
    let stopNow: () => void = () => undefined;
    const serving = await start({
      drainDelay: () => new Promise<void>((resolve) => (stopNow = resolve)),
      onGo: (go) => {
        release = go;
      },
    });
    const { url, port } = serving;
    const agent = new http.Agent({ keepAlive: true });
    const get = (path: string, by: http.Agent | false = agent) =>
      new Promise<{ status: number; connection: string | undefined; text: string }>((resolve, reject) => {
        http
          .get(`${url}${path}`, { agent: by }, (res) => {
            let text = '';
            res.setEncoding('utf8').on('data', (chunk) => (text += chunk));
            res.on('end', () => resolve({ status: res.statusCode!, connection: res.headers.connection, text }));
          })
          .on('error', reject);
      });
    expect(await get('/hello')).toMatchObject({ status: 200, connection: 'keep-alive' });
    const slow = get('/slow', new http.Agent({ keepAlive: true }));
    await until(() => release !== undefined);
    const silent = net.connect(port, '127.0.0.1');
    await new Promise((resolve) => silent.once('connect', resolve));

    const closed = serving.close();
    // On the earlier connection, on a new one, and on one that was opened but not used yet.
    expect(await get('/hello')).toMatchObject({ status: 200, connection: 'close' });
    expect(await get('/hello')).toMatchObject({ status: 200, connection: 'close' });
    const early = new Promise<string>((resolve) => silent.once('data', (chunk) => resolve(chunk.toString())));
    silent.write('GET /hello HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await early).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is);
    const ready = await get('/readyz');
    expect(ready).toMatchObject({ status: 503, connection: 'close' });
    expect(JSON.parse(ready.text)).toEqual({ ready: false, reasons: ['shutting down'] });
    release?.();
    expect(await slow).toMatchObject({ status: 200, connection: 'close', text: 'done' });

    stopNow();
    await closed;
    await expect(get('/hello', false)).rejects.toThrow(/ECONNREFUSED/);
    agent.destroy();
  });

  it('forcibly closes connections that are still open after the time for draining', async () => {
    let started = false;
    const serving = await start({
      drainSeconds: 0.05,
      onGo: () => {
        started = true;
      },
    });
    const answer = fetch(`${serving.url}/slow`);
    answer.catch(() => undefined);
    await until(() => started);
    await serving.close();
    await expect(answer).rejects.toThrow();
  });

  it('logs once that it closes, however often it is closed', async () => {
    let times = 0;
    const { close } = await start({ onClose: () => times++ });
    const first = close();
    const second = close();
    await Promise.all([first, second]);
    await close();
    expect(times).toBe(1);
  });

  it('reports which port is taken and leaves nothing open', async () => {
    const { port } = await start();
    await expect(start({ listen: { ...local, port } })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    const metrics = { listen: { ...local, port }, registry: new Registry() };
    await expect(start({ metrics })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
