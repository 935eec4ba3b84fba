import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { freshStorage, type TestStorage, until, whileHearing } from '../../test/fresh-storage';
import type { StorageKernel } from '../kernel/storage/storage';
import { newWriteSet, writesConfig } from '../kernel/storage/write-set';
import type { Storage } from '../sdk/storage';
import { CallStorage } from './call-storage';
import { DecisionQueues } from './decision-queues';

const mountId = randomUUID();
let test: TestStorage;
let other: StorageKernel;

/** The entries of a mount as calls of a node see them. */
function storageOn(node: StorageKernel, patienceMs = 60_000, set = newWriteSet()): Storage {
  const { entries, committer, changes } = node;
  const decisions = new DecisionQueues({ entries, committer, amongOthers: () => changes.mustTell, patienceMs });
  return new CallStorage({ entries, committer, decisions }, set, mountId, '');
}

/** Adds one to a number and returns it. */
const count = (storage: Storage, key: string) =>
  storage.transaction(key, async (tx) => {
    const next = Number((await tx.get(key)) ?? 0) + 1;
    tx.put(key, String(next));
    return next;
  });
const upTo = (most: number) => Array.from({ length: most }, (_, i) => i + 1);
const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);

beforeAll(async () => {
  test = await freshStorage();
});
afterAll(() => test.close());

describe('decisions about the same entry', () => {
  it('are all made, each on the result of the one before', async () => {
    const here = storageOn(test.storage);
    const results = await Promise.all(upTo(200).map(() => count(here, 'many')));
    expect(results).toEqual(upTo(200));
    expect(await here.get('many')).toBe('200');
  });

  it('see writes, deletions and names of the decisions before them', async () => {
    const here = storageOn(test.storage);
    const results = await Promise.all([
      count(here, 'folder/first'),
      here.transaction('folder/first', async (tx) => {
        tx.put('folder/sub/second', '2');
        tx.delete('folder/first');
        return tx.list('folder/');
      }),
      here.transaction('folder/first', async (tx) => [await tx.get('folder/first'), await tx.list('folder/')]),
      here.transaction('folder/first', async (tx) => {
        tx.deletePrefix('folder/sub/');
        tx.put('folder/sub/third', '3');
        return [...(await tx.getMany(['folder/sub/second', 'folder/sub/third'])).keys()];
      }),
    ]);
    expect(results).toEqual([1, ['sub/'], [undefined, ['sub/']], ['folder/sub/third']]);
    expect(await here.list('folder/sub/')).toEqual(['third']);
  });

  it.each([
    ['config', true],
    ['config/main', true],
    ['configuration', false],
  ])('report to the call whether they wrote its configuration: %s', async (key, configures) => {
    const set = newWriteSet();
    await count(storageOn(test.storage, 60_000, set), key);
    expect(writesConfig(set)).toBe(configures);
  });

  it('are refused and fail one by one', async () => {
    const here = storageOn(test.storage);
    const answers = upTo(12).map((i) => {
      if (i % 4 === 1) return here.transaction('some', () => Promise.reject(new Refusal('invalid', 'not you')));
      if (i % 4 === 2) return here.transaction('some', () => Promise.reject(new Error('a mistake')));
      if (i % 4 === 3) return here.transaction('some', async (tx) => tx.put('bad/\0', 'x'));
      return count(here, 'some');
    });
    const ended = await Promise.allSettled(answers);
    expect(ended.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message))).toEqual(
      [1, 2, 3].flatMap((n) => ['not you', 'a mistake', 'text contains a character that cannot be stored', n]),
    );
  });

  it('that take too long are refused and write nothing', async () => {
    const here = storageOn(test.storage, 20);
    const slow = here.transaction('slow', async (tx) => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      tx.put('slow', 'first');
    });
    await Promise.resolve();
    const late = here.transaction('slow', async (tx) => tx.put('slow', 'late'));
    await expect(late).rejects.toMatchObject({ kind: 'unavailable' });
    await slow;
    expect(await here.get('slow')).toBe('first');
  });
});

describe('decisions on two nodes', () => {
  beforeAll(async () => {
    other = await test.another();
    await until(() => test.storage.changes.others === 1 && other.changes.others === 1);
    await until(() => test.storage.changes.fresh && other.changes.fresh);
  });

  it('are all made, and none of them twice', async () => {
    const nodes = [storageOn(test.storage), storageOn(other)];
    const results = await Promise.all(upTo(300).map((i) => count(nodes[i % 2]!, 'shared')));
    expect(sorted(results)).toEqual(upTo(300));
  });

  it('succeed on a quiet node, however busy the other is', async () => {
    const [busy, quiet] = [storageOn(test.storage), storageOn(other)];
    let stop = false;
    let busyMade = 0;
    const load = Promise.all(
      upTo(16).map(async () => {
        while (!stop) {
          await count(busy, 'fair');
          busyMade++;
        }
      }),
    );
    await until(() => busyMade > 50);
    for (const _ of upTo(20)) await count(quiet, 'fair');
    stop = true;
    await load;
    expect(await quiet.transaction('fair', async (tx) => Number(await tx.get('fair')))).toBe(busyMade + 20);
  });

  it('refuse by the stored data, not by the data that the node has cached', async () => {
    const [writer, reader] = [storageOn(test.storage), storageOn(other)];
    await whileHearing(other, async () => {
      expect(await reader.get('remembered')).toBeUndefined();
      // The other node gets no notices, as if they had not arrived yet.
      const { tell } = test.storage.changes;
      test.storage.changes.tell = async () => {};
      await count(writer, 'remembered').finally(() => {
        test.storage.changes.tell = tell;
      });
      expect(await reader.get('remembered')).toBeUndefined();
      const found = reader.transaction('remembered', async (tx) => {
        const text = await tx.get('remembered');
        if (text === undefined) throw new Refusal('missing', 'no such number');
        return text;
      });
      expect(await found).toBe('1');
    });
  });

  /**
   * Runs `work` on a node whose cache says that two entries are absent, although another node has just written them.
   */
  const withOutdatedMemory = async (name: string, work: (outdated: Storage) => Promise<unknown>) => {
    const [writer, outdated] = [storageOn(test.storage), storageOn(other)];
    await whileHearing(other, async () => {
      expect([await outdated.get(name), await outdated.get(`part/${name}`)]).toEqual([undefined, undefined]);
      const { tell } = test.storage.changes;
      test.storage.changes.tell = async () => {};
      const write = writer.transaction(name, async (tx) => {
        tx.put(name, 'theirs');
        tx.put(`part/${name}`, 'theirs');
      });
      await write.finally(() => {
        test.storage.changes.tell = tell;
      });
      await work(outdated);
    });
  };

  it('remove no write of another node together with earlier writes', async () => {
    await withOutdatedMemory('thing', (outdated) =>
      Promise.all([
        // The others arrive together while this decision is being made.
        outdated.transaction('thing', async (tx) => tx.put('unrelated', '1')),
        outdated.transaction('thing', async (tx) => {
          tx.put('thing', `${await tx.get('thing')} and ours`);
          tx.put('part/thing', 'ours');
        }),
        outdated.transaction('thing', async (tx) => {
          if ((await tx.get('thing')) === undefined) return;
          tx.delete('thing');
          tx.delete('part/thing');
        }),
      ]),
    );
    const { rows } = await test.storage.database.query<{ path: string }>(
      {
        name: 'left-of-thing',
        text: "SELECT path FROM entry WHERE mount_id = $1 AND path LIKE '%thing'",
      },
      [mountId],
    );
    expect(rows).toEqual([]);
  });

  it('see several entries in a consistent state on request', async () => {
    await withOutdatedMemory('whole', async (outdated) => {
      const both = async (tx: Storage) => [await tx.get('whole'), await tx.get('part/whole')];
      const values: unknown[] = [];
      await outdated.transaction(
        'whole',
        async (tx) => {
          values.push(await both(tx));
          tx.put('seen', '1');
        },
        true,
      );
      expect(values).toEqual([['theirs', 'theirs']]);
    });
  });
});
