import { Keyring } from '@keystead/keyring';
import { freshDatabase, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import { StorageKernel, type StorageOptions } from '../src/kernel/storage/storage';

/** Storage on a separate database, unsealed; for tests of the kernel. */
export interface TestStorage {
  storage: StorageKernel;
  database: TestDatabase;
  keyring: Keyring;
  /** Another node on the same database. */
  another(options?: Partial<StorageOptions>): Promise<StorageKernel>;
  /** Runs a statement on the database directly, as an operator could. */
  byHand(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

const SEAL_KEY = Buffer.alloc(32, 7);

export async function freshStorage(options: Partial<StorageOptions> = {}): Promise<TestStorage> {
  const database = await freshDatabase('secrets');
  const keyring = Keyring.create();
  const wrapped = keyring.wrap(SEAL_KEY);
  const nodes: StorageKernel[] = [];
  const open = async (more: Partial<StorageOptions>): Promise<StorageKernel> => {
    const node = new StorageKernel({ url: database.url, ...more });
    node.barrier.unseal(Keyring.unwrap(wrapped, [SEAL_KEY]));
    nodes.push(node);
    await node.start();
    return node;
  };
  const storage = await open(options);
  const hand = new pg.Pool({ connectionString: database.url, max: 1 });
  hand.on('error', () => {});
  return {
    storage,
    database,
    keyring,
    another: (more = {}) => open(more),
    byHand: async (text, values) => (await hand.query(text, values)).rows,
    async close() {
      await Promise.all(nodes.map((node) => node.stop().catch(() => {})));
      await hand.end();
      await database.drop();
    },
  };
}

/** Waits until something becomes true, however busy the machine is; fails after `withinMs`. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 90_000): Promise<void> {
  const start = performance.now();
  while (!(await holds())) {
    if (performance.now() - start > withinMs) throw new Error(`did not become true within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/**
 * Runs something while the node receives its heartbeats in time, as on an idle machine. Only during this time does the node answer from memory.
 */
export async function whileHearing<T>({ changes }: StorageKernel, work: () => Promise<T>): Promise<T> {
  Object.defineProperty(changes, 'fresh', { get: () => true, configurable: true });
  const forget = changes.applyAll;
  changes.applyAll = () => {};
  try {
    return await work();
  } finally {
    changes.applyAll = forget;
    Reflect.deleteProperty(changes, 'fresh');
  }
}
