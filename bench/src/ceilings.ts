import { ensureDatabase, type startEmbedded, withClient } from '@keystead/postgres';
import { runClients } from './child';
import type { Figures } from './figures';

type Server = Awaited<ReturnType<typeof startEmbedded>>;

/** The statements that a ceiling repeats: a read by key, or the transaction that creates a user. */
export type Statement = 'upsert' | 'select' | 'user';

/** Makes the table of 10,000 small rows that the ceilings are measured on, and returns its database's URL. */
export async function prepareCeilings(postgres: Server): Promise<string> {
  const url = postgres.url('ceilings');
  await ensureDatabase(url);
  await withClient(url, async (client) => {
    await client.query(`CREATE TABLE IF NOT EXISTS ceiling (key text PRIMARY KEY, value bytea NOT NULL)`);
    await client.query(`INSERT INTO ceiling SELECT 'key-' || n, decode(repeat('ab', 120), 'hex')
                        FROM generate_series(0, 9999) n ON CONFLICT DO NOTHING`);
    await client.query('VACUUM ANALYZE ceiling');
    await client.query('CREATE ROLE bench');
  });
  return url;
}

/** Runs a statement on as many connections as there are clients, from the cores that a server under test would have. */
export async function measureCeiling(
  url: string,
  statement: Statement,
  clients: number,
  seconds: number,
  cores: string | undefined,
): Promise<Figures> {
  return runClients('postgres-client.ts', [url, statement, String(clients), String(seconds)], cores);
}
