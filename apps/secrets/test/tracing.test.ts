import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, type Serving, serve } from '@keystead/server';
import { type ReceivedSpan, type SpanReceiver, spanReceiver } from '@keystead/testing';
import { Course, follow, startTracing, type Tracing } from '@keystead/tracing';
import { add, newWriteSet } from '../src/kernel/storage/write-set';
import { startSecrets } from './start-secrets';

// A trace must show what took the time, and must not contain secrets.
describe('traces of the secrets service', () => {
  const secrets = startSecrets();
  const canary = randomBytes(12).toString('hex');
  const traceId = randomBytes(16).toString('hex');
  const lines: Record<string, unknown>[] = [];
  const outside: http.IncomingHttpHeaders[] = [];
  let receiver: SpanReceiver;
  let tracing: Tracing;
  let serving: Serving;
  let issuer: http.Server;
  let tokens: string[] = [];

  const ask = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${serving.url}/v1/${path}`, {
      method,
      headers: { 'x-service-token': secrets.rootToken, ...headers },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const below = (span: ReceivedSpan): ReceivedSpan[] =>
    receiver.spans.filter(({ parentSpanId }) => parentSpanId === span.spanId).flatMap((one) => [one, ...below(one)]);

  /** Simultaneous writes of two requests. */
  const commitOf = async (name: string) => {
    const { committer, mounts } = secrets.service.kernel;
    const mountId = [...mounts.all()].find(({ type }) => type === 'cubbyhole')!.uuid;
    const span = tracing.begin(name, 'internal', undefined)!;
    const set = newWriteSet();
    add(set, 'puts', { mountId, path: `${canary}/${name}`, value: Buffer.from(canary) });
    await follow(new Course(span), () => committer.commit(set));
    span.end(false);
  };

  beforeAll(async () => {
    receiver = await spanReceiver();
    const { url } = receiver;
    const quiet = { warn: () => undefined, info: () => undefined };
    tracing = startTracing({ url, headers: {}, share: 1, service: 'keystead-secrets', version: '0' }, quiet)!;
    issuer = http.createServer((req, res) => {
      outside.push(req.headers);
      res.writeHead(200, { 'content-type': 'application/json' }).end('{"keys":[]}');
    });
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
    serving = await serve({
      app: secrets.service.app,
      listen: { host: '127.0.0.1', port: 0 },
      log: createLogger({ name: 'secrets', level: 'info', destination }),
      ready: async () => ({ ready: true, reasons: [] }),
      tracing,
      slowMs: 1,
    });
    const jwks = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/${canary}`;
    await ask('POST', 'sys/auth/jwt', { type: 'jwt' });
    await ask('POST', 'auth/jwt/config', { jwks_url: jwks }, { traceparent: `00-${traceId}-${'c3'.repeat(8)}-01` });
    await ask('POST', 'sys/mounts/two', { type: 'kv', options: { version: '2' } });
    await Promise.all(['one', 'other'].map(commitOf));
    await ask('POST', `two/data/${canary}?hint=${canary}`, { data: { word: canary } }, { 'x-canary': canary });
    await ask('GET', `two/data/${canary}`);
    await ask('GET', `nowhere/${canary}`);
    const made = await ask('POST', 'auth/token/create', { meta: { word: canary } });
    tokens = [secrets.rootToken, made.body.auth.client_token, made.body.auth.accessor];
    await ask('POST', 'auth/token/lookup', { token: tokens[1] });
    await serving.close();
    await tracing.close();
  });
  afterAll(async () => {
    issuer.close();
    await receiver.close();
  });

  it('have a span for each request, named by its route, with the time of each step', () => {
    const requests = receiver.spans.filter(({ kind }) => kind === 2);
    expect(requests).toHaveLength(8);
    expect(requests.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['POST kv/data/:path*', 'GET kv/data/:path*', 'GET other']),
    );
    const write = requests.find(({ name }) => name === 'POST kv/data/:path*')!;
    expect(write.attributes).toMatchObject({ 'http.request.method': 'POST', 'http.response.status_code': 200 });
    expect(write.attributes['keystead.database_ms']).toBeGreaterThan(0);
    expect(below(write).filter(({ attributes }) => attributes['db.system.name'] === 'postgresql')).not.toEqual([]);
  });

  it('have a shared commit in each trace, linked to the one with its statements', () => {
    const commits = receiver.spans.filter(
      ({ name, attributes }) => name === 'commit' && attributes['keystead.batch.size'] === 2,
    );
    expect(new Set(commits.map((one) => one.traceId)).size).toBe(2);
    const [led, linked] = commits.sort((one, other) => below(other).length - below(one).length);
    expect(below(led!).length).toBeGreaterThan(0);
    expect(below(linked!)).toEqual([]);
    expect(linked!.links).toEqual([led!.spanId]);
  });

  it('continue the trace of the caller, into the outside system', () => {
    expect(outside.length).toBeGreaterThan(0);
    for (const { traceparent } of outside) expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    const [call] = receiver.spans.filter((one) => one.traceId === traceId && one.name === 'the issuer');
    expect(outside[0]!.traceparent).toContain(call!.spanId);
  });

  it('are named in the log, next to slow requests and their reasons', () => {
    const ids = new Set(receiver.spans.map((one) => one.traceId));
    const requests = lines.filter(({ msg }) => msg === 'request');
    expect(requests).toHaveLength(8);
    for (const line of requests) expect(ids).toContain(line.traceId);
    const slow = lines.filter(({ msg }) => msg === 'slow request');
    expect(slow.length).toBeGreaterThan(0);
    expect(slow).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        route: 'jwt/config',
        ms: expect.any(Number),
        outsideMs: expect.any(Number),
      }),
    );
    for (const { waitingMs, databaseMs, outsideMs } of slow) {
      expect(Number(waitingMs) + Number(databaseMs) + Number(outsideMs)).toBeGreaterThanOrEqual(0);
    }
  });

  it('contain no token, and no sent, stored or requested value', () => {
    expect(tokens).toHaveLength(3);
    const said = receiver.text() + JSON.stringify(lines);
    expect(said).toContain('keystead.request_id');
    for (const secret of [...tokens, canary]) expect(said).not.toContain(secret);
  });
});
