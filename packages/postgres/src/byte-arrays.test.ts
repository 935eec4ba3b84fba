import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { emptyDatabase, type TestDatabase } from '../../testing/src/index';
import { createPool, withByteArrays } from './index';

describe('an array of bytes', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  beforeAll(async () => {
    database = await emptyDatabase();
    pool = createPool({ url: database.url, max: 1 });
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it.each<[string, (Buffer | null)[]]>([
    ['of one', [randomBytes(32)]],
    ['with nothing in it', [Buffer.alloc(0)]],
    ['of many lengths', [0, 1, 2, 100, 100_000].map((length) => randomBytes(length))],
    ['with nulls', [null, randomBytes(3), null]],
    ['of nulls', [null, null]],
    ['of none', []],
  ])('%s arrives unchanged, among other values', async (_, bytes) => {
    const { rows } = await pool.query(
      'SELECT ordinality::int AS at, element, $2::int[] AS numbers FROM unnest($1::bytea[]) WITH ORDINALITY AS a(element, ordinality)',
      withByteArrays([bytes, [1, 2]]) as unknown[],
    );
    expect(rows).toEqual(bytes.map((element, index) => ({ at: index + 1, element, numbers: [1, 2] })));
  });

  it('is the only kind of value that is changed', () => {
    const values = [['a'], [1, null], [], Buffer.from('x'), null, 7];
    expect(withByteArrays(values)).toBe(values);
  });
});
