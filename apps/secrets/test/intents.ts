import type { TestDatabase } from '@keystead/testing';
import pg from 'pg';

/** The current number of intents. The one in the metrics may be older: on a busy machine intents are counted rarely. */
export async function countIntents({ url }: TestDatabase): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return Number((await client.query('SELECT count(*) FROM intent')).rows[0].count);
  } finally {
    await client.end();
  }
}
