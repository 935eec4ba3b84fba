import { describe, expect, it } from '@jest/globals';
import { createPool } from '@keystead/postgres';
import { DatabaseProxy } from './database-proxy';
import { freshDatabase } from './fresh-database';

describe('a pool whose network loses packets', () => {
  it('gives up a silent connection, and continues with another', async () => {
    const database = await freshDatabase('secrets');
    const proxy = await DatabaseProxy.start(database.url);
    const pool = createPool({ url: proxy.url, max: 1, statementSeconds: 0.1 });
    try {
      await pool.query('SELECT 1');
      proxy.hold('now');
      await expect(pool.query('SELECT 1')).rejects.toThrow('Query read timeout');
      expect((await pool.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }]);
    } finally {
      await pool.end();
      await proxy.close();
      await database.drop();
    }
  });
});
