import { createHmac } from 'node:crypto';
import { onDatabase, withClient } from './database';
import type { EmbeddedServer } from './embedded';

/**
 * Creates a service's database on an embedded server if it does not exist, and returns its connection string. Its owner
 * is a role with the same name, which cannot connect to other databases.
 */
export async function ensureOwnDatabase(embedded: EmbeddedServer, name: 'secrets' | 'workspaces'): Promise<string> {
  const admin = embedded.url('postgres');
  const password = createHmac('sha256', new URL(admin).password).update(`role ${name}`).digest('hex');
  await withClient(admin, async (client) => {
    const { rows } = await client.query(
      `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS role,
              EXISTS (SELECT FROM pg_database WHERE datname = $1) AS database`,
      [name],
    );
    if (!rows[0].role) await client.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
    if (!rows[0].database) await client.query(`CREATE DATABASE ${name} OWNER ${name} TEMPLATE template0`);
    await client.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`);
  });
  const url = new URL(onDatabase(admin, name));
  url.username = name;
  url.password = password;
  return url.href;
}
