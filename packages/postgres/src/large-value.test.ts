import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { emptyDatabase, type TestDatabase } from '../../testing/src/index';
import { createPool, readLargeValue } from './index';

describe('a large value', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  beforeAll(async () => {
    database = await emptyDatabase();
    pool = createPool({ url: database.url, max: 1 });
    await pool.query('CREATE TABLE thing (name text, part int, "odd ""column" bytea)');
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const insert = (name: string, part: number, bytes: Buffer | null) =>
    pool.query('INSERT INTO thing VALUES ($1, $2, $3)', [name, part, bytes]);
  const read = (name: string, part: number) =>
    readLargeValue(pool, { table: 'thing', column: 'odd "column', where: { name, part } });

  it.each([0, 1, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 64 * 1024, 1_000_003])(
    'of %i bytes is read unchanged',
    async (size) => {
      const [bytes, other] = [randomBytes(size), randomBytes(100)];
      await insert(`it's "${size}"`, 1, bytes);
      await insert(`it's "${size}"`, 2, other);
      expect((await read(`it's "${size}"`, 1))?.equals(bytes)).toBe(true);
      expect((await read(`it's "${size}"`, 2))?.equals(other)).toBe(true);
    },
  );

  it('that begins like the answer itself is read unchanged', async () => {
    const bytes = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(100)]);
    await insert('like', 1, bytes);
    expect((await read('like', 1))?.equals(bytes)).toBe(true);
  });

  it('is undefined if there is no row', async () => {
    expect(await read('unknown', 1)).toBeUndefined();
  });

  it('that cannot be read is an error, and its connection stays usable', async () => {
    const table = { table: 'thing', column: 'odd "column', where: { part: "1' OR true --" } };
    await expect(readLargeValue(pool, table)).rejects.toThrow('invalid input syntax');
    await insert('fine', 1, Buffer.from('fine'));
    expect((await read('fine', 1))?.toString()).toBe('fine');
  });

  it.each([1, 2, 3])('is read while others are read (%i)', async (part) => {
    const bytes = randomBytes(300_000);
    await insert('among', part, bytes);
    const all = await Promise.all([read('among', part), read('among', part), pool.query('SELECT 1 AS one')]);
    expect([all[0]?.equals(bytes), all[1]?.equals(bytes), all[2].rows]).toEqual([true, true, [{ one: 1 }]]);
  });
});
