import { describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import type { KeyedRead } from './database';
import { KeyedReads } from './keyed-reads';

interface Sent {
  readonly name: string;
  readonly keys: readonly string[];
}

/** A pool whose statements return what `answer` returns, a moment later. */
function fakePool(answer: (sent: Sent) => { key: string; value: string }[]) {
  const batches: Sent[][] = [];
  const released: unknown[] = [];
  const pool = {
    async connect() {
      const batch: Sent[] = [];
      batches.push(batch);
      return {
        async query({ name, values }: { name: string; values: [string[]] }) {
          const sent = { name, keys: values[0] };
          batch.push(sent);
          const rows = answer(sent);
          await new Promise((resolve) => setTimeout(resolve, 5));
          return { rows };
        },
        release: (error?: unknown) => released.push(error),
      };
    },
  };
  return { pool: pool as unknown as Pool, batches, released };
}

const tokens: KeyedRead = { name: 'tokens', text: '', quick: true };
const stamps: KeyedRead = { name: 'stamps', text: '', quick: true };
const shout = ({ keys }: Sent) =>
  keys.filter((key) => key !== 'absent').map((key) => ({ key, value: key.toUpperCase() }));

describe('keyed reads', () => {
  it('share a round trip if they are simultaneous, even of different kinds, with each key once', async () => {
    const { pool, batches } = fakePool(shout);
    const reads = new KeyedReads(pool);
    const asked = [
      reads.read(tokens, 'a'),
      reads.read(stamps, 'b'),
      reads.read(tokens, 'a'),
      reads.read(stamps, 'absent'),
    ];
    const rows = await Promise.all(asked);
    expect(rows.map((row) => row?.value)).toEqual(['A', 'B', 'A', undefined]);
    expect(batches).toEqual([
      [
        { name: 'tokens', keys: ['a'] },
        { name: 'stamps', keys: ['b', 'absent'] },
      ],
    ]);
  });

  it('never return results of a batch that was sent before the read', async () => {
    let value = 'old';
    const { pool, batches } = fakePool(({ keys }) => keys.map((key) => ({ key, value })));
    const reads = new KeyedReads(pool, 1);
    const before = reads.read(tokens, 'k');
    while (batches.length === 0) await new Promise((resolve) => setImmediate(resolve));
    value = 'new';
    const after = reads.read(tokens, 'k');
    expect([(await before)?.value, (await after)?.value]).toEqual(['old', 'new']);
  });

  it('fail only for callers of a failed statement, whose connection is discarded', async () => {
    const gone = new Error('gone');
    const { pool, released } = fakePool((sent) => {
      if (sent.name === 'stamps') throw gone;
      return shout(sent);
    });
    const reads = new KeyedReads(pool);
    const results = await Promise.allSettled([reads.read(tokens, 'a'), reads.read(stamps, 'b')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect((await reads.read(tokens, 'c'))?.value).toBe('C');
    expect(released).toEqual([gone, undefined]);
  });

  it('fail for every caller if there is no connection, and the next batch tries again', async () => {
    const { pool } = fakePool(shout);
    const connect = pool.connect.bind(pool);
    const reads = new KeyedReads(pool);
    pool.connect = (() => Promise.reject(new Error('refused'))) as never;
    await expect(Promise.all([reads.read(tokens, 'a'), reads.read(stamps, 'b')])).rejects.toThrow('refused');
    pool.connect = connect;
    expect((await reads.read(tokens, 'a'))?.value).toBe('A');
  });
});
