import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseProxy, type Held } from '@keystead/testing';
import { freshStorage, type TestStorage, until } from '../../../test/fresh-storage';
import { staleAnswers } from '../../../test/staleness';
import type { StorageKernel } from './storage';
import { add, newWriteSet } from './write-set';

const mountId = randomUUID();

/** If this failed, a token revoked on one node would still work on another that is cut off. */
describe('a node serves no cached value a second after it changed elsewhere', () => {
  let test: TestStorage;
  let proxy: DatabaseProxy;
  let other: StorageKernel;

  beforeAll(async () => {
    test = await freshStorage();
    proxy = await DatabaseProxy.start(test.database.url);
    other = await test.another({ url: proxy.url });
  });
  afterAll(async () => {
    await proxy.close();
    await test.close();
  });

  const read = async (path: string) => (await other.entries.read({ mountId, path }))?.value.toString();
  const write = async (path: string, value: string) => {
    const set = newWriteSet();
    add(set, 'puts', { mountId, path, value: Buffer.from(value) });
    await test.storage.committer.commit(set);
  };
  const terminate = () =>
    test.byHand(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%listener' AND datname = current_database()`,
    );

  const troubles: readonly [string, () => unknown][] = [
    ['when the notice arrives', () => undefined],
    ['when its listening connection was closed', terminate],
    ['when notices are lost on the way', () => proxy.hold('listener' satisfies Held)],
    ['when the database cannot be reached', () => proxy.hold('all' satisfies Held)],
  ];
  it.each(troubles)('%s', async (_, begin) => {
    const path = randomUUID();
    await write(path, 'old');
    await until(async () => other.changes.fresh && test.storage.changes.fresh && (await read(path)) === 'old');
    await begin();
    await write(path, 'new');
    const { stale, asked: reads } = await staleAnswers(async () => (await read(path)) !== 'old');
    expect(reads).toBeGreaterThan(0);
    expect(stale).toBe(0);
    proxy.hold(undefined);
    await until(async () => other.changes.fresh && (await read(path)) === 'new');
  });

  it('once it has caught up, even a moment ago', async () => {
    await until(async () => other.changes.fresh && test.storage.changes.fresh);
    const notices: string[] = [];
    other.changes.listen('mount', (key) => notices.push(key));
    for (let n = 0; n < 200; n++) {
      await test.storage.committer.inTurn('x', async () => undefined, [{ topic: 'mount', key: String(n) }]);
      await Promise.all([other.changes.catchUp(), other.changes.catchUp()]);
      expect(notices.at(-1)).toBe(String(n));
    }
  });

  it('when the change is too long for a notice and is in the database', async () => {
    const paths = Array.from({ length: 200 }, (_, n) => `many/${'long'.repeat(20)}/${n}`);
    const all = async (value: string) => {
      const set = newWriteSet();
      for (const path of paths) add(set, 'puts', { mountId, path, value: Buffer.from(value) });
      await test.storage.committer.commit(set);
    };
    const readAll = async () => {
      const entries = await other.entries.readMany(paths.map((path) => ({ mountId, path })));
      return entries.map((entry) => entry?.value.toString());
    };
    await all('old');
    await until(async () => other.changes.fresh && (await readAll()).every((value) => value === 'old'));
    await all('new');
    const { stale } = await staleAnswers(async () => (await readAll()).every((value) => value === 'new'));
    expect(stale).toBe(0);
  });
});
