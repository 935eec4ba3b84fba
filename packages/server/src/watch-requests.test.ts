import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import type { TraceSpan, Tracing } from '@keystead/tracing';
import { createLogger } from './logger';
import { labelRoute } from './route';
import { type WatchedAnswer, watchRequests } from './watch-requests';

/** A request watch with its log lines and spans. */
function watched({ slowMs, isTraced = true }: { slowMs?: number; isTraced?: boolean }) {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    name: 'x',
    level: 'info',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const records: unknown[][] = [];
  const span = {
    traceId: 'trace-1',
    rename: (name: string) => records.push(['rename', name]),
    set: (attributes: object) => records.push(['set', attributes]),
    end: (failed: boolean) => records.push(['end', failed]),
  } as unknown as TraceSpan;
  const tracing = {
    begin(...args: unknown[]) {
      records.push(['begin', ...args]);
      return isTraced ? span : undefined;
    },
  } as unknown as Tracing;
  return { watch: watchRequests({ log, tracing, slowMs })!, lines, told: records, span };
}

/** A request of a route with its status, start time and answer time. */
function answer(status: number, begunMs: number, answeredMs?: number, headers: object = {}): WatchedAnswer {
  const req = Object.assign(new IncomingMessage(new Socket()), { method: 'PUT' });
  req.headers = { 'x-request-id': 'req-12345', ...headers };
  labelRoute(req, '/a/:b');
  const now = performance.now();
  const answeredAtMs = answeredMs === undefined ? undefined : now - answeredMs;
  return { req, statusCode: status, startedAtMs: now - begunMs, answeredAtMs } as unknown as WatchedAnswer;
}

describe('the watch over requests', () => {
  it('exists only if it is configured', () => {
    const log = createLogger({ name: 'x', level: 'silent' });
    expect(watchRequests({ log })).toBeUndefined();
    expect(watchRequests({ log, slowMs: 0 })).toBeDefined();
    const { watch } = watched({ isTraced: false });
    const res = answer(200, 1);
    expect(watch.begin(res.req, res)).toBeUndefined();
    expect(res.course).toBeUndefined();
  });

  it('traces a request by the header that it came with, under its route', () => {
    const { watch, told: records, span, lines } = watched({});
    const res = answer(200, 1, undefined, { traceparent: '00-a' });
    const course = watch.begin(res.req, res)!;
    expect([course, course.span]).toEqual([res.course, span]);
    course.spend('waiting', 1.23456);
    course.spend('database', 2);
    course.spend('outside', 3);
    watch.end(res);
    expect(records).toEqual([
      ['begin', 'request', 'server', '00-a'],
      ['rename', 'PUT /a/:b'],
      [
        'set',
        {
          'http.request.method': 'PUT',
          'http.route': '/a/:b',
          'http.response.status_code': 200,
          'keystead.request_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
          'keystead.sent_request_id': 'req-12345',
          'keystead.waiting_ms': 1.235,
          'keystead.database_ms': 2,
          'keystead.outside_ms': 3,
        },
      ],
      ['end', false],
    ]);
    expect([course.isOver, lines]).toEqual([true, []]);
  });

  it.each<[number, boolean]>([
    [499, false],
    [500, true],
    [503, true],
  ])('counts %i as a failure: %p', (status, failed) => {
    const { watch, told: records } = watched({});
    const res = answer(status, 1);
    watch.begin(res.req, res);
    watch.end(res);
    expect(records[0]).toEqual(['begin', 'request', 'server', undefined]);
    expect(records.at(-1)).toEqual(['end', failed]);
  });

  it('ignores lists of headers', () => {
    const { watch, told: records } = watched({});
    const res = answer(200, 1, undefined, { traceparent: ['00-a', '00-b'] });
    watch.begin(res.req, res);
    expect(records).toEqual([['begin', 'request', 'server', undefined]]);
  });

  it('logs requests whose answer started late, not counting a wait that the caller requested', () => {
    const { watch, lines } = watched({ slowMs: 1_000 });
    const slow = answer(404, 6_000, 3_000);
    watch.begin(slow.req, slow)!.spend('database', 2_500.00049);
    slow.course!.spend('asked', 500);
    slow.course!.spend('waiting', 1);
    slow.course!.spend('outside', 2);
    watch.end(slow);
    expect(lines).toEqual([
      {
        level: 'warn',
        time: expect.any(String),
        name: 'x',
        method: 'PUT',
        route: '/a/:b',
        status: 404,
        ms: expect.any(Number),
        waitingMs: 1,
        databaseMs: 2_500,
        outsideMs: 2,
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        traceId: 'trace-1',
        msg: 'slow request',
      },
    ]);
    expect(lines[0]!.ms).toBeCloseTo(2_500, 3);
    expect(String(lines[0]!.ms)).toMatch(/^\d+(\.\d{1,3})?$/);
  });

  it('logs no request that was quick enough, and none that is not watched', () => {
    const { watch, lines } = watched({ slowMs: 1_000, isTraced: false });
    for (const [startMs, answerMs, askedMs] of [
      [1_500, 1_000, 0],
      [60_000, 1_000, 58_500],
    ] as const) {
      const quick = answer(200, startMs, answerMs);
      watch.begin(quick.req, quick)!.spend('asked', askedMs);
      watch.end(quick);
    }
    expect(lines).toEqual([]);
    // A request without an answer is slow until its end.
    const departed = answer(200, 1_000);
    expect(watch.begin(departed.req, departed)!.span).toBeUndefined();
    watch.end(departed);
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toHaveProperty('traceId');
  });
});
