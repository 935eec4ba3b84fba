import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createPool, isConnectionLoss } from '@keystead/postgres';
import { freePort } from '@keystead/testing';
import { openDatabase } from '../src/kernel/database/open-database';

const folder = mkdtempSync(path.join(tmpdir(), 'keystead-lost-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const addresses: [string, () => Promise<string>][] = [
  ['a port that nothing listens on', async () => `postgresql://user@127.0.0.1:${await freePort()}/none`],
  ['a name that is not found', async () => 'postgresql://user@database.invalid:5432/none'],
  ['a missing socket', async () => `postgresql://user@/none?host=${encodeURIComponent(folder)}`],
];
type Db = ReturnType<typeof openDatabase>;
const clients: [string, (db: Db, pool: ReturnType<typeof createPool>) => Promise<unknown>][] = [
  ['the pool', (_db, pool) => pool.query('SELECT 1')],
  ['a statement of Prisma', (db) => db.prisma.$queryRaw`SELECT 1`],
  ['a command of Prisma', (db) => db.prisma.$executeRaw`SELECT 1`],
  ['a model of Prisma', (db) => db.prisma.organization.findFirst()],
  ['a transaction of Prisma', (db) => db.transaction((tx) => tx.prisma.$queryRaw`SELECT 1`)],
];

describe.each(addresses)('a database at %s', (_address, url) => {
  it.each(clients)('is recognised as lost through %s', async (_client, ask) => {
    const pool = createPool({ url: await url(), max: 1, onIdleError: () => undefined });
    const db = openDatabase(pool, pool);
    try {
      const error = await ask(db, pool).then(
        () => 'it answered',
        (thrown: unknown) => thrown,
      );
      expect([isConnectionLoss(error), String(error)]).toEqual([true, expect.any(String)]);
    } finally {
      await db.close();
      await pool.end();
    }
  });
});
