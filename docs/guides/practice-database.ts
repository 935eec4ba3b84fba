import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../../packages/postgres/src/index';

/** A PostgreSQL for the guide of the `database` engine: its manager, an existing user, a table. */
export interface PracticeDatabase {
  /** Host, port and database. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Starts one on a free port of the loopback, with data that need not survive. */
export async function startPracticeDatabase(): Promise<PracticeDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'keystead-practice-'));
  const settings = { fsync: 'off', full_page_writes: 'off' };
  const server = await startEmbedded({ dataDir: join(folder, 'postgres'), settings });
  const client = new pg.Client({ connectionString: server.url('postgres') });
  await client.connect();
  await client.query(`
    CREATE ROLE keystead_manager LOGIN CREATEROLE PASSWORD 'first';
    CREATE TABLE orders (id int);
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO keystead_manager WITH GRANT OPTION;
    CREATE ROLE reports LOGIN;
    GRANT reports TO keystead_manager WITH ADMIN OPTION`);
  await client.end();
  return {
    address: `127.0.0.1:${server.port}/postgres?sslmode=disable`,
    async stop() {
      await server.stop({ immediate: true });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
