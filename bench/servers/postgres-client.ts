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

/** What PostgreSQL itself gives: named statements on as many connections as there are clients, one row a time. */
async function main() {
  const statement = statements[kind] as { name: string; text: string };
  const value = randomBytes(120);
  const until = performance.now() + Number(seconds) * 1000;
  const began = performance.now();
  const times: number[] = [];
  const client = async () => {
    const connection = new pg.Client({ connectionString: url });
    await connection.connect();
    while (performance.now() < until) {
      const key = `key-${Math.floor(Math.random() * rows)}`;
      const at = performance.now();
      await connection.query({ ...statement, values: kind === 'upsert' ? [key, value] : [key] });
      times.push(performance.now() - at);
    }
    await connection.end();
  };
  await Promise.all(Array.from({ length: Number(clients) }, client));
  const sorted = Float64Array.from(times).sort();
  const elapsed = (performance.now() - began) / 1000;
  const figures = {
    requestsPerSecond: times.length / elapsed,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  };
  console.log(JSON.stringify(figures));
}

void main();
