import { afterAll, describe, expect, it } from '@jest/globals';
import { propertySettings } from '@keystead/testing';
import fc from 'fast-check';
import type { Database } from '../../../../kernel/database/database';
import { StateDigest } from './state-reader';
import { StateThreads, watch, withStateThreads } from './state-threads';

fc.configureGlobal(propertySettings);

const threads = new StateThreads();
const nowhere = {} as Database;
const db = withStateThreads(nowhere, threads);
afterAll(() => threads.close());

function watched(bytes: Uint8Array, pieceBytes: number, at = db) {
  const piece = new Uint8Array(pieceBytes);
  return watch(at, async (seen) => {
    for (let from = 0; from < bytes.length; from += pieceBytes) {
      const next = bytes.subarray(from, from + pieceBytes);
      piece.set(next);
      await seen(piece.subarray(0, next.length));
      // A caller may reuse the buffer of a piece.
      piece.fill(0);
    }
    return bytes.length;
  });
}

function digestOf(bytes: Uint8Array) {
  const digest = new StateDigest();
  digest.write(bytes);
  return digest.end();
}

const names = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'module.a', 'é\ud800'), fc.string());
const resources = fc.array(
  fc.record({
    mode: fc.constant('managed'),
    module: names,
    type: names,
    name: names,
    instances: fc.array(fc.object()),
  }),
);
const states = fc
  .record({
    resources,
    paddingBytes: fc.oneof(
      fc.constantFrom(0, 64 * 1024 - 300, 64 * 1024, 256 * 1024 - 300, 256 * 1024, 512 * 1024),
      fc.nat(1024 * 1024),
    ),
    cutBytes: fc.nat(2),
  })
  .map(({ resources, paddingBytes, cutBytes }) => {
    const outputs = JSON.parse('{"__proto__":{"value":[1,"a"],"type":["tuple",["number","string"]]}}');
    const text = JSON.stringify({ version: 4, serial: 1, outputs, resources, padding: 'x'.repeat(paddingBytes) });
    const bytes = Buffer.from(text);
    return bytes.subarray(0, bytes.length - cutBytes);
  });

describe('reading a state as it streams through', () => {
  it('reads states of any length, in any pieces, with the same result as in one piece', async () => {
    await fc.assert(
      fc.asyncProperty(states, fc.constantFrom(1000, 16 * 1024, 64 * 1024, 300_000, 2_000_000), async (bytes, size) => {
        const told = { ...digestOf(bytes), result: bytes.length };
        expect(await watched(bytes, size)).toEqual(told);
        expect(await watched(bytes, size, nowhere)).toEqual(told);
      }),
      { numRuns: 60 },
    );
  });

  it('reads many at once, even if some are interrupted', async () => {
    const padded = (bytes: number) => Buffer.from(JSON.stringify({ version: 4, padding: 'x'.repeat(bytes) }));
    const broken = new Error('gone');
    const all = Array.from({ length: 30 }, async (_, n) => {
      const bytes = padded(n * 40_000);
      if (n % 3 > 0) return expect(await watched(bytes, 50_000)).toMatchObject(digestOf(bytes));
      const breaking = watch(db, async (seen) => {
        for (let i = 0; i < 10; i++) await seen(bytes);
        throw broken;
      });
      return expect(breaking).rejects.toBe(broken);
    });
    await Promise.all(all);
  });

  it('does not keep a process alive', async () => {
    await watched(Buffer.alloc(300_000), 300_000);
    expect(process.getActiveResourcesInfo()).not.toContain('MessagePort');
  });

  it('fails for the states of a thread that ended, and reads the next ones with another thread', async () => {
    const bytes = Buffer.from(JSON.stringify({ version: 4, padding: 'x'.repeat(1024 * 1024) }));
    const thread = threads.current();
    const unread = watch(db, async (seen) => {
      await seen(bytes);
      await expect(thread.read(thread.begin(), 'no bytes' as never)).rejects.toMatchObject({ kind: 'unavailable' });
      await seen(bytes);
    });
    await expect(unread).rejects.toMatchObject({ kind: 'unavailable' });
    expect(threads.current()).not.toBe(thread);
    expect(await watched(bytes, 300_000)).toMatchObject(digestOf(bytes));
  });
});
