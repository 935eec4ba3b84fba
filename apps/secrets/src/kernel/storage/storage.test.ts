import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { asSuperuser, manualClock } from '@keystead/testing';
import { freshStorage, type TestStorage, until } from '../../../test/fresh-storage';
import { upToDateInTime } from '../../../test/staleness';
import type { WriteSet } from './types';
import { add, newWriteSet, PreconditionFailed } from './write-set';

const mountId = randomUUID();
let test: TestStorage;

beforeAll(async () => {
  test = await freshStorage();
});
afterAll(() => test.close());

const put = (path: string, value: string, require?: WriteSet['puts'][number]['require']): WriteSet => {
  const set = newWriteSet();
  add(set, 'puts', { mountId, path, value: Buffer.from(value), require });
  return set;
};
const deletion = (path: string): WriteSet => {
  const set = newWriteSet();
  add(set, 'deletes', { mountId, path });
  return set;
};
const commit = (set: WriteSet) => test.storage.committer.commit(set);
const read = async (path: string) => (await test.storage.entries.read({ mountId, path }))?.value.toString();
const freshly = () => until(() => test.storage.changes.fresh);

describe('entries', () => {
  it('are read as they were written, before and after they are cached', async () => {
    await commit(put('plain', 'one'));
    expect(await read('plain')).toBe('one');
    await freshly();
    await commit(put('plain', 'two'));
    expect(await read('plain')).toBe('two');
    await commit(deletion('plain'));
    expect(await read('plain')).toBeUndefined();
  });

  it('come in the order of the keys when many are asked for', async () => {
    await Promise.all(['m/1', 'm/2', 'm/3'].map((path) => commit(put(path, path))));
    const found = await test.storage.entries.readMany(
      ['m/3', 'm/none', 'm/1', 'm/3'].map((path) => ({ mountId, path })),
    );
    expect(found.map((entry) => entry?.value.toString())).toEqual(['m/3', undefined, 'm/1', 'm/3']);
  });

  it('are read by a statement that is not planned again each time', async () => {
    const node = await test.another({ maxConnections: 1 });
    for (let n = 0; n < 12; n += 1) await node.entries.readMany([{ mountId, path: `none/${n}` }]);
    const { rows } = await node.database.query<{ plans: string }>(
      "SELECT custom_plans::text AS plans FROM pg_prepared_statements WHERE name = 'entry-read'",
    );
    expect(Number(rows[0]!.plans)).toBeLessThan(8);
    await node.stop();
    await until(() => test.storage.changes.others === 0);
  });

  it('expire', async () => {
    // Its clock is ahead of those of all other nodes, which would otherwise delete the expired entries.
    const clock = manualClock(Date.now() + 3_600_000);
    const node = await test.another({ clock });
    const short = async () => (await node.entries.read({ mountId, path: 'short' }))?.value.toString();
    const set = newWriteSet();
    add(set, 'puts', { mountId, path: 'short', value: Buffer.from('x'), expiresAtMs: clock.now() + 80 });
    await node.committer.commit(set);
    expect(await short()).toBe('x');
    clock.advance(80);
    expect(await short()).toBeUndefined();
    await node.committer.commit(put('short', 'again', 'absent'));
    expect(await short()).toBe('again');
    await node.stop();
    await until(() => test.storage.changes.others === 0);
  });

  it('can have any size from nothing to megabytes', async () => {
    const large = Buffer.alloc(3 << 20, 'k');
    const set = newWriteSet();
    add(set, 'puts', { mountId, path: 'size/large', value: large });
    add(set, 'puts', { mountId, path: 'size/empty', value: Buffer.alloc(0) });
    await commit(set);
    expect((await test.storage.entries.read({ mountId, path: 'size/large' }))?.value.equals(large)).toBe(true);
    expect(await read('size/empty')).toBe('');
  });
});

describe('listing', () => {
  const list = (prefix: string, page = {}) => test.storage.entries.list(mountId, prefix, page);

  it('shows names and folders once, bytewise sorted, page by page', async () => {
    const paths = ['l/a', 'l/a/x', 'l/a/y/z', 'l/a-b', 'l/a0', 'l/B', 'l/é', 'l/b/1', 'l/b/2', 'l/zz'];
    await Promise.all(paths.map((path) => commit(put(path, 'v'))));
    const all = ['B', 'a', 'a-b', 'a/', 'a0', 'b/', 'zz', 'é'];
    expect(await list('l/')).toEqual(all);
    const paged: string[] = [];
    for (;;) {
      const page = await list('l/', { after: paged.at(-1), limit: 3 });
      if (page.length === 0) break;
      paged.push(...page);
    }
    expect(paged).toEqual(all);
    expect(await list('l/a/')).toEqual(['x', 'y/']);
    expect(await list('nothing/')).toEqual([]);
  });

  it('does not confuse a folder with names that begin like it', async () => {
    await Promise.all(['pre/x', 'pref/y', 'pre'].map((path) => commit(put(path, 'v'))));
    expect(await list('pre/')).toEqual(['x']);
    expect(await test.storage.entries.listDeep(mountId, 'pre')).toEqual(['pre', 'pre/x', 'pref/y']);
  });

  it('treats LIKE wildcards literally', async () => {
    await Promise.all(['w/%', 'w/_', 'w/\\', 'w/100%/x'].map((path) => commit(put(path, 'v'))));
    expect(await list('w/')).toEqual(['%', '100%/', '\\', '_']);
  });
});

describe('a folder that was emptied', () => {
  const entries = 500;
  const names = Array.from({ length: entries }, (_, n) => `${1000 + n}`);
  const onEach = async (change: (set: WriteSet, path: string) => void, folder: string) => {
    const set = newWriteSet();
    for (const name of names) change(set, folder + name);
    await commit(set);
  };
  /** The pages that PostgreSQL reads to find an empty folder. */
  const pagesOf = async (folder: string): Promise<number> => {
    const text = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT revision FROM entry
      WHERE mount_id = '${mountId}' AND path >= '${folder}' AND path < '${folder.slice(0, -1)}0' ORDER BY path LIMIT 1000`;
    const [row] = (await test.byHand(text)) as [{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }];
    const { Plan: plan } = row['QUERY PLAN'][0];
    return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
  };

  it.each<[string, (folder: string) => Promise<void>]>([
    ['key by key', (folder) => onEach((set, path) => add(set, 'deletes', { mountId, path }), folder)],
    [
      'at once',
      async (prefix) => {
        const set = newWriteSet();
        add(set, 'prefixes', { mountId, prefix });
        await commit(set);
      },
    ],
  ])(
    '%s costs the next listing nothing',
    async (_how, empty) => {
      await test.byHand('ALTER TABLE entry SET (autovacuum_enabled = false)');
      await test.byHand('SET enable_seqscan = off');
      await test.byHand('SET enable_bitmapscan = off');
      const value = Buffer.alloc(1500, 'v');
      // A writing transaction in any database of the server prevents the removal of rows deleted after it began. So
      // wait for tests that hold one for long, and try the next folder if another one interfered.
      const superuserUrl = await asSuperuser(test.database.url);
      const oldWriters = async () => {
        const text = `SELECT count(*)::int AS n FROM pg_stat_activity
        WHERE backend_xid IS NOT NULL AND xact_start < clock_timestamp() - interval '300 ms'`;
        // Only a superuser sees all sessions.
        const { rows } = await withClient(superuserUrl, (client) => client.query<{ n: number }>(text));
        return rows[0]!.n;
      };
      await until(async () => {
        await until(async () => (await oldWriters()) === 0, 300_000);
        const folder = `emptied-${randomUUID()}/`;
        await onEach((set, path) => add(set, 'puts', { mountId, path, value }), folder);
        await empty(folder);
        await until(() => test.storage.deletedRows.waiting === 0);
        if ((await pagesOf(folder)) < 30) return true;
        // Rows that could not be removed would slow down the next folder.
        await test.byHand('VACUUM entry');
        return false;
      }, 300_000);
      const unseen = `unseen-${randomUUID()}/`;
      await onEach((set, path) => add(set, 'puts', { mountId, path, value }), unseen);
      await test.byHand(`DELETE FROM entry WHERE mount_id = '${mountId}' AND path LIKE '${unseen}%'`);
      expect(await pagesOf(unseen)).toBeGreaterThan(60);
    },
    400_000,
  );
});

describe('a write set', () => {
  it('is written whole or not at all', async () => {
    await commit(put('p/taken', 'old'));
    const set = put('p/taken', 'new', 'absent');
    add(set, 'puts', { mountId, path: 'p/other', value: Buffer.from('x') });
    await expect(commit(set)).rejects.toThrow(PreconditionFailed);
    expect(await read('p/other')).toBeUndefined();
    expect(await read('p/taken')).toBe('old');
  });

  it('that replaces requires the entry at its named revision', async () => {
    await expect(commit(put('r/none', 'x', 'present'))).rejects.toThrow(PreconditionFailed);
    await commit(put('r/one', '1', 'absent'));
    await commit(put('r/one', '2', { revision: 1 }));
    await expect(commit(put('r/one', '3', { revision: 1 }))).rejects.toThrow(PreconditionFailed);
    expect(await read('r/one')).toBe('2');
  });

  describe('that writes some entries and removes others', () => {
    const change = (made: string, removed: string, require?: WriteSet['deletes'][number]['require']): WriteSet => {
      const set = put(made, 'made', 'absent');
      add(set, 'deletes', { mountId, path: removed, require });
      return set;
    };
    /** The transactions that some work needs besides single statements. */
    const transactionsOf = async (work: () => Promise<unknown>): Promise<number> => {
      await until(() => !test.storage.changes.mustTell);
      const spy = jest.spyOn(test.storage.database, 'transaction');
      await work();
      const { length } = spy.mock.calls;
      spy.mockRestore();
      return length;
    };

    it('is one statement', async () => {
      await commit(put('c/1', 'old'));
      expect(await transactionsOf(() => commit(change('c/2', 'c/1', { revision: 1 })))).toBe(0);
      expect([await read('c/1'), await read('c/2')]).toEqual([undefined, 'made']);
      expect(await transactionsOf(() => commit(change('c/3', 'c/none')))).toBe(0);
    });

    it('removes the witness of a rewritten entry, too', async () => {
      for (const value of ['one', 'two']) await commit(put('c/rewritten', value));
      expect(await transactionsOf(() => commit(change('c/4', 'c/rewritten')))).toBe(1);
      expect(await test.byHand('SELECT FROM entry_witness WHERE path = $1', ['c/rewritten'])).toHaveLength(0);
    });

    it.each<[string, WriteSet]>([
      ['an entry exists that must be absent', change('c/there', 'c/kept')],
      ['a removed entry has another revision', change('c/5', 'c/kept', { revision: 7 })],
      ['a removed entry is absent', change('c/6', 'c/none', 'present')],
    ])('changes nothing if %s', async (_why, set) => {
      for (const path of ['c/there', 'c/kept']) {
        await commit(deletion(path));
        await commit(put(path, 'old'));
      }
      const [failed, other] = await Promise.allSettled([commit(set), commit(put(`c/${randomUUID()}`, 'x', 'absent'))]);
      expect(failed).toMatchObject({ status: 'rejected', reason: expect.any(PreconditionFailed) });
      expect(other.status).toBe('fulfilled');
      expect(await Promise.all(['c/there', 'c/kept', 'c/5', 'c/6'].map(read))).toEqual([
        'old',
        'old',
        undefined,
        undefined,
      ]);
    });
  });

  it('that creates succeeds once among many', async () => {
    const tries = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) => commit(put('race', String(index), 'absent'))),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('that fails does not fail the others in its batch', async () => {
    const sets = Array.from({ length: 40 }, (_, index) => put(index === 20 ? 'bad/\0' : `ok/${index}`, 'v'));
    const results = await Promise.allSettled(sets.map(commit));
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(results[20]!.status).toBe('rejected');
    expect(await test.storage.entries.list(mountId, 'ok/')).toHaveLength(39);
  });

  it('removes a prefix and nothing else', async () => {
    await Promise.all(['x/a/1', 'x/a/2/3', 'x/ab', 'x/a'].map((path) => commit(put(path, 'v'))));
    await read('x/a/1');
    const set = newWriteSet();
    add(set, 'prefixes', { mountId, prefix: 'x/a/' });
    await commit(set);
    expect(await test.storage.entries.listDeep(mountId, 'x/')).toEqual(['x/a', 'x/ab']);
    expect(await read('x/a/1')).toBeUndefined();
  });

  it('under an ended token fails without the rest of its batch', async () => {
    const set = put('under/dead', 'x');
    add(set, 'authorities', Buffer.alloc(32, 9));
    const [dead, live] = await Promise.allSettled([commit(set), commit(put('under/none', 'y'))]);
    expect(dead).toMatchObject({ status: 'rejected', reason: { kind: 'denied' } });
    expect(live.status).toBe('fulfilled');
    expect(await read('under/dead')).toBeUndefined();
  });

  it('returns the last of many writes of one key, on every read', async () => {
    await freshly();
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 8 }, (_, index) => commit(put('hot', `${round}.${index}`))));
      const cached = await read('hot');
      const [{ revision }] = (await test.byHand('SELECT revision FROM entry WHERE path = $1', ['hot'])) as [
        { revision: number },
      ];
      const stored = await test.storage.entries.read({ mountId, path: 'hot' });
      expect(stored?.value.toString()).toBe(cached);
      expect(stored?.revision).toBe(revision);
    }
  });
});

describe('an entry changed by hand', () => {
  // If this failed, anyone with write access to the database could swap or restore secrets unnoticed.
  const forget = () => test.storage.changes.applyAll();

  it('is noticed when two encrypted values are swapped', async () => {
    await Promise.all([commit(put('t/a', 'A')), commit(put('t/b', 'B'))]);
    await test.byHand(
      `UPDATE entry e SET sealed = o.sealed FROM entry o WHERE e.path IN ('t/a', 't/b') AND o.path IN ('t/a', 't/b') AND o.path <> e.path`,
    );
    forget();
    await expect(read('t/a')).rejects.toThrow('cannot be decrypted in this row');
    await expect(read('t/b')).rejects.toThrow('cannot be decrypted in this row');
  });

  it.each([1, 3])('is noticed when a row is rolled back to revision %i', async (back) => {
    const path = `t/roll${back}`;
    for (let index = 1; index <= back; index++) await commit(put(path, `v${index}`));
    const [old] = await test.byHand('SELECT sealed, revision FROM entry WHERE path = $1', [path]);
    await commit(put(path, 'newest'));
    await test.byHand('UPDATE entry SET sealed = $2, revision = $3 WHERE path = $1', [
      path,
      old!.sealed,
      old!.revision,
    ]);
    forget();
    await expect(read(path)).rejects.toThrow('is not the version that was written last');
  });

  it('is noticed when a removed row that had been rewritten is put back', async () => {
    await commit(put('t/back', '1'));
    await commit(put('t/back', '2'));
    const [old] = await test.byHand(`SELECT mount_id, path, sealed, revision FROM entry WHERE path = 't/back'`);
    await commit(deletion('t/back'));
    await test.byHand('INSERT INTO entry (mount_id, path, sealed, revision) VALUES ($1, $2, $3, $4)', [
      old!.mount_id,
      old!.path,
      old!.sealed,
      old!.revision,
    ]);
    forget();
    await expect(read('t/back')).rejects.toThrow('is not the version that was written last');
  });
});

describe('two nodes', () => {
  it('see each other’s changes within a second, cached or not', async () => {
    const other = await test.another();
    await until(() => test.storage.changes.others === 1 && other.changes.fresh && test.storage.changes.fresh);
    const elsewhere = async () => (await other.entries.read({ mountId, path: 'both' }))?.value.toString();
    expect(await elsewhere()).toBeUndefined();
    for (let round = 0; round < 10; round++) {
      await commit(put('both', String(round)));
      await upToDateInTime(async () => (await elsewhere()) === String(round));
    }
    const set = newWriteSet();
    add(set, 'prefixes', { mountId, prefix: 'bo' });
    await commit(set);
    await upToDateInTime(async () => (await elsewhere()) === undefined);
    await other.stop();
    await until(() => test.storage.changes.others === 0);
  });

  it('can write and remove one entry at the same time, and always read its final state', async () => {
    // A witness that outlived its entry would contradict the next entry of that name.
    const other = await test.another();
    const nodes = [test.storage, other];
    for (let round = 0; round < 60; round++) {
      const path = `torn/${round % 3}`;
      const writes = [put(path, 'a'), put(path, 'b'), deletion(path), put(path, 'c'), deletion(path), put(path, 'd')];
      if (round % 5 === 4) {
        writes[2] = newWriteSet();
        add(writes[2], 'prefixes', { mountId, prefix: 'torn/' });
      }
      await Promise.all(writes.map((set, index) => nodes[index % 2]!.committer.commit(set)));
      for (const node of nodes) {
        node.changes.applyAll();
        const text = (await node.entries.read({ mountId, path }))?.value.toString();
        expect([undefined, 'a', 'b', 'c', 'd']).toContain(text);
      }
    }
    await other.stop();
    await until(() => test.storage.changes.others === 0);
  });

  it('see changes without notifications, by polling', async () => {
    const other = await test.another({ poll: true });
    await until(() => test.storage.changes.others === 1 && other.changes.fresh);
    const elsewhere = async () => (await other.entries.read({ mountId, path: 'polled' }))?.value.toString();
    for (let round = 0; round < 3; round++) {
      await commit(put('polled', String(round)));
      await upToDateInTime(async () => (await elsewhere()) === String(round));
    }
    await other.stop();
  });

  it('report more changes than fit into one notification', async () => {
    const other = await test.another();
    await until(() => test.storage.changes.others === 1 && other.changes.fresh);
    const keys = Array.from({ length: 200 }, (_, index) => ({ mountId, path: `many/${'long'.repeat(20)}/${index}` }));
    await Promise.all(keys.map(({ path }) => commit(put(path, '1'))));
    await until(() => other.changes.fresh);
    await other.entries.readMany(keys);
    await Promise.all(keys.map(({ path }) => commit(put(path, '2'))));
    await until(async () => (await other.entries.readMany(keys)).every((entry) => entry?.value.toString() === '2'));
    await other.stop();
  });

  it('that receive no notices answer nothing from the cache', async () => {
    const other = await test.another();
    await until(() => test.storage.changes.others === 1 && other.changes.fresh);
    await commit(put('deaf', '1'));
    await other.entries.read({ mountId, path: 'deaf' });
    // Cut the listening connections: the other node gets no notices and sends no heartbeats.
    await test.byHand(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%listener' AND datname = current_database()`,
    );
    await commit(put('deaf', '2'));
    await upToDateInTime(async () => (await other.entries.read({ mountId, path: 'deaf' }))?.value.toString() === '2');
    await until(() => other.changes.fresh && test.storage.changes.fresh);
    await other.stop();
  });
});
