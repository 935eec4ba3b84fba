import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseProxy, freshDatabase, type TestDatabase } from '@keystead/testing';
import { until } from '../../../test/fresh-storage';
import { StorageKernel } from '../storage/storage';
import type { Tx } from '../storage/types';
import { Rotation } from './rotation';
import { Seal } from './seal';

const sealKeys = () => ({ current: Buffer.alloc(32, 1) });
const cell = { table: 'setting', row: 'seen', column: 'sealed' };
const WRITE = { name: 'write-seen', text: 'INSERT INTO setting (name, sealed) VALUES ($1, $2)' };
const LOOK = { name: 'look-seen', text: 'SELECT sealed FROM setting WHERE name = $1' };

type Reader = Pick<Tx, 'query'>;

describe('a node that receives no notices', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  const nodes: StorageKernel[] = [];
  const node = async (url: string) => {
    const storage = new StorageKernel({ url, maxConnections: 4 });
    const seal = new Seal(storage, { type: 'auto', sealKeys });
    nodes.push(storage);
    await storage.start();
    await seal.start();
    return { storage, seal, rotation: new Rotation(storage, seal) };
  };
  let first: Awaited<ReturnType<typeof node>>;
  let deaf: Awaited<ReturnType<typeof node>>;

  beforeAll(async () => {
    database = await freshDatabase('secrets');
    proxy = await DatabaseProxy.start(database.url);
    first = await node(database.url);
    await first.seal.init({ shares: 1, threshold: 1 }, () => undefined);
    deaf = await node(proxy.url);
    await until(() => deaf.storage.changes.fresh);
    // From now on this node neither receives notices nor polls.
    proxy.hold('listener');
    await deaf.storage.background.stop();
  });
  afterAll(async () => {
    await proxy.close();
    await Promise.all(nodes.map((storage) => storage.stop().catch(() => {})));
    await database.drop();
  });

  const ways: readonly [string, (read: (from: Reader) => Promise<unknown>) => Promise<unknown>][] = [
    ['a statement', (read) => read(deaf.storage.database)],
    ['a transaction', (read) => deaf.storage.database.transaction(read)],
  ];
  it.each(ways)('decrypts values that %s reads after they were encrypted with a new key', async (name, way) => {
    // If this failed, requests of the node would fail after a rotation on another node until the notice arrived.
    await first.rotation.rotate();
    const { barrier } = first.storage;
    await first.storage.database.query(WRITE, [name, barrier.sealJson({ seen: name }, cell)]);
    expect(deaf.storage.barrier.keys.version).toBeLessThan(barrier.keys.version);
    const value = await way(async (from) => {
      const { rows } = await from.query<{ sealed: Buffer }>(LOOK, [name]);
      return deaf.storage.barrier.openJson(rows[0]!.sealed, cell);
    });
    expect(value).toEqual({ seen: name });
  });

  it('also loads the new key when asked for its key status', async () => {
    await first.rotation.rotate();
    await deaf.seal.requireRecord();
    expect(await deaf.seal.reload()).toBe(true);
    expect(deaf.storage.barrier.keys.version).toBe(first.storage.barrier.keys.version);
  });

  it('is sealed anyway when another node seals the service, because it polls', async () => {
    // If this failed, the node would continue to answer from the database after an operator has sealed the service.
    const deafNode = await node(proxy.url);
    expect(deafNode.seal.sealed).toBe(false);
    await first.seal.seal();
    await until(() => deafNode.seal.sealed);
    expect(() => deafNode.storage.barrier.keys).toThrow('sealed');
  });
});
