import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { applyMigrations, DatabaseUnreachable, ensureDatabase, findEmbedded, withClient } from '@keystead/postgres';
import pg from 'pg';
import { Problem } from '../problem';
import { type Batch, type Header, readBatches, readHeader } from './archive';
import { listSequences, listTables, NEUTRAL, readRows, setSequences, whileUnchecked, writeRows } from './tables';

export type ServiceName = Header['service'];

const root = resolve(__dirname, '../../../..');

/** Where a service's database is: the option, the service's own setting, or the embedded server of a data folder. */
export async function findDatabase(
  service: ServiceName,
  options: { databaseUrl?: string; data?: string },
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const name = `${service.toUpperCase()}_DATABASE_URL`;
  const file = env[`${name}_FILE`];
  const given =
    options.databaseUrl ?? (options.data ? undefined : (env[name] ?? (file && readFileSync(file, 'utf8').trim())));
  if (given) return given;
  const folder = resolve(options.data ?? env.KEYSTEAD_DATA ?? 'data', 'postgres');
  const server = existsSync(folder) ? await findEmbedded(folder) : undefined;
  if (!server) {
    throw new Problem(`no database: give --database-url or ${name}, or --data with the folder of a running npm start`);
  }
  return server.url(service);
}

/** Runs `use` with one connection; a server that cannot be reached is one clear line. */
export async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  try {
    return await withClient(url, async (client) => {
      await client.query(NEUTRAL);
      return use(client);
    });
  } catch (error) {
    if (error instanceof DatabaseUnreachable) throw new Problem(error.message, 3);
    throw error;
  }
}

/** Every row of every table as of one moment. */
export async function* snapshot(client: pg.ClientBase, header: Header): AsyncGenerator<Batch> {
  for (const table of header.tables) {
    for await (const rows of readRows(client, table)) yield { table: table.name, rows };
  }
}

/** Puts a backup into a database that nobody uses, and brings it up to this version. */
export async function restore(file: string, url: string): Promise<Header> {
  const header = await readHeader(file);
  await ensureDatabase(url);
  await connected(url, refuseUsed);
  await migrateTo(header, url);
  await connected(url, async (client) => {
    const here = await listTables(client);
    if (JSON.stringify(here) !== JSON.stringify(header.tables)) {
      throw new Problem('the tables of the backup are not those of this version: use the version it was made with');
    }
    await client.query('BEGIN');
    await whileUnchecked(client, here, async () => {
      const tables = new Map(here.map((table) => [table.name, table]));
      for await (const { table, rows } of readBatches(file)) {
        const target = tables.get(table);
        if (target) await writeRows(client, target, rows);
      }
      await setSequences(client, header.sequences);
    });
    await client.query('COMMIT');
  });
  await applyMigrations({ url, dir: migrationsOf(header.service) });
  return header;
}

/** What a backup of this database would say of itself. */
export async function describe(client: pg.ClientBase) {
  return { tables: await listTables(client), sequences: await listSequences(client) };
}

async function refuseUsed(client: pg.ClientBase): Promise<void> {
  const { rows: others } = await client.query<{ name: string }>(
    `SELECT DISTINCT application_name AS name FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'keystead-%'`,
  );
  if (others.length > 0)
    throw new Problem(`${others.map(({ name }) => name).join(', ')} still uses the database: stop it first`);
  for (const { name } of await listTables(client)) {
    const { rows } = await client.query(`SELECT 1 FROM ${pg.escapeIdentifier(name)} LIMIT 1`);
    if (rows.length > 0) throw new Problem(`the database is not empty (${name}): restore into a new one`);
  }
}

/** Makes the tables as they were when the backup was made; what came later is applied over the data. */
async function migrateTo(header: Header, url: string): Promise<void> {
  const all = migrationsOf(header.service);
  const known = new Set(readdirSync(all));
  const unknown = header.migrations.filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Problem(`the backup is of a newer version: ${unknown.join(', ')} is unknown here`);
  const then = mkdtempSync(join(tmpdir(), 'keystead-restore-'));
  try {
    for (const name of header.migrations) cpSync(join(all, name), join(then, name), { recursive: true });
    await applyMigrations({ url, dir: then });
  } finally {
    rmSync(then, { recursive: true, force: true });
  }
}

function migrationsOf(service: ServiceName): string {
  return join(root, 'prisma', service, 'migrations');
}
