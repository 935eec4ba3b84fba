import { IncomingMessage, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { answerHealth, type Readiness } from './health';
import { createLogger } from './logger';
import { requestId, sentRequestId } from './request-id';
import { requestLog } from './request-log';
import { labelRoute, routeOf } from './route';

function requestWith(headers: Record<string, string | string[]> = {}, more: object = {}): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { headers, method: 'GET' }, more);
}

describe('the id of a request', () => {
  it.each([
    ['12345678', true],
    ['A.b_c:d-9', true],
    ['a'.repeat(128), true],
    ['1234567', false],
    ['a'.repeat(129), false],
    ['-2345678', false],
    ['.2345678', false],
    ['1234567 ', false],
    [' 12345678', false],
    ['12345678\n', false],
    ['1234567é', false],
  ])('is %j if the caller sent that: %p', (sent, expected) => {
    const req = requestWith({ 'x-request-id': sent });
    expect(sentRequestId(req)).toBe(expected ? sent : undefined);
    expect(requestId(req)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it('stays the same, and is never taken from a list', () => {
    const req = requestWith({ 'x-request-id': ['12345678', '12345678'] as never });
    expect(requestId(req)).toMatch(/^[0-9a-f]{8}-/);
    expect(requestId(req)).toBe(requestId(req));
    expect(requestId(requestWith())).not.toBe(requestId(requestWith()));
  });

  it('draws random UUIDs, each bit as often set as not', () => {
    const ids = Array.from({ length: 2000 }, () => requestId(requestWith()));
    expect(new Set(ids).size).toBe(ids.length);
    const times = Array<number>(128).fill(0);
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const bits = BigInt(`0x${id.replaceAll('-', '')}`);
      for (let bit = 0; bit < 128; bit++) times[bit]! += Number((bits >> BigInt(bit)) & 1n);
    }
    const random = times.filter((_, bit) => !(bit >= 62 && bit < 64) && !(bit >= 76 && bit < 80));
    expect(random).toHaveLength(122);
    // Seven standard deviations around the middle.
    for (const count of random) expect(Math.abs(count - 1000)).toBeLessThan(157);
  });
});

describe('the line of a request', () => {
  const lineOf = (label: string | undefined, ...rest: [number, number, boolean, string?]) => {
    const lines: string[] = [];
    const log = createLogger({ name: 'n', level: 'info', destination: { write: (text) => void lines.push(text) } });
    const req = requestWith({ 'x-request-id': 'req-12345' });
    if (label !== undefined) labelRoute(req, label);
    requestLog(log)(req, ...rest);
    const line = lines.join('');
    const { time, ...read } = JSON.parse(line) as { time: string };
    expect(line.endsWith('}\n')).toBe(true);
    expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60_000);
    return { read, order: Object.keys(JSON.parse(line)) };
  };
  const ownId = expect.stringMatching(/^[0-9a-f-]{36}$/);
  const usual = {
    level: 'info',
    name: 'n',
    method: 'GET',
    requestId: ownId,
    sentRequestId: 'req-12345',
    msg: 'request',
  };

  it('is like any other, and reveals nothing about the caller', () => {
    const { read, order } = lineOf('/a/:b', 200, 1.23456, true);
    expect(read).toEqual({ ...usual, route: '/a/:b', status: 200, ms: 1.235 });
    expect(order).toEqual([
      ...['level', 'time', 'name', 'method', 'route', 'status', 'ms', 'requestId', 'sentRequestId', 'msg'],
    ]);
  });

  it('shows that the client left, and the trace', () => {
    const { read, order } = lineOf(undefined, 499, 2, false, 'abc');
    expect(read).toEqual({ ...usual, route: 'other', status: 499, ms: 2, aborted: true, traceId: 'abc' });
    expect(order.slice(-4)).toEqual(['sentRequestId', 'aborted', 'traceId', 'msg']);
  });

  it.each(['/a "b"', '/a\\b', '/é', '/a\n', ''])('contains %j as the route', (label) => {
    expect(lineOf(label, 200, 1, true).read).toMatchObject({ route: label });
  });

  it('has the time of each request', async () => {
    const lines: string[] = [];
    const log = createLogger({ name: 'n', level: 'info', destination: { write: (text) => void lines.push(text) } });
    const write = requestLog(log);
    write(requestWith(), 200, 1, true);
    const begunMs = Date.now();
    while (Date.now() === begunMs) await new Promise(setImmediate);
    write(requestWith(), 200, 1, true);
    const [first, second] = lines.map((line) => Date.parse((JSON.parse(line) as { time: string }).time));
    expect(second).toBeGreaterThan(first!);
  });

  it('has its own label, or none', () => {
    const req = requestWith();
    expect(routeOf(req)).toBe('other');
    labelRoute(req, '/x');
    expect(routeOf(req)).toBe('/x');
  });
});

describe('the health of a service', () => {
  /** The answer; undefined for other paths. */
  async function readiness(url: string, method: string, ready: () => Promise<Readiness>) {
    const faults: unknown[] = [];
    const result = new Promise<unknown[]>((resolve) => {
      const res = {
        writeHead: (...head: unknown[]) => void faults.push(...head),
        end: (body?: string) => resolve([...faults, body]),
      };
      if (!answerHealth(requestWith({}, { url, method }), res as never as ServerResponse, ready)) resolve([]);
    });
    return result;
  }
  const headers = (body: string) => ({
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  });
  const fine = async () => ({ ready: true, reasons: [] });

  it('is answered only at its own paths', async () => {
    const [alive, ready] = ['{"alive":true}', '{"ready":true,"reasons":[]}'];
    expect(await readiness('/livez', 'GET', fine)).toEqual([200, headers(alive), alive]);
    expect(await readiness('/livez', 'HEAD', fine)).toEqual([200, headers(alive), undefined]);
    expect(await readiness('/readyz', 'GET', fine)).toEqual([200, headers(ready), ready]);
    for (const url of ['/', '/livez/', '/readyz?a', '/other']) expect(await readiness(url, 'GET', fine)).toEqual([]);
  });

  it.each([
    ['failed', () => Promise.reject(new Error('why')), 'the readiness check failed'],
    ['takes too long', () => new Promise<never>(() => undefined), 'the readiness check takes too long'],
  ])('is not ready if the check %s', async (_how, ready, reason) => {
    const body = JSON.stringify({ ready: false, reasons: [reason] });
    expect(await readiness('/readyz', 'GET', ready)).toEqual([503, headers(body), body]);
  });
});
