import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { databaseName, withClient } from './database';

/** The advisory lock that Prisma's own commands take, so that they and this runner never work at the same time. */
const LOCK = 72707369;
const LOCK_WAIT_SECONDS = 60;

/** Thrown when a migration cannot be applied; the message is one line that names it and says what to do. */
export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed';
  constructor(
    readonly migration: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Thrown when a database has migrations that this version does not know: it was made by a newer one. */
export class SchemaIsNewer extends MigrationFailed {
  constructor(database: string, unknown: readonly string[]) {
    super(
      unknown[0]!,
      `database ${database} was migrated by a newer version: ${unknown.join(', ')} is unknown to this one; start the newer version`,
    );
  }
}

export interface MigrationOptions {
  url: string;
  /** The folder with one folder per migration. */
  dir: string;
  /** Go on where a newer version has migrated the database. */
  allowNewer?: boolean;
  log?: (line: string) => void;
}

interface Migration {
  name: string;
  script: string;
  checksum: string;
}

interface AppliedRow {
  migration_name: string;
  checksum: string;
  finished: boolean;
}

/**
 * Applies the migrations a database lacks, in order, and keeps Prisma's own table about them, so that the official
 * commands and this runner agree. One process works at a time; others wait and then find nothing to do.
 * `unknown` are migrations the database has and this version does not know; without `allowNewer` they are refused before
 * anything is changed. Throws `MigrationFailed`, `SchemaIsNewer` and `DatabaseUnreachable`.
 */
export async function applyMigrations(options: MigrationOptions): Promise<{ applied: string[]; unknown: string[] }> {
  const migrations = readMigrations(options.dir);
  return withClient(options.url, async (client) => {
    await lock(client, options.url);
    await client.query(TABLE);
    const rows = await readApplied(client);
    const unknown = unknownOf(rows, migrations, options);
    const applied: string[] = [];
    for (const migration of migrations) {
      if (isApplied(migration, rows)) continue;
      options.log?.(`applying ${migration.name} to ${databaseName(options.url)}`);
      await apply(client, migration);
      applied.push(migration.name);
    }
    return { applied, unknown };
  });
}

/**
 * Applies the migrations of a folder that are wanted and not there yet, within the transaction that a client is in: with it
 * they are undone. Throws `MigrationFailed`, and for a script that runs in no transaction.
 */
export async function applyMigrationsWithin(
  client: pg.ClientBase,
  dir: string,
  wanted: (name: string) => boolean = () => true,
): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  await client.query(TABLE);
  const rows = await readApplied(client);
  for (const migration of readMigrations(dir)) {
    const { name, script } = migration;
    if (!wanted(name) || isApplied(migration, rows)) continue;
    if (!isAtomic(script)) throw new MigrationFailed(name, `migration ${name} cannot be applied together with others`);
    const { begin, finish } = recordsOf(migration);
    try {
      await client.query(`${begin}\n${script}\n;\n${finish}`);
    } catch (error) {
      throw new MigrationFailed(name, `migration ${name} failed: ${oneLine((error as Error).message)}`, {
        cause: error,
      });
    }
  }
}

/**
 * Makes sure that a database has exactly the migrations of this version, for who must not change it; with `allowNewer`
 * those of a newer one as well, which are returned. Throws `MigrationFailed`, `SchemaIsNewer` and `DatabaseUnreachable`.
 */
export async function requireMigrated(options: MigrationOptions): Promise<string[]> {
  const migrations = readMigrations(options.dir);
  return withClient(options.url, async (client) => {
    const rows = (await isThere(client)) ? await readApplied(client) : [];
    const unknown = unknownOf(rows, migrations, options);
    const lacking = migrations.find((migration) => !isApplied(migration, rows));
    if (!lacking) return unknown;
    const { name } = lacking;
    throw new MigrationFailed(name, `database ${databaseName(options.url)} lacks migration ${name}: run migrate first`);
  });
}

/** Migrations of a newer version. */
function unknownOf(rows: readonly AppliedRow[], migrations: readonly Migration[], options: MigrationOptions): string[] {
  const known = new Set(migrations.map((migration) => migration.name));
  const unknown = rows.map((row) => row.migration_name).filter((name) => !known.has(name));
  if (unknown.length > 0 && !options.allowNewer) throw new SchemaIsNewer(databaseName(options.url), unknown);
  return unknown;
}

async function isThere(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query("SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there");
  return rows[0].there;
}

/** The migrations of a folder that a database lacks; it changes nothing. */
export async function pendingMigrations({ url, dir }: MigrationOptions): Promise<string[]> {
  const names = readMigrations(dir).map((migration) => migration.name);
  return withClient(url, async (client) => {
    if (!(await isThere(client))) return names;
    const done = new Set((await readApplied(client)).filter((row) => row.finished).map((row) => row.migration_name));
    return names.filter((name) => !done.has(name));
  });
}

function readMigrations(dir: string): Migration[] {
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const script = readFileSync(path.join(dir, name, 'migration.sql'), 'utf8');
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') };
    });
}

async function lock(client: pg.Client, url: string): Promise<void> {
  await client.query(`SET lock_timeout = '${LOCK_WAIT_SECONDS}s'`);
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
  } catch (error) {
    throw new MigrationFailed('', `another process is migrating ${databaseName(url)} for over ${LOCK_WAIT_SECONDS} s`, {
      cause: error,
    });
  }
  await client.query('RESET lock_timeout');
}

async function readApplied(client: pg.ClientBase): Promise<AppliedRow[]> {
  const { rows } = await client.query<AppliedRow>(
    `SELECT migration_name, checksum, finished_at IS NOT NULL AS finished
       FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  return rows;
}

function isApplied(migration: Migration, rows: AppliedRow[]): boolean {
  const { name } = migration;
  const mine = rows.filter((row) => row.migration_name === name);
  const done = mine.find((row) => row.finished);
  if (done && done.checksum !== migration.checksum) {
    throw new MigrationFailed(name, `migration ${name} was edited after it was applied: put the file back as it was`);
  }
  if (!done && mine.length > 0) {
    throw new MigrationFailed(
      name,
      `migration ${name} failed earlier: repair the database, then run prisma migrate resolve --rolled-back ${name}`,
    );
  }
  return done !== undefined;
}

/**
 * The script and its row are one implicit transaction, so a process killed in the middle leaves nothing behind.
 * A script that cannot run in a transaction is recorded before and after instead, as Prisma does.
 */
async function apply(client: pg.Client, migration: Migration): Promise<void> {
  const { name, script } = migration;
  const { id, values, begin, finish } = recordsOf(migration);
  const atomic = isAtomic(script);
  try {
    if (atomic) {
      await client.query(`${begin}\n${script}\n;\n${finish}`);
    } else {
      await client.query(begin);
      await client.query(script);
      await client.query(finish);
    }
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    await recordFailure(client, { id, values, atomic, logs: (error as Error).message });
    throw new MigrationFailed(name, `migration ${name} failed: ${oneLine((error as Error).message)}`, { cause: error });
  }
}

const isAtomic = (script: string): boolean => !/\bCONCURRENTLY\b|\bVACUUM\b/i.test(script);

/** What is written before and after a script. */
function recordsOf({ name, checksum }: Migration) {
  const id = randomUUID();
  const values = [id, checksum, name].map((value) => pg.escapeLiteral(value)).join(', ');
  return {
    id,
    values,
    begin: `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES (${values});`,
    finish: `UPDATE _prisma_migrations SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = '${id}';`,
  };
}

/** A failure that undid itself is marked rolled back, so that the next start tries again. */
async function recordFailure(
  client: pg.Client,
  { id, values, atomic, logs }: { id: string; values: string; atomic: boolean; logs: string },
): Promise<void> {
  const statement = atomic
    ? `INSERT INTO _prisma_migrations (id, checksum, migration_name, rolled_back_at, logs)
       VALUES (${values}, clock_timestamp(), $1)`
    : `UPDATE _prisma_migrations SET logs = $1 WHERE id = '${id}'`;
  // The database may be gone; the first error is the one to tell.
  await client.query(statement, [logs]).catch(() => {});
}

const oneLine = (text: string) => text.replace(/(?<!\s)\s*\n\s*/g, ' ');

const TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY NOT NULL,
  checksum varchar(64) NOT NULL,
  finished_at timestamptz,
  migration_name varchar(255) NOT NULL,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(),
  applied_steps_count integer NOT NULL DEFAULT 0
)`;
