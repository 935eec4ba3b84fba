import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshDatabase, manualClock, type TestDatabase } from '@keystead/testing';
import { until } from '../../../test/fresh-storage';
import { StorageKernel } from '../storage/storage';
import { add, newWriteSet } from '../storage/write-set';
import { Rotation } from './rotation';
import { mostOperations } from './rotation-plan';
import { Seal } from './seal';

const clock = manualClock(Date.UTC(2027, 0, 1));
const day = 24 * 3600;
let database: TestDatabase;
const storages: StorageKernel[] = [];

async function node() {
  const storage = new StorageKernel({ url: database.url, maxConnections: 4, clock });
  storages.push(storage);
  const seal = new Seal(storage, { type: 'auto', sealKeys: () => ({ current: Buffer.alloc(32, 1) }) });
  await storage.start();
  await seal.start();
  return { storage, seal, rotation: new Rotation(storage, seal) };
}
let one: Awaited<ReturnType<typeof node>>;
let two: Awaited<ReturnType<typeof node>>;

beforeAll(async () => {
  database = await freshDatabase('secrets');
  one = await node();
  await one.seal.init({ shares: 1, threshold: 1 }, () => undefined);
  two = await node();
});
afterAll(async () => {
  for (const storage of storages) await storage.stop();
  await database.drop();
});

const term = async () => (await one.rotation.keyStatus()).term;
const sealedUnderOlder = async () => {
  const { rows } = await one.storage.database.query<{ count: string }>(
    `SELECT count(*) FROM entry WHERE ('x' || encode(substring(sealed FROM 2 FOR 4), 'hex'))::bit(32)::int < $1`,
    [one.storage.barrier.keys.version],
  );
  return Number(rows[0]!.count);
};
const waitForVersion = (expected: number) => until(() => two.storage.barrier.keys.version === expected);

describe('automatic rotation', () => {
  it('ignores age by default, and does nothing when disabled', async () => {
    clock.advance(400 * day * 1000);
    await one.rotation.rotateIfDue();
    expect(await term()).toBe(1);
    await one.rotation.plan.change((before) => ({ ...before, intervalSeconds: day, enabled: false }));
    await one.rotation.rotateIfDue();
    expect(await term()).toBe(1);
  });

  it('adds one new key when the old one is too old, however many nodes notice', async () => {
    await two.rotation.plan.change((before) => ({ ...before, enabled: true }));
    await Promise.all([one, two, one, two].map(({ rotation }) => rotation.rotateIfDue()));
    // One of the two nodes rotates the key, and the other is notified.
    await until(async () => (await term()) === 2);
    await waitForVersion(2);
    clock.advance(day * 1000 - 1);
    await two.rotation.rotateIfDue();
    expect(await term()).toBe(2);
    clock.advance(1);
    await two.rotation.rotateIfDue();
    await until(async () => (await term()) === 3);
    await waitForVersion(3);
  });

  it('adds one new key when all nodes together have encrypted enough, and counts from zero', async () => {
    const seal = async ({ storage }: typeof one, times: number) => {
      const set = newWriteSet();
      const mountId = randomUUID();
      for (let i = 0; i < times; i++) add(set, 'puts', { mountId, path: `${i}`, value: Buffer.from('x') });
      await storage.committer.commit(set);
    };
    const rules = (maxOperations: number) =>
      one.rotation.plan.change(() => ({ enabled: true, intervalSeconds: 0, maxOperations }));
    await rules(1000);
    await until(async () => (await one.rotation.progress())?.running === false);
    await one.rotation.rotateIfDue();
    await two.rotation.rotateIfDue();
    const before = await term();
    await seal(one, 600);
    // Reading the keys again does not drop the unreported count of a node.
    one.storage.barrier.unseal(one.storage.barrier.keys);
    await one.rotation.rotateIfDue();
    await one.rotation.rotateIfDue();
    expect(await term()).toBe(before);
    await seal(two, 600);
    await two.rotation.rotateIfDue();
    await until(async () => (await term()) === before + 1);
    await waitForVersion(before + 1);
    // Resealing exceeds the limit, but it is not treated as use of the new key. The job of an older rotation may do
    // part of it.
    await until(async () => (await one.rotation.progress())?.running === false && (await sealedUnderOlder()) === 0);
    await one.rotation.rotateIfDue();
    await two.rotation.rotateIfDue();
    expect(await term()).toBe(before + 1);
    await rules(mostOperations);
  });

  it('loses neither of two simultaneous changes', async () => {
    await Promise.all([
      one.rotation.plan.change((before) => ({ ...before, intervalSeconds: 5 * day })),
      two.rotation.plan.change((before) => ({ ...before, maxOperations: 5_000_000 })),
    ]);
    expect(await one.rotation.plan.rules()).toEqual({
      enabled: true,
      intervalSeconds: 5 * day,
      maxOperations: 5_000_000,
    });
  });
});
