import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { atPace, BodyAborted, BodyLate, type BodyOptions, BodyTooLarge, discardBody, readBody } from './read-body';

interface Sending extends Readable {
  complete: boolean;
  readonly res: { shouldKeepAlive: boolean };
}

/** A request whose body arrives as the test pushes it. */
function sending(headers: Record<string, string>, complete = false): Sending & IncomingMessage {
  const body = new Readable({ read: () => undefined });
  return Object.assign(body, { headers, complete, res: { shouldKeepAlive: true } }) as unknown as Sending &
    IncomingMessage;
}
const unannounced = { 'transfer-encoding': 'chunked' };
const announced = (bytes: number) => ({ 'content-length': String(bytes) });
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The current state of a promise. */
function outcome(promise: Promise<unknown>): { value: unknown } {
  const result = { value: 'pending' as unknown };
  promise.then(
    (value) => (result.value = value),
    (error) => (result.value = error),
  );
  return result;
}

describe('a body', () => {
  let nowMs: number;
  let timers: Map<object, { readonly atMs: number; run(): void }>;

  beforeEach(() => {
    nowMs = 5000;
    timers = new Map();
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    // Other code in this process, such as leftovers of earlier tests, keeps the real timers.
    const { setTimeout: begin, clearTimeout: end } = globalThis;
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number, ...more: []) => {
      if (!new Error().stack!.includes('read-body.ts')) return begin(run, ms, ...more);
      const timer = {};
      timers.set(timer, { atMs: nowMs + ms, run });
      return timer;
    }) as never);
    jest.spyOn(globalThis, 'clearTimeout').mockImplementation(((timer: object) => {
      if (!timers.delete(timer)) end(timer as NodeJS.Timeout);
    }) as never);
  });
  afterEach(() => void jest.restoreAllMocks());

  async function until(ms: number): Promise<void> {
    for (;;) {
      await nextTurn();
      const [timer, next] = [...timers].sort(([, a], [, b]) => a.atMs - b.atMs)[0] ?? [];
      if (timer === undefined || next!.atMs > 5000 + ms) break;
      timers.delete(timer);
      nowMs = next!.atMs;
      next!.run();
    }
    nowMs = 5000 + ms;
    await nextTurn();
  }

  // Ten milliseconds for each byte.
  const pace = { graceMs: 1000, bytesPerSecond: 100 };
  const options: BodyOptions = { limit: 1_000_000, pace };

  describe.each([
    ['announced', announced(100_000)],
    ['unannounced', unannounced],
  ])('%s', (_what, headers) => {
    it('is late if no byte arrives in the grace period, and its connection is not reused', async () => {
      const req = sending(headers);
      const result = outcome(readBody(req, options));
      await until(999);
      expect([result.value, req.res.shouldKeepAlive]).toEqual(['pending', true]);
      await until(1000);
      expect(result.value).toBeInstanceOf(BodyLate);
      expect([req.res.shouldKeepAlive, req.readableFlowing, timers.size]).toEqual([false, true, 0]);
    });

    it('has more time for each received byte', async () => {
      const req = sending(headers);
      const result = outcome(readBody(req, options));
      req.push(Buffer.alloc(60));
      await until(1100);
      req.push(Buffer.alloc(40));
      await until(1999);
      expect(result.value).toBe('pending');
      await until(2000);
      expect(result.value).toBeInstanceOf(BodyLate);
    });

    it('is checked at most every 50 ms', async () => {
      const req = sending(headers);
      const result = outcome(readBody(req, options));
      req.push(Buffer.alloc(1));
      await until(1049);
      expect(result.value).toBe('pending');
      await until(1050);
      expect(result.value).toBeInstanceOf(BodyLate);
    });

    it('is not late once it is complete', async () => {
      const req = sending(headers);
      const result = outcome(readBody(req, options));
      req.push(Buffer.from('all'));
      req.push(null);
      await until(10);
      expect([Buffer.isBuffer(result.value), timers.size]).toEqual([true, 0]);
    });

    it('is not timed if it arrived with its headers', async () => {
      void readBody(sending(headers, true), options);
      expect(timers.size).toBe(0);
    });

    it('is not timed while it waits for its turn, and then starts with the full time', async () => {
      const req = sending(headers);
      let begin: () => void = () => undefined;
      const turn = () => new Promise<void>((resolve) => (begin = resolve));
      const result = outcome(readBody(req, { ...options, large: { above: 10, turn } }));
      req.push(Buffer.alloc(20));
      await until(50_000);
      expect([result.value, timers.size]).toEqual(['pending', 0]);
      begin();
      await until(51_199);
      expect([result.value, req.readableFlowing]).toEqual(['pending', true]);
      await until(51_200);
      expect(result.value).toBeInstanceOf(BodyLate);
    });

    it('waits for one turn, however many bytes follow', async () => {
      const req = sending(headers);
      const turn = jest.fn(async () => undefined);
      const result = outcome(readBody(req, { ...options, large: { above: 10, turn } }));
      for (let i = 0; i < 5; i++) {
        req.push(Buffer.alloc(20, 'x'));
        await nextTurn();
      }
      req.push(null);
      await nextTurn();
      expect(turn).toHaveBeenCalledTimes(1);
      expect((result.value as Buffer).subarray(0, 100).toString()).toBe('x'.repeat(100));
    });

    it.each(['refused', 'gone'])('is not read if its turn is %s', async (end) => {
      const req = sending(headers);
      const refusal = new Error('no room');
      const turn = async () => {
        if (end === 'refused') throw refusal;
        req.destroy();
      };
      const result = outcome(readBody(req, { ...options, large: { above: 10, turn } }));
      req.push(Buffer.alloc(20));
      await nextTurn();
      if (end === 'gone') expect(result.value).toBeInstanceOf(BodyAborted);
      else expect([result.value, req.readableFlowing]).toEqual([refusal, true]);
      expect(timers.size).toBe(0);
    });

    it('ends early if its client leaves, with the error of the connection', async () => {
      const rest = sending(headers);
      const result = outcome(readBody(rest, options));
      rest.destroy();
      await nextTurn();
      expect([(result.value as Error).name, (result.value as Error).message]).toEqual([
        'BodyAborted',
        'the request body ended early',
      ]);

      const broken = sending(headers);
      const brokenSeen = outcome(readBody(broken, options));
      broken.destroy(new Error('reset'));
      await nextTurn();
      expect(brokenSeen.value).toMatchObject({ name: 'BodyAborted', cause: { message: 'reset' } });
      expect(timers.size).toBe(0);
    });

    it('that is complete can be read when its connection closes', async () => {
      const req = sending(headers, true);
      const result = outcome(readBody(req, options));
      req.push(Buffer.from('all'));
      req.push(null);
      await nextTurn();
      req.destroy();
      await nextTurn();
      expect((result.value as Buffer).subarray(0, 3).toString()).toBe('all');
    });
  });

  it.each([{}, announced(0)])('that does not exist is not read: %j', async (headers) => {
    const req = sending(headers);
    expect(await readBody(req, options)).toHaveLength(0);
    expect([req.listenerCount('data'), timers.size]).toEqual([0, 0]);
  });

  it('that arrived in one piece is not copied, but one above 128 KiB is', async () => {
    const read = async (headers: Record<string, string>, piece: Buffer) => {
      const req = sending(headers, true);
      const reading = readBody(req, options);
      req.push(piece);
      req.push(null);
      const body = await reading;
      expect(body.equals(piece)).toBe(true);
      return body === piece;
    };
    const piece = (bytes: number) => Buffer.alloc(bytes, 'x');
    expect(await read(announced(131_072), piece(131_072))).toBe(true);
    expect(await read(announced(131_073), piece(131_073))).toBe(false);
    expect(await read(unannounced, piece(131_073))).toBe(true);
  });

  it('may be as long as the limit, and is refused if it is longer', async () => {
    for (const headers of [announced(10), unannounced]) {
      const req = sending(headers);
      const result = outcome(readBody(req, { limit: 10 }));
      req.push(Buffer.alloc(10, 'x'));
      req.push(null);
      await nextTurn();
      expect(String(result.value)).toBe('x'.repeat(10));
    }
    expect(await readBody(sending(announced(11)), { limit: 10 }).catch((error) => error)).toEqual(new BodyTooLarge(10));
    const req = sending(unannounced);
    const result = outcome(readBody(req, { limit: 10 }));
    for (let i = 0; i < 3; i++) req.push(Buffer.alloc(6));
    req.push(null);
    await nextTurn();
    expect(result.value).toEqual(new BodyTooLarge(10));
    expect([req.res.shouldKeepAlive, timers.size]).toEqual([false, 0]);
  });

  it.each([
    [announced(64 * 1024 * 1024), true],
    [announced(64 * 1024 * 1024 + 1), false],
    [unannounced, false],
  ])('that is not read is discarded; whether its connection is kept: %j %s', (headers, goesOn) => {
    const req = sending(headers);
    discardBody(req);
    expect([req.res.shouldKeepAlive, req.readableFlowing]).toEqual([goesOn, true]);
    expect(() => discardBody(Object.assign(sending(headers), { res: undefined }))).not.toThrow();
  });

  describe('read piece by piece', () => {
    it('is late when its sender takes too long, however long its reader takes', async () => {
      const req = sending(announced(100_000));
      const pieces = atPace(req, pace);
      const next = () => outcome(pieces.next());
      // 60 bytes after 900 ms, 40 after 1,000 more: 2,000 ms are left at the beginning, 100 after that.
      let result = next();
      await until(900);
      expect(result.value).toBe('pending');
      req.push(Buffer.alloc(60));
      await until(901);
      expect(result.value).toMatchObject({ done: false, value: Buffer.alloc(60) });
      await until(50_901);
      result = next();
      await until(51_500);
      req.push(Buffer.alloc(40));
      await until(51_501);
      expect(result.value).toMatchObject({ done: false });
      result = next();
      await until(51_501 + 499);
      expect([result.value, req.res.shouldKeepAlive]).toEqual(['pending', true]);
      await until(51_501 + 501);
      expect(result.value).toBeInstanceOf(BodyLate);
      expect([req.res.shouldKeepAlive, req.destroyed]).toEqual([false, false]);
    });

    it('ends at its length, and leaves its connection open', async () => {
      const req = sending(announced(2));
      const pieces = atPace(req, pace);
      req.push('ab');
      req.push(null);
      let all = '';
      for await (const piece of pieces) all += piece;
      expect([all, timers.size, req.res.shouldKeepAlive]).toEqual(['ab', 0, true]);
      const rest = sending(announced(20));
      const some = atPace(rest, pace);
      rest.push('ab');
      await some.next();
      await some.return(undefined);
      expect(rest.destroyed).toBe(false);
    });
  });
});
