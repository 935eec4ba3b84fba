import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshStorage, type TestStorage } from '../../../test/fresh-storage';
import { ROOT_NAMESPACE_ID } from '../storage/types';
import { newWriteSet } from '../storage/write-set';
import { type Catalog, Mounts } from './mounts';

const catalog = {
  find: (type: string, kind: string) => ({ type, kind, paths: [] }),
} as unknown as Catalog;
const ttls = { defaultLeaseTtlSeconds: 60, maxLeaseTtlSeconds: 60 };

describe('a mount that another node has just created', () => {
  let test: TestStorage;
  beforeAll(async () => {
    test = await freshStorage();
  });
  afterAll(() => test.close());

  it('is looked up in the database before it is reported as absent', async () => {
    const { database, committer, changes, barrier, clock } = test.storage;
    const parts = { database, committer, changes, barrier, clock, catalog, ttls };
    const maker = new Mounts(parts);
    // Notices arrive only when `catchUp` is called.
    const late = (mustTell: boolean) => {
      const listeners: (() => void)[] = [];
      const catchUp = async () => {
        for (const forget of listeners) forget();
      };
      const listen = (_topic: string, forget: (key: string) => void) => listeners.push(() => forget('*'));
      return new Mounts({ ...parts, changes: { listen, fresh: true, mustTell, catchUp } });
    };
    const [among, single] = [late(true), late(false)];
    await Promise.all([maker.refresh(), among.refresh(), single.refresh()]);
    await maker.create(ROOT_NAMESPACE_ID, { kind: 'secret', type: 'thing', path: 'late/' });
    expect(among.at(ROOT_NAMESPACE_ID, 'late/')).toBeUndefined();
    expect(await among.seek(ROOT_NAMESPACE_ID, 'late/')).toMatchObject({ path: 'late/' });
    expect(await among.seek(ROOT_NAMESPACE_ID, 'later/')).toBeUndefined();
    // A single node does not read again: no other node could have created a mount.
    expect(await single.seek(ROOT_NAMESPACE_ID, 'late/')).toBeUndefined();
  });

  it('is found after the installation was initialised, although the empty table was read just before', async () => {
    const { database, committer, changes, barrier, clock } = test.storage;
    const mounts = new Mounts({
      database,
      committer,
      changes: {
        ...changes,
        listen: changes.listen.bind(changes),
        fresh: true,
        mustTell: true,
        catchUp: async () => undefined,
      },
      barrier,
      clock,
      catalog,
      ttls,
    });
    await mounts.refresh();
    const set = newWriteSet();
    mounts.addAll(set, ROOT_NAMESPACE_ID, [{ kind: 'secret', type: 'thing', path: 'first/' }]);
    await committer.commit(set);
    await mounts.refresh();
    expect(mounts.at(ROOT_NAMESPACE_ID, 'first/')).toMatchObject({ path: 'first/' });
  });
});
