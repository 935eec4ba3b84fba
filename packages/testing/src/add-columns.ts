import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';

/** Adds a column to every table, as a migration of a later version may do. */
export async function addColumns(client: Client): Promise<void> {
  const { rows } = await client.query<{ table: string }>(
    "SELECT format('%I', table_name) AS table FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
  );
  const name = `later_${randomBytes(4).toString('hex')}`;
  for (const { table } of rows) await client.query(`ALTER TABLE ${table} ADD COLUMN ${name} text DEFAULT 'x'`);
}
