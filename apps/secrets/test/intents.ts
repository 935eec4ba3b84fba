import type { TestDatabase } from '@keystead/testing';
import pg from 'pg';

/** How many intents there are now. What the metrics say may be older: on a busy machine they are counted seldom. */
export async function countIntents({ url }: TestDatabase): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return Number((await client.query('SELECT count(*) FROM intent')).rows[0].count);
  } finally {
    await client.end();
  }
}
