import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { databaseName, withClient } from './database';

/** The advisory lock that Prisma's own commands take, so that they and this runner never work at the same time. */
const LOCK = 72707369;
const LOCK_WAIT_SECONDS = 60;
const LOCK_RETRY_MS = 100;
/**
 * How long a script may wait for a lock. Later requests queue behind the script, so it gives up after this time and
 * tries again.
 */
const TABLE_WAIT_MS = 2000;
const TABLE_RETRIES = 20;
const LOCK_NOT_AVAILABLE = '55P03';

/** Thrown when a migration cannot be applied. The one-line message contains its name and says what to do. */
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

/** Thrown when a database has migrations of a newer version. */
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
  /** The folder that contains one folder per migration. */
  dir: string;
  /** Accept a database that a newer version has migrated. */
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
 * Applies the migrations that a database lacks, in order, and records them in Prisma's own table, so that the official
 * commands and this runner agree. Only one process applies them at a time. The others wait, and then find nothing left
 * to apply. `unknown` are migrations of a newer version. Without `allowNewer` they are refused before anything is
 * changed. Throws `MigrationFailed`, `SchemaIsNewer` and `DatabaseUnreachable`.
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
 * Applies the outstanding migrations of a folder in the client's current transaction. The caller has exclusive access
 * to its tables. Throws `MigrationFailed`.
 */
export async function applyMigrationsWithin(
  client: pg.ClientBase,
  dir: string,
  filter: (name: string) => boolean = () => true,
): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  await client.query(TABLE);
  const rows = await readApplied(client);
  for (const migration of readMigrations(dir)) {
    const { name, script } = migration;
    if (!filter(name) || isApplied(migration, rows)) continue;
    const { begin, finish } = recordsOf(migration);
    try {
      await client.query(`${begin}\n${script.replace(OUTSIDE_TRANSACTION, '')}\n;\n${finish}`);
    } catch (error) {
      throw new MigrationFailed(name, `migration ${name} failed: ${oneLine((error as Error).message)}`, {
        cause: error,
      });
    }
  }
}

/**
 * Checks that a database has exactly the migrations of this version, for callers that must not change it. With
 * `allowNewer`, it may also have migrations of a newer version, which are returned. Throws `MigrationFailed`,
 * `SchemaIsNewer` and `DatabaseUnreachable`.
 */
export async function requireMigrated(options: MigrationOptions): Promise<string[]> {
  const migrations = readMigrations(options.dir);
  return withClient(options.url, async (client) => {
    const rows = (await isThere(client)) ? await readApplied(client) : [];
    const unknown = unknownOf(rows, migrations, options);
    const missing = migrations.find((migration) => !isApplied(migration, rows));
    if (!missing) return unknown;
    const { name } = missing;
    throw new MigrationFailed(name, `database ${databaseName(options.url)} lacks migration ${name}: run migrate first`);
  });
}

/** The recorded migrations that only a newer version knows. */
function unknownOf(rows: readonly AppliedRow[], migrations: readonly Migration[], options: MigrationOptions): string[] {
  const ownNames = new Set(migrations.map((migration) => migration.name));
  const unknown = rows.map((row) => row.migration_name).filter((name) => !ownNames.has(name));
  if (unknown.length > 0 && !options.allowNewer) throw new SchemaIsNewer(databaseName(options.url), unknown);
  return unknown;
}

async function isThere(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query("SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there");
  return rows[0].there;
}

/** The migrations of a folder that a database lacks. Changes nothing. */
export async function pendingMigrations({ url, dir }: MigrationOptions): Promise<string[]> {
  const names = readMigrations(dir).map((migration) => migration.name);
  return withClient(url, async (client) => {
    if (!(await isThere(client))) return names;
    const applied = new Set((await readApplied(client)).filter((row) => row.finished).map((row) => row.migration_name));
    return names.filter((name) => !applied.has(name));
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
  const giveUpAt = Date.now() + LOCK_WAIT_SECONDS * 1000;
  // Polled, because an index that is built concurrently waits for every running statement, even for a statement that
  // waits for this lock.
  for (;;) {
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS mine', [LOCK]);
    if (rows[0].mine) return;
    if (Date.now() > giveUpAt) {
      throw new MigrationFailed(
        '',
        `another process is migrating ${databaseName(url)} for over ${LOCK_WAIT_SECONDS} s`,
      );
    }
    await sleep(LOCK_RETRY_MS);
  }
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
  const attempts = rows.filter((row) => row.migration_name === name);
  const finished = attempts.find((row) => row.finished);
  if (finished && finished.checksum !== migration.checksum) {
    throw new MigrationFailed(name, `migration ${name} was edited after it was applied: put the file back as it was`);
  }
  if (!finished && attempts.length > 0 && runsInTransaction(migration.script)) {
    throw new MigrationFailed(
      name,
      `migration ${name} failed earlier: repair the database, then run prisma migrate resolve --rolled-back ${name}`,
    );
  }
  return finished !== undefined;
}

/**
 * Applies a migration. The script and its row are one implicit transaction, so a process that is killed in the middle
 * leaves nothing behind. A script that cannot run in a transaction is a single statement that can be repeated: an
 * unfinished index is dropped first.
 */
async function apply(client: pg.Client, migration: Migration): Promise<void> {
  const { name, script } = migration;
  const { values, begin, finish } = recordsOf(migration);
  try {
    if (runsInTransaction(script)) await patiently(client, `${begin}\n${script}\n;\n${finish}`);
    else {
      const index = BUILT.exec(script)?.[1];
      if (index) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${pg.escapeIdentifier(index)}`);
      await client.query(script);
      await client.query(`${begin}\n${finish}`);
    }
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    await recordFailure(client, values, (error as Error).message);
    throw new MigrationFailed(name, `migration ${name} failed: ${oneLine((error as Error).message)}`, { cause: error });
  }
}

/** Runs a script that locks tables while others use them. */
async function patiently(client: pg.Client, script: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await client.query(`SET lock_timeout = ${TABLE_WAIT_MS}`);
      await client.query(script);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE || tries === TABLE_RETRIES) throw error;
      await client.query('ROLLBACK');
      await sleep(LOCK_RETRY_MS);
    } finally {
      await client.query('RESET lock_timeout').catch(() => {});
    }
  }
}

/** Matches a statement that cannot run in a transaction. */
const OUTSIDE_TRANSACTION = /\bCONCURRENTLY\b|^[ \t]*COMMIT;/gim;
const BUILT = /\bCREATE\s+(?:UNIQUE\s+)?INDEX\s+CONCURRENTLY\s+"?(\w+)/i;

/** True for a script that is applied either completely or not at all. */
export const runsInTransaction = (script: string): boolean => script.search(OUTSIDE_TRANSACTION) < 0;

/** The statements before and after a script. */
function recordsOf({ name, checksum }: Migration) {
  const id = randomUUID();
  const values = [id, checksum, name].map((value) => pg.escapeLiteral(value)).join(', ');
  return {
    values,
    begin: `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES (${values});`,
    finish: `UPDATE _prisma_migrations SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = '${id}';`,
  };
}

/** Records a failed migration as rolled back. The next start then tries it again. */
async function recordFailure(client: pg.Client, values: string, logs: string): Promise<void> {
  // The database may be unavailable. Only the first error is reported.
  await client
    .query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, rolled_back_at, logs)
       VALUES (${values}, clock_timestamp(), $1)`,
      [logs],
    )
    .catch(() => {});
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
