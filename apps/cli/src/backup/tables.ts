import pg from 'pg';

/** A table in a backup: its stored columns, without computed ones. */
export interface BackupTable {
  name: string;
  columns: readonly string[];
}

/** A sequence and its position. */
export interface Sequence {
  name: string;
  last: string;
  called: boolean;
}

const BATCH = 500;
const quote = pg.escapeIdentifier;
// Not part of a backup: the migration runner fills this table of the target itself.
const APPLIED = '_prisma_migrations';
const TABLES = `SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname <> $1
  GROUP BY c.relname ORDER BY c.relname`;
const SEQUENCES = `SELECT sequencename AS name, last_value::text AS last FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1`;
const FOREIGN_KEYS = `SELECT conrelid::regclass::text AS "table", conname AS name, pg_get_constraintdef(oid) AS definition
  FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conparentid = 0`;

/** Settings that make the text of values the same on every server. */
export const NEUTRAL = `SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET timezone = 'UTC';
  SET bytea_output = 'hex'; SET extra_float_digits = 1; SET client_encoding = 'UTF8'`;

/** Every table that holds data of the service. */
export async function listTables(client: pg.ClientBase): Promise<BackupTable[]> {
  return (await client.query<BackupTable>(TABLES, [APPLIED])).rows;
}

/** The database's estimate of the number of rows in all tables, for progress. */
export async function estimateRows(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ rows: string }>(
    `SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint::text AS rows FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  return Number(rows[0]?.rows ?? 0);
}

/** Every used sequence with its position. */
export async function listSequences(client: pg.ClientBase): Promise<Sequence[]> {
  const { rows } = await client.query<{ name: string; last: string | null }>(SEQUENCES);
  return rows.flatMap(({ name, last }) => (last === null ? [] : [{ name, last, called: true }]));
}

/** The names of the applied migrations, in order. */
export async function listMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT migration_name AS name FROM ${APPLIED} WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** Rows of a table as text, in batches, from the client's current transaction. */
export async function* readRows(client: pg.ClientBase, table: BackupTable): AsyncGenerator<string[]> {
  await client.query(`DECLARE backup NO SCROLL CURSOR FOR SELECT t::text AS row FROM ${quote(table.name)} t`);
  for (;;) {
    const { rows } = await client.query<{ row: string }>(`FETCH ${BATCH} FROM backup`);
    if (rows.length === 0) break;
    yield rows.map(({ row }) => row);
  }
  await client.query('CLOSE backup');
}

/** Writes rows from `readRows`; computed columns are computed again. */
export async function writeRows(client: pg.ClientBase, table: BackupTable, rows: readonly string[]): Promise<void> {
  const columns = table.columns.map(quote);
  await client.query(
    `INSERT INTO ${quote(table.name)} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE
     SELECT ${columns.map((column) => `(r).${column}`).join(', ')}
     FROM (SELECT unnest($1::text[])::${quote(table.name)} AS r) source`,
    [rows],
  );
}

/** Restores the positions of the sequences. */
export async function setSequences(client: pg.ClientBase, sequences: readonly Sequence[]): Promise<void> {
  for (const { name, last, called } of sequences) {
    await client.query('SELECT setval($1::regclass, $2::bigint, $3)', [quote(name), last, called]);
  }
}

/**
 * Runs `load` with the tables emptied and without foreign keys and triggers, so that rows can be in any order. Restores
 * both afterwards, which checks every reference. Everything happens within the client's transaction.
 */
export async function whileUnchecked(
  client: pg.ClientBase,
  tables: readonly BackupTable[],
  load: () => Promise<void>,
): Promise<void> {
  const { rows: keys } = await client.query<{ table: string; name: string; definition: string }>(FOREIGN_KEYS);
  for (const key of keys) await client.query(`ALTER TABLE ${key.table} DROP CONSTRAINT ${quote(key.name)}`);
  for (const { name } of tables) await client.query(`ALTER TABLE ${quote(name)} DISABLE TRIGGER USER`);
  await client.query(`TRUNCATE ${tables.map(({ name }) => quote(name)).join(', ')}`);
  await load();
  for (const { name } of tables) await client.query(`ALTER TABLE ${quote(name)} ENABLE TRIGGER USER`);
  for (const key of keys) {
    await client.query(`ALTER TABLE ${key.table} ADD CONSTRAINT ${quote(key.name)} ${key.definition}`);
  }
}
