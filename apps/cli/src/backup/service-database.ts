import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { wrongWithDatabaseUrl } from '@keystead/addresses';
import {
  applyMigrationsWithin,
  databaseName,
  type EmbeddedServer,
  ensureDatabase,
  ensureOwnDatabase,
  findBinaries,
  findEmbedded,
  onDatabase,
  startEmbedded,
  withClient,
} from '@keystead/postgres';
import pg from 'pg';
import { bundle } from '../bundle';
import { exitCodes, Problem } from '../problem';
import { type Batch, type Header, type Proof, readBatches } from './archive';
import { listSequences, listTables, NEUTRAL, readRows, setSequences, whileUnchecked, writeRows } from './tables';

export type ServiceName = Header['service'];

const root = resolve(__dirname, '../../../..');

/** The installation: its database, or the data folder of `npm start`. */
export interface Where {
  databaseUrl?: string;
  data?: string;
}

/**
 * The address of a service's database: from the option, the service's own setting, or the embedded server of a data
 * folder.
 */
export async function findDatabase(service: ServiceName, where: Where, env: NodeJS.ProcessEnv): Promise<string> {
  const givenUrl = givenDatabase(service, where, env);
  if (givenUrl) return givenUrl;
  const folder = resolve(dataFolder(where, env), 'postgres');
  const server = existsSync(folder) ? await findEmbedded(folder) : undefined;
  if (server) return server.url(service);
  throw new Problem(
    where.data
      ? `no npm start runs in ${where.data}: start it, or name another folder`
      : `no database: give --database-url or ${service.toUpperCase()}_DATABASE_URL, or --data with the folder of a running npm start`,
  );
}

/**
 * Works with the database to restore into. With a data folder, a server runs there during the work, and the database is
 * created as by `npm start`.
 */
export async function withNewDatabase<T>(
  service: ServiceName,
  where: Where,
  env: NodeJS.ProcessEnv,
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (!where.data) return work(await findDatabase(service, where, env));
  refuseBoth(where);
  const server = await startIn(resolve(where.data, 'postgres'));
  try {
    return await work(await ensureOwnDatabase(server, service));
  } finally {
    if (server.started) await server.stop();
  }
}

async function startIn(folder: string): Promise<EmbeddedServer> {
  try {
    findBinaries();
  } catch {
    throw new Problem('this program contains no PostgreSQL: use the ./keystead of npm start, or give --database-url');
  }
  try {
    return await startEmbedded({ dataDir: folder, socket: true });
  } catch (error) {
    throw new Problem((error as Error).message, exitCodes.unreachable);
  }
}

/** The database with the given URL. A folder in the flags takes precedence over the environment. */
function givenDatabase(service: ServiceName, where: Where, env: NodeJS.ProcessEnv): string | undefined {
  refuseBoth(where);
  if (where.databaseUrl) return checked(where.databaseUrl);
  if (where.data) return undefined;
  const name = `${service.toUpperCase()}_DATABASE_URL`;
  const file = env[`${name}_FILE`];
  const url = env[name] || (file && readFileSync(file, 'utf8').trim());
  return url ? checked(url) : undefined;
}

/** The seal key that `npm start` stores next to its embedded database; undefined for another database. */
export function keyInDataFolder(service: ServiceName, where: Where, env: NodeJS.ProcessEnv): string | undefined {
  if (givenDatabase(service, where, env)) return undefined;
  const file = join(dataFolder(where, env), `${service}.key`);
  return existsSync(file) ? file : undefined;
}

const dataFolder = (where: Where, env: NodeJS.ProcessEnv): string => where.data || env.KEYSTEAD_DATA || 'data';

function refuseBoth({ databaseUrl, data }: Where): void {
  if (databaseUrl && data) throw new Problem('--database-url and --data each name a database: give one of them');
}

function checked(url: string): string {
  const wrong = wrongWithDatabaseUrl(url);
  // The address may hold a password, so the message does not repeat it.
  if (wrong) throw new Problem(`the address of the database ${wrong}`);
  return url;
}

/** Runs `use` with one connection, which writes values the same way everywhere. */
export async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  return withClient(url, async (client) => {
    await client.query(NEUTRAL);
    return use(client);
  });
}

/** A consistent snapshot of all tables. */
export async function* snapshot(client: pg.ClientBase, header: Header): AsyncGenerator<Batch> {
  for (const table of header.tables) {
    for await (const rows of readRows(client, table)) yield { table: table.name, rows };
  }
}

/**
 * Restores a verified backup into an unused database, and migrates it to this version. Everything is one transaction,
 * so a failure leaves nothing behind.
 */
export async function restore(
  file: string,
  header: Header,
  url: string,
  proof: Proof,
  loaded?: BytesDone,
): Promise<void> {
  const migrations = migrationsOf(header.service);
  try {
    await restoreWith(file, url, header, migrations.folder, proof, loaded);
  } finally {
    migrations.forget();
  }
}

/** Reports how many bytes of a backup have been processed. */
export type BytesDone = (bytes: number) => void;

async function restoreWith(
  file: string,
  url: string,
  header: Header,
  migrations: string,
  proof: Proof,
  loaded?: BytesDone,
): Promise<void> {
  refuseNewer(header, migrations);
  const created = await ensureDatabase(url);
  try {
    await connected(url, async (client) => {
      await client.query('BEGIN');
      await refuseUsed(client);
      await applyMigrationsWithin(client, migrations, (name) => header.migrations.includes(name));
      await load(client, file, header, proof, loaded);
      await applyMigrationsWithin(client, migrations);
      await client.query('COMMIT');
    });
  } catch (error) {
    if (created) await dropDatabase(url);
    throw error;
  }
}

/** Fills the tables from a backup, using the schema from the time of the backup. */
async function load(
  client: pg.ClientBase,
  file: string,
  header: Header,
  proof: Proof,
  loaded?: BytesDone,
): Promise<void> {
  const here = await listTables(client);
  if (JSON.stringify(here) !== JSON.stringify(header.tables)) {
    throw new Problem('the tables of the backup are not those of this version: use the version it was made with');
  }
  const tables = new Map(here.map((table) => [table.name, table]));
  await whileUnchecked(client, here, async () => {
    for await (const { table, rows } of readBatches(file, proof, loaded))
      await writeRows(client, tables.get(table)!, rows);
    await setSequences(client, header.sequences);
  });
}

/** Drops a database that was created for a failed restore, or for a drill. */
export async function dropDatabase(url: string): Promise<void> {
  const name = pg.escapeIdentifier(databaseName(url));
  // The first failure is the one to report.
  await withClient(onDatabase(url, 'postgres'), (client) => client.query(`DROP DATABASE IF EXISTS ${name}`)).catch(
    () => {},
  );
}

/** The header for a backup of this database. */
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

/**
 * Throws `Problem` if the backup contains migrations that this version does not know. Older backups are accepted,
 * because the missing migrations are applied after the restore.
 */
function refuseNewer(header: Header, migrations: string): void {
  const ownNames = new Set(readdirSync(migrations));
  const unknown = header.migrations.filter((name) => !ownNames.has(name));
  if (unknown.length > 0) throw new Problem(`the backup is of a newer version: ${unknown.join(', ')} is unknown here`);
}

/** The names of this version's migrations of a service. */
export function migrationNames(service: ServiceName): string[] {
  if (bundle) return Object.keys(bundle.migrations[service]);
  const entries = readdirSync(join(root, 'prisma', service, 'migrations'), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** A folder with the migrations of a service: if the program is a single file, it writes a temporary one. */
function migrationsOf(service: ServiceName): { folder: string; forget: () => void } {
  if (!bundle) return { folder: join(root, 'prisma', service, 'migrations'), forget: () => {} };
  const folder = mkdtempSync(join(tmpdir(), 'keystead-migrations-'));
  for (const [name, text] of Object.entries(bundle.migrations[service])) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'migration.sql'), text);
  }
  return { folder, forget: () => rmSync(folder, { recursive: true, force: true }) };
}
