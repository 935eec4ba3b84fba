import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { work } from './clients';

const rows = 10_000;
const [url, kind, clients, seconds] = process.argv.slice(2) as [string, string, string, string];
const value = randomBytes(120);
const key = () => `key-${Math.floor(Math.random() * rows)}`;

const upsert = {
  name: 'upsert',
  text: 'INSERT INTO ceiling (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
};
const select = { name: 'select', text: 'SELECT value FROM ceiling WHERE key = $1' };

/** The statements that a client repeats. */
const statements: Record<string, (client: pg.Client) => Promise<unknown>> = {
  upsert: (client) => client.query({ ...upsert, values: [key(), value] }),
  select: (client) => client.query({ ...select, values: [key()] }),
  async user(client) {
    const name = `bare-${randomBytes(10).toString('hex')}`;
    const end = new Date(Date.now() + 3_600_000).toISOString();
    await client.query('BEGIN');
    await client.query(
      `CREATE ROLE "${name}" LOGIN PASSWORD '${randomBytes(10).toString('hex')}' VALID UNTIL '${end}' IN ROLE bench`,
    );
    await client.query('COMMIT');
  },
};

/** The speed of PostgreSQL itself: the same statements again and again, on one connection per client. */
async function main() {
  const connections = await Promise.all(Array.from({ length: Number(clients) }, () => connect(url)));
  const figures = await work(
    connections.map((connection) => () => statements[kind]!(connection)),
    Number(seconds),
  );
  await Promise.all(connections.map((connection) => connection.end()));
  console.log(JSON.stringify(figures));
}

async function connect(connectionString: string): Promise<pg.Client> {
  const connection = new pg.Client({ connectionString });
  await connection.connect();
  return connection;
}

void main();
