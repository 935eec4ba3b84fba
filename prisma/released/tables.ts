import { databaseName, withClient } from '../../packages/postgres/src/index';
import { asSuperuser } from '../../packages/testing/src/index';

/** A database as rows of text, which keep every digit and every byte. */
export interface Tables {
  /** The applied migrations, in order, with the checksum of each script. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[];
  /** One JSON text per row, by table. */
  readonly rows: Readonly<Record<string, readonly string[]>>;
  readonly sequences: Readonly<Record<string, string>>;
}

/** Reads every row of a database without writers. */
export async function readTables(url: string): Promise<Tables> {
  return withClient(url, async (client) => {
    const column = async (text: string) => (await client.query<{ value: string }>(text)).rows.map(({ value }) => value);
    const migrations = await client.query(
      `SELECT migration_name AS name, checksum FROM _prisma_migrations
        WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name`,
    );
    const names = await column(
      `SELECT tablename AS value FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> '_prisma_migrations' ORDER BY 1`,
    );
    const rows: Record<string, string[]> = {};
    for (const name of names)
      rows[name] = await column(`SELECT row_to_json(t)::text AS value FROM "${name}" t ORDER BY 1`);
    const sequences: Record<string, string> = {};
    for (const name of await column(`SELECT sequencename AS value FROM pg_sequences WHERE schemaname = 'public'`)) {
      const [last] = await column(`SELECT last_value::text AS value FROM "${name}" WHERE is_called`);
      if (last) sequences[name] = last;
    }
    return { migrations: migrations.rows, rows, sequences };
  });
}

/**
 * Fills the empty tables of a database. Constraints and triggers are off in the meantime, as during a restore: they
 * accepted the same rows before.
 */
export async function writeTables(url: string, { rows, sequences }: Tables): Promise<void> {
  await withClient(await asSuperuser(url), async (client) => {
    await client.query('BEGIN');
    await client.query('SET LOCAL session_replication_role = replica');
    for (const [name, texts] of Object.entries(rows)) {
      const { rows: there } = await client.query(`SELECT EXISTS (SELECT FROM "${name}") AS filled`);
      if (there[0].filled) await client.query(`DELETE FROM "${name}"`);
      await client.query(
        `INSERT INTO "${name}" SELECT r.* FROM unnest($1::text[]) AS t (line),
                LATERAL json_populate_record(NULL::"${name}", t.line::json) AS r`,
        [texts],
      );
    }
    for (const [name, last] of Object.entries(sequences))
      await client.query('SELECT setval($1, $2)', [`"${name}"`, last]);
    await client.query('COMMIT');
    await client.query(`ANALYZE`);
  }).catch((error) => {
    throw new Error(`the rows do not fit into ${databaseName(url)}: ${(error as Error).message}`, { cause: error });
  });
}

/** Later times outlast any recording. */
const SOON_MS = 365 * 24 * 3600_000;

/**
 * The same rows, moved to the present: a row that was about to expire when it was recorded has the same time left. Past
 * times stay as they are.
 */
export function asOf(nowMs: number, recordedAtMs: number, tables: Tables): Tables {
  const moved = (text: string): string =>
    text.replace(
      /("expires_at(?:_ms)?":)(?:(\d{13})|"([^"]+)")/g,
      (whole, name: string, ms?: string, date?: string) => {
        const atMs = ms === undefined ? Date.parse(/[Z+]/.test(date!) ? date! : `${date}Z`) : Number(ms);
        if (!(atMs > recordedAtMs && atMs < recordedAtMs + SOON_MS)) return whole;
        const nextMs = atMs + nowMs - recordedAtMs;
        return `${name}${ms === undefined ? JSON.stringify(new Date(nextMs).toISOString()) : nextMs}`;
      },
    );
  const rows = Object.entries(tables.rows).map(([name, texts]) => [name, texts.map(moved)] as const);
  return { ...tables, rows: Object.fromEntries(rows) };
}
