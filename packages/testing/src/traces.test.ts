import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Course,
  currentCourse,
  during,
  follow,
  readHeaders,
  startTracing,
  step,
  type Tracing,
  together,
} from '@keystead/tracing';
import { type SpanReceiver, spanReceiver } from './span-receiver';

const parent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
const log = { warn: () => undefined, info: () => undefined };

describe('traces', () => {
  let receiver: SpanReceiver;
  let tracing: Tracing;
  const start = async (share: number, logger = log) => {
    const options = { url: receiver.url, headers: { 'x-key': 'k 1' }, share, service: 'a service', version: '1' };
    tracing = startTracing(options, logger)!;
  };
  beforeEach(async () => {
    receiver = await spanReceiver();
  });
  afterEach(async () => {
    await tracing.close();
    await receiver.close();
  });

  it('continue the trace of a request, and show its steps', async () => {
    await start(0);
    const span = tracing.begin('request', 'server', parent)!;
    const course = new Course(span);
    await follow(course, () =>
      step('sign', undefined, () => during('outside', 'the issuer', { tries: 1 }, async (call) => call!.traceparent)),
    ).then((sent) => expect(sent).toMatch(new RegExp(`^00-${'a1'.repeat(16)}-[0-9a-f]{16}-01$`)));
    await expect(
      follow(course, () => during('database', 'read', undefined, () => Promise.reject(new Error('gone')))),
    ).rejects.toThrow('gone');
    span.end(false);
    await tracing.close();
    const [call, signing, read, request] = receiver.spans;
    expect(request).toMatchObject({
      traceId: 'a1'.repeat(16),
      parentSpanId: 'b2'.repeat(8),
      kind: 2,
      service: 'a service',
    });
    expect(signing).toMatchObject({ name: 'sign', parentSpanId: request!.spanId });
    expect(call).toMatchObject({
      name: 'the issuer',
      parentSpanId: signing!.spanId,
      kind: 3,
      attributes: { tries: 1 },
    });
    expect(read).toMatchObject({ name: 'read', parentSpanId: request!.spanId, status: 2 });
    expect(course.spentMs.outside).toBeGreaterThan(0);
    expect(receiver.headers[0]).toMatchObject({ 'x-key': 'k 1' });
  });

  it.each([
    '00-short-01',
    `00-${'0'.repeat(32)}-${'b2'.repeat(8)}-01`,
    `ff-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`,
    `${parent}-more`,
  ])('start a new trace if their request came with %s', async (malformed) => {
    await start(1);
    expect(tracing.begin('request', 'server', malformed)!.traceId).not.toBe('a1'.repeat(16));
    await start(0);
    expect(tracing.begin('request', 'server', malformed)).toBeUndefined();
  });

  it('are at most twenty a second if a share is requested, and all if all are requested', async () => {
    await start(0.999);
    const sampled = () =>
      Array.from({ length: 500 }, () => tracing.begin('request', 'server', undefined)).filter(Boolean);
    expect(sampled().length).toBeGreaterThanOrEqual(20);
    expect(sampled().length).toBeLessThan(20);
    expect(tracing.begin('request', 'server', parent)).toBeDefined();
    await sleep(200);
    expect(sampled().length).toBeGreaterThanOrEqual(3);
    await start(1);
    expect(sampled()).toHaveLength(500);
  });

  it('pass on a trace that is not recorded, without recording it', async () => {
    await start(1);
    const span = tracing.begin('request', 'server', `${parent.slice(0, -1)}0`)!;
    expect(span.child('call', 'client').traceparent).toBe(`${parent.slice(0, -1)}0`);
    span.end(false);
    await tracing.close();
    expect(receiver.spans).toEqual([]);
  });

  it('show shared work in the trace of each caller, with its time', async () => {
    await start(1);
    const courses = ['one', 'other'].map((name) => new Course(tracing.begin(name, 'server', undefined)));
    const timed = new Course(undefined);
    const askers = [...courses, timed].map((course) => ({ course, sinceMs: performance.now() - 50 }));
    await together('commit', askers, () => during('database', 'insert', undefined, () => sleep(5)));
    for (const { span } of courses) span!.end(false);
    await tracing.close();
    const commits = receiver.spans.filter(({ name }) => name === 'commit');
    expect(commits.map(({ links }) => links.length)).toEqual([1, 1]);
    expect(new Set(commits.map(({ traceId }) => traceId)).size).toBe(2);
    const insert = receiver.spans.find(({ name }) => name === 'insert')!;
    const commit = commits.find(({ spanId }) => spanId === insert.parentSpanId)!;
    expect(commits.find((one) => one !== commit)!.links).toEqual([commit.spanId]);
    for (const { spentMs } of [...courses, timed]) {
      expect(spentMs.waiting).toBeGreaterThanOrEqual(50);
      expect(spentMs.database).toBeGreaterThan(0);
    }
  });

  it('report once that they are lost, and once that they arrive again', async () => {
    const messages: string[] = [];
    await start(1, {
      warn: (_fields: object, message: string) => void messages.push(message),
      info: (message: string) => void messages.push(message),
    } as typeof log);
    receiver.answer(400);
    for (const name of ['one', 'two']) {
      tracing.begin(name, 'server', undefined)!.end(false);
      await new Promise<void>((resolve) => {
        const look = setInterval(() => {
          if (receiver.headers.length < (name === 'one' ? 1 : 2)) return;
          clearInterval(look);
          resolve();
        }, 10);
      });
    }
    receiver.answer(200);
    tracing.begin('three', 'server', undefined)!.end(false);
    await tracing.close();
    expect(messages).toEqual(['traces cannot be sent and are lost', 'traces are sent again']);
    expect(receiver.spans.map(({ name }) => name)).toEqual(['three']);
  });
});

describe('a course', () => {
  it('records nothing after its end, and work outside a request has none', async () => {
    const course = new Course(undefined);
    await follow(course, async () => {
      expect(currentCourse()).toBe(course);
      follow(undefined, () => expect(currentCourse()).toBeUndefined());
      course.end();
      expect(currentCourse()).toBeUndefined();
      await during('database', 'late', undefined, () => sleep(2));
    });
    expect(course.spentMs.database).toBe(0);
  });
});

describe('headers for traces', () => {
  it('are parsed with percent encoding, or refused with the reason', () => {
    expect(readHeaders('authorization=Bearer%20x, x-org=7')).toEqual({ authorization: 'Bearer x', 'x-org': '7' });
    expect(() => readHeaders('authorization')).toThrow('is not name=value');
    expect(() => readHeaders('a b=1')).toThrow('is not name=value');
    expect(() => readHeaders('a=%')).toThrow('not percent-encoded');
    expect(() => readHeaders('a=%0Ab')).toThrow('not allowed in a header');
  });
});
