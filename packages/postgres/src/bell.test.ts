import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { emptyDatabase } from '../../testing/src/index';
import { Bell } from './bell';
import { DatabaseClock } from './database-clock';
import { DatabaseWatch } from './watch';

const long = 600_000;

describe('a bell', () => {
  it('wakes all waiters, and ends aborted ones', async () => {
    const bell = new Bell();
    const waiting = [bell.next(long), bell.next(long)];
    bell.ring();
    await Promise.all(waiting);
    const abort = new AbortController();
    const last = bell.next(long, abort.signal);
    abort.abort();
    await last;
    await bell.next(long, abort.signal);
    await bell.next(1);
  });

  it('is rung by a notice that any session of the database commits', async () => {
    const database = await emptyDatabase();
    const bell = new Bell();
    const watch = new DatabaseWatch({
      url: database.url,
      applicationName: 'test',
      clock: new DatabaseClock({ toleranceMs: 60_000 }),
      rings: { channel: 'word-of "it"', bell },
    });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await watch.start();
      let rings = 0;
      const ring = bell.next(long).then(() => rings++);
      await client.query('BEGIN');
      await client.query("SELECT pg_notify('word-of \"it\"', '')");
      await client.query('SELECT 1');
      expect(rings).toBe(0);
      await client.query('COMMIT');
      await ring;
      expect(rings).toBe(1);
    } finally {
      await client.end();
      await watch.stop();
      await database.drop();
    }
  });
});
