import type { TestDatabase } from '../../../packages/testing/src/fresh-database';
import type { Wrapper } from './loader';

type Make = (service: string) => Promise<TestDatabase>;
interface Client {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, string>[] }>;
  connect(): Promise<void>;
  end(): Promise<void>;
}

/** A database that can be restored to a snapshot. */
export interface Restorable {
  restore(): Promise<void>;
}

/** The rows of every table, as JSON. */
type Contents = ReadonlyMap<string, string>;

const tables = `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'public'`;

async function contentsOf(client: Client): Promise<Contents> {
  const names = (await client.query(tables)).rows.map(({ name }) => name!);
  const all = names.map((name) => `(SELECT coalesce(json_agg(t), '[]')::text FROM ${name} t)`).join(', ');
  const { rows } = await client.query(`SELECT ARRAY[${all}] AS contents`);
  const texts = rows[0]!.contents as unknown as string[];
  return new Map(names.map((name, index) => [name, texts[index]!]));
}

/** Waits for locks only briefly: a transaction that a test left open may hold one forever. */
const impatient = "SET lock_timeout = '20s'; SET statement_timeout = '40s';";

async function restore(client: Client, contents: Contents): Promise<void> {
  const statements = [...contents].map(([name, rows]) =>
    rows === '[]'
      ? `DELETE FROM ${name};`
      : `DELETE FROM ${name};
         INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, '${rows.replaceAll("'", "''")}');`,
  );
  // Triggers and foreign keys are off, so the order does not matter.
  await client.query(`${impatient} SET session_replication_role = replica; ${statements.join(' ')}`);
}

interface InUse {
  readonly client: Client;
  readonly url: string;
}
const inUse = new Set<InUse>();

/**
 * Records the databases created from now on. The returned function takes snapshots of them; `restore` restores those.
 */
export function restorable(): (wanted: boolean) => Promise<Restorable[]> {
  const before = new Set(inUse);
  return async (wanted) => {
    if (!wanted) return [];
    const added = [...inUse].filter((one) => !before.has(one));
    return Promise.all(
      added.map(async ({ client }) => {
        const contents = await contentsOf(client);
        return { restore: () => restore(client, contents) };
      }),
    );
  };
}

/** Reuses the databases of finished tests after emptying them: creating and dropping one costs more than most tests. */
export const poolDatabases: Wrapper = (exports) => {
  const { Client } = require('pg') as { Client: new (options: object) => Client };
  const make = exports.freshDatabase as Make;
  const asSuperuser = exports.asSuperuser as (url: string) => Promise<string>;
  const idle = new Map<string, TestDatabase[]>();
  const initial = new Map<string, Contents>();
  const pooled: Make = async (service) => {
    const free = idle.get(service) ?? [];
    idle.set(service, free);
    const database = free.pop() ?? (await make(service));
    const client = new Client({ connectionString: await asSuperuser(database.url) });
    await client.connect();
    const used = { client, url: database.url };
    inUse.add(used);
    if (!initial.has(service)) initial.set(service, await contentsOf(client));
    return {
      ...database,
      async drop() {
        inUse.delete(used);
        const others = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                         WHERE datname = current_database() AND pid <> pg_backend_pid()`;
        try {
          await client.query(others);
          await restore(client, initial.get(service)!);
          free.push(database);
        } catch {
          // The database is not reused; it is removed with the server.
        } finally {
          await client.end();
        }
      },
    };
  };
  return { ...exports, freshDatabase: pooled };
};
