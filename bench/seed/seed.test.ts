import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { emptyDatabase, type TestDatabase } from '../../packages/testing/src/index';
import { fillBare } from './copy-in';
import { CopyRows } from './copy-rows';

const COLUMNS = ['id', 'name', 'bytes', 'number'];

describe('filling a table', () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await emptyDatabase();
    client = new pg.Client(database.url);
    await client.connect();
    await client.query(
      `CREATE TABLE thing (id uuid PRIMARY KEY, name text UNIQUE, bytes bytea, number bigint);
       CREATE INDEX thing_number ON thing (number) WHERE number IS NOT NULL;
       INSERT INTO thing VALUES ('00000000-0000-4000-8000-000000000000', 'before', NULL, 7)`,
    );
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const indexes = async () =>
    (await client.query("SELECT indexdef FROM pg_indexes WHERE tablename = 'thing' ORDER BY 1")).rows;
  const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  async function* portions(names: readonly (readonly string[])[], length = 3): AsyncGenerator<Uint8Array> {
    let n = 0;
    for (const portion of names) {
      const rows = new CopyRows();
      for (const name of portion) {
        n++;
        rows
          .begin(4)
          .uuid(id(n))
          .text(name)
          .bytes(n % 2 === 0 ? null : Buffer.alloc(length, n));
        rows.bigint(n % 3 === 0 ? null : n - 2 ** 40);
      }
      yield rows.take();
    }
  }

  it('stores every kind of value unchanged, and keeps keys and indexes', async () => {
    const before = await indexes();
    const { indexed } = await fillBare(database.url, 'thing', COLUMNS, portions([['tab\tand\nline', ''], ['é🙂\\N']]));
    await indexed;
    const { rows } = await client.query("SELECT * FROM thing WHERE name <> 'before' ORDER BY id");
    expect(rows).toEqual([
      { id: id(1), name: 'tab\tand\nline', bytes: Buffer.alloc(3, 1), number: String(1 - 2 ** 40) },
      { id: id(2), name: '', bytes: null, number: String(2 - 2 ** 40) },
      { id: id(3), name: 'é🙂\\N', bytes: Buffer.alloc(3, 3), number: null },
    ]);
    expect(await indexes()).toEqual(before);
    await client.query("DELETE FROM thing WHERE name <> 'before'");
  });

  it('accepts more data than its buffer holds', async () => {
    const { indexed } = await fillBare(database.url, 'thing', COLUMNS, portions([['1', '2', '3']], 900_000));
    await indexed;
    const { rows } = await client.query("DELETE FROM thing WHERE name <> 'before' RETURNING name, length(bytes)");
    expect(rows).toEqual([
      { name: '1', length: 900_000 },
      { name: '2', length: null },
      { name: '3', length: 900_000 },
    ]);
  });

  it('changes nothing if rows violate their keys', async () => {
    const before = await indexes();
    const { indexed } = await fillBare(database.url, 'thing', COLUMNS, portions([['same', 'same']]));
    await expect(indexed).rejects.toThrow(/unique/);
    expect(await indexes()).toEqual(before);
    const { rows } = await client.query('SELECT name FROM thing');
    expect(rows).toEqual([{ name: 'before' }]);
  });
});
