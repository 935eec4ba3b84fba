import pg from 'pg';

const CONNECT_MS = 10_000;
const UNKNOWN_DATABASE = '3D000';
const DUPLICATE_DATABASE = '42P04';
const UNIQUE_VIOLATION = '23505';

/** Thrown when a server cannot be reached or refuses us; the message is one line without the password. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable';
}

/**
 * Creates the database of a connection string if it does not exist. The role needs `CREATEDB` for this. Returns whether
 * it created the database. Throws `DatabaseUnreachable`.
 */
export async function ensureDatabase(url: string): Promise<boolean> {
  const database = databaseName(url);
  try {
    await withClient(url, async () => {});
    return false;
  } catch (error) {
    if (codeOf((error as Error).cause) !== UNKNOWN_DATABASE) throw error;
  }
  return withClient(onDatabase(url, 'postgres'), async (client) => {
    try {
      await client.query(`CREATE DATABASE ${pg.escapeIdentifier(database)} TEMPLATE template0 ENCODING 'UTF8'`);
      return true;
    } catch (error) {
      // A concurrent caller has created it first.
      if (codeOf(error) === DUPLICATE_DATABASE || codeOf(error) === UNIQUE_VIOLATION) return false;
      throw new DatabaseUnreachable(
        `cannot create database ${database} at ${addressOf(url)}: ${(error as Error).message}`,
        {
          cause: error,
        },
      );
    }
  });
}

/** The version number of the server of a connection string, for example 180004. Throws `DatabaseUnreachable`. */
export async function serverVersion(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num');
    return Number(rows[0]!.server_version_num);
  });
}

/** Runs `use` with one connection and closes it. Throws `DatabaseUnreachable` if it cannot connect. */
export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'keystead set-up',
  });
  // If the server goes away between two statements, the next one fails; without a listener the error would end the
  // process.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    client.end().catch(() => {});
    throw new DatabaseUnreachable(`cannot reach PostgreSQL at ${addressOf(url)}: ${reasonOf(error)}`, { cause: error });
  }
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** The same connection string with the name of another database. */
export function onDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${encodeURIComponent(database)}`;
  return changed.href;
}

/** The name of the database in a connection string. */
export function databaseName(url: string): string {
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  if (name === '') throw new Error(`the connection string for ${addressOf(url)} names no database`);
  return name;
}

/** Host and port (or socket folder) and database of a connection string: the parts that may be shown and logged. */
export function addressOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const socketFolder = searchParams.get('host');
  if (socketFolder?.startsWith('/')) return `${socketFolder}${pathname}`;
  return `${hostname || 'localhost'}:${port || '5432'}${pathname}`;
}

function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'no reason given';
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | undefined)?.code;
}
