import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool } from '@keystead/postgres';
import { freshDatabase, type TestDatabase } from '@keystead/testing';
import { openDatabase } from '../src/kernel/database/open-database';
import { readById } from '../src/resources/runs/runs/run';

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

  interface Node {
    readonly Plans?: readonly Node[];
    readonly 'Relation Name'?: string;
  }
  /** The table that a plan reads first: the outer side of its joins. */
  const firstTable = (node: Node): string | undefined =>
    node['Relation Name'] ?? (node.Plans?.[0] && firstTable(node.Plans[0]));

  // While tables are almost empty, all orders of joins seem equally cheap, and a plan is kept for long.
  it('find runs from their ids, not from workspaces, although the tables are empty', async () => {
    await pool.query('SET plan_cache_mode = force_generic_plan');
    await pool.query(`PREPARE by_id (text[]) AS ${readById.text}`);
    const { rows } = await pool.query<{ 'QUERY PLAN': { Plan: Node }[] }>(
      "EXPLAIN (FORMAT json) EXECUTE by_id (ARRAY['run-1'])",
    );
    expect(firstTable(rows[0]!['QUERY PLAN'][0]!.Plan)).toBe('run');
  });
});
