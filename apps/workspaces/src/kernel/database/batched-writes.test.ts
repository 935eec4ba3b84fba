import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import type { Pool } from 'pg';
import { BatchedWrites, LockedDecisions, writeAllWithin, writeWithin } from './batched-writes';
import type { Batched, Database, Decision } from './database';

interface Asked {
  readonly text: string;
  readonly values?: unknown[];
}
type Answers = (asked: Asked) => { rows: object[] };

/** A pool that records its statements by transaction and returns prepared answers. */
function fakePool(answers: Answers) {
  const trips: Asked[][] = [];
  const kept: boolean[] = [];
  const pool = {
    async connect() {
      const trip: Asked[] = [];
      trips.push(trip);
      return {
        async query(asked: Asked) {
          trip.push(asked);
          return answers(asked);
        },
        release: (broken: boolean) => kept.push(!broken),
      };
    },
  };
  return { pool: pool as unknown as Pool, trips, kept, texts: () => trips.map((trip) => trip.map(({ text }) => text)) };
}

const holds = { name: 'hold', text: 'hold' };
const kind = (name: string, more: Partial<Batched<string, string>> = {}): Batched<string, string> => ({
  name,
  text: name,
  batch: (items) => ({
    values: [items],
    heldKeys: items,
    settle: (rows) => items.map((item, index) => (rows.length > index ? `${name} ${item}` : new Error(`no ${item}`))),
  }),
  ...more,
});
const echo: Answers = ({ values }) => ({ rows: ((values?.[0] as string[]) ?? []).map((item) => ({ item })) });
const refused = (severity: string) => Object.assign(new Error('refused'), { severity });

describe('simultaneous writes', () => {
  it('share one transaction: rows are locked first, each kind is one statement, each caller gets its own result', async () => {
    const { pool, texts, trips } = fakePool(echo);
    const writes = new BatchedWrites(pool);
    const [lock, unlock] = [kind('lock', { holds }), kind('unlock', { holds })];
    const results = await Promise.all([
      writes.write(lock, 'a'),
      writes.write(unlock, 'b'),
      writes.write(lock, 'c'),
      writes.write(kind('edit'), 'a'),
    ]);
    expect(results).toEqual(['lock a', 'unlock b', 'lock c', 'edit a']);
    expect(texts()).toEqual([['BEGIN', 'hold', 'lock', 'unlock', 'edit', 'COMMIT']]);
    expect(trips[0]![1]!.values).toEqual([['a', 'c', 'b']]);
  });

  it('are one statement if there is only one, and none if there is nothing to write', async () => {
    const { pool, texts } = fakePool(echo);
    const writes = new BatchedWrites(pool);
    expect(await writes.write(kind('edit'), 'a')).toBe('edit a');
    const idle = kind('idle', { batch: (items) => ({ settle: () => items.map((item) => `idle ${item}`) }) });
    expect(await writes.write(idle, 'b')).toBe('idle b');
    expect(texts()).toEqual([['edit']]);
  });

  it('fail individually: a batch that the server refuses is repeated item by item', async () => {
    const { pool, kept } = fakePool((asked) => {
      if ((asked.values?.[0] as string[] | undefined)?.includes('bad')) throw refused('ERROR');
      return echo(asked);
    });
    const writes = new BatchedWrites(pool);
    const answers = await Promise.allSettled(['a', 'bad', 'c'].map((item) => writes.write(kind('edit'), item)));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(kept).toEqual([false, true, false, true]);
  });

  it('fail individually if a batch cannot be made of an item, before or after the others were sent', async () => {
    const good = (item: string) => {
      if (item === 'bad') throw new TypeError('bad item');
      return item;
    };
    const before = kind('before', {
      batch: (items) => kind('before').batch(items.map(good)),
    });
    const after = kind('after', {
      batch: (items) => ({ values: [items], settle: () => items.map((item) => `after ${good(item)}`) }),
    });
    for (const one of [before, after]) {
      const { pool, trips } = fakePool(echo);
      const writes = new BatchedWrites(pool);
      const asked = [writes.write(kind('edit'), 'a'), writes.write(one, 'bad'), writes.write(kind('lock'), 'b')];
      expect(await Promise.allSettled(asked)).toEqual([
        { status: 'fulfilled', value: 'edit a' },
        { status: 'rejected', reason: new TypeError('bad item') },
        { status: 'fulfilled', value: 'lock b' },
      ]);
      // What was committed is not sent again.
      expect(trips.flat().filter(({ text }) => text === 'edit')).toHaveLength(1);
    }
  });

  it('are not tried again if the connection was lost: they may have been committed', async () => {
    const { pool, trips } = fakePool(({ text }) => {
      if (text === 'COMMIT') throw refused('FATAL');
      return { rows: [] };
    });
    const writes = new BatchedWrites(pool);
    const both = [writes.write(kind('lock', { holds }), 'a'), writes.write(kind('edit'), 'b')];
    const answers = await Promise.allSettled(both);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(trips).toHaveLength(1);
  });

  it('reject for every caller when there is no connection', async () => {
    const pool = { connect: () => Promise.reject(new Error('no room')) } as unknown as Pool;
    const writes = new BatchedWrites(pool);
    await expect(Promise.all([writes.write(kind('edit'), 'a'), writes.write(kind('edit'), 'b')])).rejects.toThrow(
      'no room',
    );
  });

  it('run two transactions at a time; later writes share the next', async () => {
    const waiting: (() => void)[] = [];
    const { pool, trips } = fakePool(echo);
    const slow = {
      async connect() {
        await new Promise<void>((go) => waiting.push(go));
        return pool.connect();
      },
    } as unknown as Pool;
    const writes = new BatchedWrites(slow);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const all = [];
    for (const item of ['a', 'b', 'c', 'd']) {
      all.push(writes.write(kind('edit'), item));
      await turn();
      await turn();
    }
    expect(waiting).toHaveLength(2);
    waiting[0]!();
    expect(await all[0]).toBe('edit a');
    while (waiting.length < 3) await turn();
    for (const go of waiting.slice(1)) go();
    expect(await Promise.all(all)).toEqual(['edit a', 'edit b', 'edit c', 'edit d']);
    expect(trips.map((trip) => trip[0]?.values?.[0])).toContainEqual(['c', 'd']);
  });

  it('join a transaction with the same statements: rows are locked first, and each item has its own result', async () => {
    const asked: unknown[][] = [];
    const transaction = {
      async $queryRawUnsafe<T>(text: string, ...values: unknown[]): Promise<T> {
        asked.push([text, ...values]);
        const items = text === 'lock' ? (values[0] as string[]) : [];
        return items.filter((item) => item !== 'none').map((item) => ({ item })) as T;
      },
    };
    const lock = kind('lock', { holds });
    expect(await writeWithin(transaction, lock, 'a')).toBe('lock a');
    expect(await writeAllWithin(transaction, lock, ['a', 'none'])).toEqual(['lock a', new Error('no none')]);
    await expect(writeWithin(transaction, lock, 'none')).rejects.toThrow('no none');
    expect(asked.slice(0, 4)).toEqual([
      ['hold', ['a']],
      ['lock', ['a']],
      ['hold', ['a', 'none']],
      ['lock', ['a', 'none']],
    ]);
    const idle = kind('idle', { holds, batch: (items) => ({ settle: () => items.map((item) => `idle ${item}`) }) });
    asked.length = 0;
    expect([await writeWithin(transaction, idle, 'b'), asked]).toEqual(['idle b', []]);
  });
});

describe('decisions under a lock', () => {
  /** Decides `items` together, because they wait for the lock at the same time; returns their results. */
  async function together(items: string[], fails: { decide?: (all: readonly string[]) => void; commit?: () => void }) {
    const batches: string[][] = [];
    const decisions = new LockedDecisions((async (run: (tx: Database) => Promise<unknown>) => {
      const result = await run({} as Database);
      fails.commit?.();
      return result;
    }) as Database['transaction']);
    const edit: Decision<string, string> = {
      name: 'edit',
      hold: async () => {},
      async decide(_tx, _key, all) {
        batches.push([...all]);
        fails.decide?.(all);
        return all.map((item) => `edited ${item}`);
      },
    };
    const results = await Promise.allSettled(items.map((item) => decisions.decide(edit, 'row', item)));
    return { batches, results: results.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message)) };
  }

  it('are made in one transaction', async () => {
    const { batches, results } = await together(['a', 'b'], {});
    expect(results).toEqual(['edited a', 'edited b']);
    expect(batches).toEqual([['a', 'b']]);
  });

  it('fail individually if a statement refuses one of them', async () => {
    const decide = (all: readonly string[]) => {
      if (all.includes('bad')) throw new Refusal('invalid', 'taken');
    };
    expect((await together(['a', 'bad', 'b'], { decide })).results).toEqual(['edited a', 'taken', 'edited b']);
  });

  it('are not made again if the commit failed, or the database is unavailable', async () => {
    const commit = () => {
      throw new Error('connection lost');
    };
    const decide = () => {
      throw new Refusal('unavailable', 'no database');
    };
    for (const [fails, message] of [
      [{ commit }, 'connection lost'],
      [{ decide }, 'no database'],
    ] as const) {
      const { batches, results } = await together(['a', 'b'], fails);
      expect(results).toEqual([message, message]);
      expect(batches).toHaveLength(1);
    }
  });
});
