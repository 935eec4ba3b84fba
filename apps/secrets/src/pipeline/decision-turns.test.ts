import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { cacheKey } from '../kernel/storage/entries';
import type { Entry, EntryReader, EntryStore, Tx, WriteSet } from '../kernel/storage/types';
import { add, addDelete, addPut, PreconditionFailed } from '../kernel/storage/write-set';
import { DecisionQueues, type View } from './decision-queues';

const keyOf = (path: string) => ({ mountId: 'm', path });
const realNow = performance.now;

let nowMs: number;
let storedEntries: Map<string, Entry>;
/** The keys that were read, and whether from the database. */
let reads: string[];
let commits: WriteSet[];
/** Names of the decisions made in the database. */
let turns: string[];
let amongOthers: boolean;
/** Makes the next commits fail. */
let failures: (Error | undefined)[];
let queues: DecisionQueues;
let patienceMs: number;
let inDatabase: number;
let mostInDatabase: number;

function reader(where: string): EntryReader {
  const one = async (path: string) => {
    reads.push(`${where} ${path}`);
    return storedEntries.get(path);
  };
  return {
    read: ({ path }) => one(path),
    readMany: (keys) => Promise.all(keys.map(({ path }) => one(path))),
    list: async (mountId, prefix, page) => ['list', mountId, prefix, String(page?.limit)],
    listDeep: async (mountId, prefix, page) => ['deep', mountId, prefix, String(page?.limit)],
  };
}

function write(set: WriteSet): void {
  const failure = failures.shift();
  if (failure) throw failure;
  for (const { path, require } of [...set.puts, ...set.deletes]) {
    const found = storedEntries.get(path);
    if (require === undefined) continue;
    const satisfied =
      require === 'absent' ? !found : typeof require === 'object' && found?.revision === require.revision;
    if (!satisfied) throw new PreconditionFailed(new Set([cacheKey(keyOf(path))]));
  }
  commits.push(set);
  for (const { path } of set.deletes) storedEntries.delete(path);
  for (const { path, value } of set.puts) hold(path, String(value));
}

function hold(path: string, value: string): void {
  storedEntries.set(path, {
    ...keyOf(path),
    value: Buffer.from(value),
    memo: undefined,
    revision: (storedEntries.get(path)?.revision ?? 0) + 1,
  });
}

beforeEach(() => {
  nowMs = 1_000;
  performance.now = () => nowMs;
  storedEntries = new Map();
  [reads, commits, turns, failures] = [[], [], [], []];
  amongOthers = false;
  patienceMs = 100;
  [inDatabase, mostInDatabase] = [0, 0];
  const entries: EntryStore = { ...reader('here'), within: () => reader('database') };
  const committer = {
    commit: async (set: WriteSet) => write(set),
    decide: async (name: string, decide: (tx: Tx) => Promise<WriteSet>) => {
      turns.push(name);
      inDatabase++;
      mostInDatabase = Math.max(mostInDatabase, inDatabase);
      try {
        write(await decide({} as Tx));
      } finally {
        inDatabase--;
      }
    },
  };
  queues = new DecisionQueues({
    entries,
    committer: committer as never,
    amongOthers: () => amongOthers,
    get patienceMs() {
      return patienceMs;
    },
  });
});
afterEach(() => {
  performance.now = realNow;
});

/** Decides to write a path, after reading it. */
const counting = async ({ entries, pending, set }: View, path = 'n') => {
  const now = pending.value(path) ?? (await entries.read(keyOf(path)))?.value.toString() ?? '0';
  const next = String(Number(now) + 1);
  pending.put(path, next);
  addPut(set, { ...keyOf(path), value: Buffer.from(next) });
  return next;
};
const count = (path = 'n') => queues.decide(keyOf(path), (view) => counting(view, path));
const putting = (path: string) => async (view: View) => addPut(view.set, { ...keyOf(path), value: Buffer.from('x') });
const refused = new Refusal('invalid', 'not you');

/** Runs something while the first decision about a path is being made. */
function heldEntry(path = 'n') {
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const first = queues.decide(keyOf(path), async (view) => {
    await gate;
    return counting(view, path);
  });
  return { first, release: () => release() };
}

describe('turns of decisions', () => {
  it('are shared by up to 64 decisions, each of which sees the results of those before it', async () => {
    const { first, release } = heldEntry();
    const others = Array.from({ length: 130 }, () => count());
    release();
    expect(await Promise.all([first, ...others])).toEqual(Array.from({ length: 131 }, (_, i) => String(i + 1)));
    expect(commits.map(({ puts }) => puts.map(({ value }) => String(value)))).toEqual([
      ['1'],
      ['65'],
      ['129'],
      ['131'],
    ]);
    expect(reads).toEqual(Array(4).fill('here n'));
    // The next decision starts immediately.
    expect(await count()).toBe('132');
    expect(turns).toEqual([]);
  });

  it('are separate for separate entries', async () => {
    const { first, release } = heldEntry('slow');
    expect(await count('quick')).toBe('1');
    release();
    expect(await first).toBe('1');
  });

  it('write only if the data that was read has not changed, and only new values', async () => {
    for (const path of ['there', 'going', 'unread', 'gone']) hold(path, 'old');
    hold('there', 'newer');
    await queues.decide(keyOf('n'), async ({ entries, set }) => {
      const keys = ['there', 'absent', 'going', 'nowhere'].map(keyOf);
      expect((await entries.read(keys[0]!))?.revision).toBe(2);
      expect((await entries.readMany(keys)).map((entry) => entry?.revision)).toEqual([2, undefined, 1, undefined]);
      expect((await entries.readMany(keys.slice(0, 2))).map((entry) => entry?.path)).toEqual(['there', undefined]);
      expect(await entries.list('m', 'a/', { limit: 3 })).toEqual(['list', 'm', 'a/', '3']);
      expect(await entries.listDeep('m', 'b/', { limit: 4 })).toEqual(['deep', 'm', 'b/', '4']);
      for (const path of ['there', 'absent', 'unread']) addPut(set, { ...keyOf(path), value: Buffer.from(path) });
      for (const path of ['going', 'nowhere', 'gone']) addDelete(set, keyOf(path));
      add(set, 'audit', 'line');
    });
    expect(reads).toEqual(['here there', 'here absent', 'here going', 'here nowhere']);
    const [{ puts, deletes, audit }] = commits as [WriteSet];
    expect(puts).toEqual([
      { ...keyOf('there'), value: Buffer.from('there'), require: { revision: 2 } },
      { ...keyOf('absent'), value: Buffer.from('absent'), require: 'absent' },
      { ...keyOf('unread'), value: Buffer.from('unread') },
    ]);
    expect(deletes).toEqual([{ ...keyOf('going'), require: { revision: 1 } }, keyOf('gone')]);
    expect(audit).toEqual(['line']);
  });

  it('are refused at once if there is no other writer', async () => {
    const { first, release } = heldEntry();
    const second = queues.decide(keyOf('n'), async ({ pending, set }) => {
      pending.put('n', 'lost');
      addPut(set, { ...keyOf('n'), value: Buffer.from('lost') });
      throw refused;
    });
    const third = count();
    release();
    await expect(second).rejects.toBe(refused);
    expect([await first, await third]).toEqual(['1', '2']);
    expect(turns).toEqual([]);
  });

  it.each<[string, (view: View) => Promise<unknown>, boolean]>([
    ['refuses', () => Promise.reject(refused), true],
    ['writes nothing', async () => 'nothing', true],
    ['writes', putting('n'), false],
  ])('are taken in the database if others write and one %s: %s', async (_, decide, expected) => {
    amongOthers = true;
    const [one] = await Promise.allSettled([queues.decide(keyOf('n'), decide)]);
    if (one?.status === 'rejected') expect(one.reason).toBe(refused);
    expect(turns).toEqual(expected ? ['m/n'] : []);
    expect(commits).toHaveLength(1);
  });

  it.each([
    [999, ['m/n', 'm/n']],
    [1_000, ['m/n']],
  ])('are taken in the database after a lost race, %i ms later: %j', async (laterMs, expected) => {
    patienceMs = 5_000;
    failures = [new PreconditionFailed(new Set())];
    const first = queues.decide(keyOf('n'), async (view) => {
      await new Promise(setImmediate);
      if (turns.length > 0) nowMs += laterMs;
      return counting(view);
    });
    const second = count();
    expect([await first, await second]).toEqual(['1', '2']);
    expect(turns).toEqual(expected);
    expect(reads).toEqual(['here n', 'database n', expected.length === 2 ? 'database n' : 'here n']);
  });

  it('fail one by one, and are not repeated if a connection was lost', async () => {
    const { first, release } = heldEntry();
    const mistake = new Error('a mistake');
    const answers = [
      count(),
      queues.decide(keyOf('n'), async (view) => {
        await counting(view);
        throw mistake;
      }),
      count(),
    ];
    release();
    const ended = await Promise.allSettled([first, ...answers]);
    expect(ended.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))).toEqual(['1', '2', mistake, '3']);

    await new Promise(setImmediate);
    const lostRace = new Refusal('unavailable', 'lost');
    const again = heldEntry();
    const waiting = [count(), count()];
    failures = [undefined, lostRace];
    const before = commits.length;
    again.release();
    expect(await again.first).toBe('4');
    for (const one of waiting) await expect(one).rejects.toBe(lostRace);
    expect(commits).toHaveLength(before + 1);
    expect(await count()).toBe('5');
  });

  it.each([
    [99, 'fulfilled'],
    [100, 'rejected'],
  ])('are waited for %i ms: %s', async (waitMs, status) => {
    const { first, release } = heldEntry();
    const late = count();
    nowMs += waitMs;
    release();
    await first;
    const [ended] = await Promise.allSettled([late]);
    expect(ended?.status).toBe(status);
    if (ended?.status === 'rejected') {
      expect(ended.reason).toEqual(
        new Refusal('unavailable', 'too many simultaneous changes of the same entry; try again'),
      );
    }
    expect(commits).toHaveLength(status === 'rejected' ? 1 : 2);
  });

  it('are taken by two at a time in the database, however they end', async () => {
    amongOthers = true;
    const releases: (() => void)[] = [];
    const answers = ['a', 'b', 'c', 'd', 'e'].map((path, i) =>
      queues.decide(keyOf(path), async () => {
        if (inDatabase === 0) return undefined;
        await new Promise<void>((resolve) => releases.push(resolve));
        if (i % 2 === 0) throw new Error('a mistake');
        return path;
      }),
    );
    const ended = Promise.allSettled(answers);
    for (let done = 0; done < 5; done++) {
      while (releases.length === done) await new Promise(setImmediate);
      await new Promise(setImmediate);
      expect(inDatabase).toBe(Math.min(2, 5 - done));
      releases[done]!();
      await new Promise(setImmediate);
    }
    expect((await ended).map(({ status }) => status === 'fulfilled')).toEqual([false, true, false, true, false]);
    expect([turns, mostInDatabase]).toEqual([['m/a', 'm/b', 'm/c', 'm/d', 'm/e'], 2]);
  });
});
