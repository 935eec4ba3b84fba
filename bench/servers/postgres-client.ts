import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { quantile } from '../src/figures';

const rows = 10_000;
const [url, kind, clients, seconds] = process.argv.slice(2) as [string, string, string, string];

const statements: Record<string, { name: string; text: string }> = {
  upsert: {
    name: 'upsert',
    text: 'INSERT INTO ceiling (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  },
  select: { name: 'select', text: 'SELECT value FROM ceiling WHERE key = $1' },
};

/** The speed of PostgreSQL itself: named statements on one connection per client, one row at a time. */
async function main() {
  const statement = statements[kind] as { name: string; text: string };
  const value = randomBytes(120);
  const connections = await Promise.all(Array.from({ length: Number(clients) }, () => connect(url)));
  const began = performance.now();
  const until = began + Number(seconds) * 1000;
  const times: number[] = [];
  const client = async (connection: pg.Client) => {
    // At least once, so that even the slowest machine has a figure.
    do {
      const key = `key-${Math.floor(Math.random() * rows)}`;
      const at = performance.now();
      await connection.query({ ...statement, values: kind === 'upsert' ? [key, value] : [key] });
      times.push(performance.now() - at);
    } while (performance.now() < until);
  };
  await Promise.all(connections.map(client));
  const elapsed = (performance.now() - began) / 1000;
  await Promise.all(connections.map((connection) => connection.end()));
  const sorted = Float64Array.from(times).sort();
  const figures = {
    requestsPerSecond: times.length / elapsed,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  };
  console.log(JSON.stringify(figures));
}

async function connect(connectionString: string): Promise<pg.Client> {
  const connection = new pg.Client({ connectionString });
  await connection.connect();
  return connection;
}

void main();
