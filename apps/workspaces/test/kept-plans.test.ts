import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool } from '@keystead/postgres';
import { freshDatabase, type TestDatabase } from '@keystead/testing';
import { openDatabase } from '../src/kernel/database/open-database';

describe('frequent statements', () => {
  let database: TestDatabase;
  let pool: ReturnType<typeof createPool>;
  let db: ReturnType<typeof openDatabase>;

  beforeAll(async () => {
    database = await freshDatabase('workspaces');
    pool = createPool({ url: database.url, max: 1 });
    db = openDatabase(pool, pool);
    await pool.query("CREATE TABLE scratch AS SELECT 'a' AS id, 1 AS number");
  });
  afterAll(async () => {
    await db.close();
    await pool.end();
    await database.drop();
  });

  const read = { name: 'scratch', text: 'SELECT id AS key, number FROM scratch WHERE id = ANY($1)' };
  const inTransaction = () => db.transaction((tx) => tx.readOne(read, 'a'));
  const outside = () => db.prisma.$queryRawUnsafe<object[]>('SELECT number FROM scratch WHERE id = $1', 'a');

  it('are planned once per connection, and again after a migration changed their result', async () => {
    for (let time = 0; time < 12; time++) {
      expect(await inTransaction()).toEqual({ key: 'a', number: 1 });
      expect(await outside()).toEqual([{ number: 1 }]);
    }
    const { rows } = await pool.query<{ generic: number; custom: number }>(
      `SELECT generic_plans::int AS generic, custom_plans::int AS custom FROM pg_prepared_statements
        WHERE statement LIKE '%FROM scratch%'`,
    );
    expect(rows).toHaveLength(2);
    for (const { generic, custom } of rows) expect([generic > 0, custom <= 5]).toEqual([true, true]);

    await pool.query('ALTER TABLE scratch ALTER number TYPE text');
    expect(await inTransaction()).toEqual({ key: 'a', number: '1' });
    await pool.query('ALTER TABLE scratch ALTER number TYPE int USING number::int');
    expect(await outside()).toEqual([{ number: 1 }]);
  });
});
