import type pg from 'pg';
import { addressOf, withClient } from './database';

/** Thrown if a pooler in transaction mode is in front of the server. */
class PooledByTransaction extends Error {
  override readonly name = 'PooledByTransaction';
}

/** The number of checks. One check is not enough, because another client may take the server connection in between. */
const LOOKS = 3;

const pidOf = async (client: pg.ClientBase): Promise<number> =>
  (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;

/**
 * True if a pooler assigns server connections per transaction, like PgBouncer in transaction mode: two connections
 * share a server connection, or one connection's server connection changes. Throws `DatabaseUnreachable`.
 */
export function isPooledByTransaction(url: string): Promise<boolean> {
  return withClient(url, async (client) => {
    const first = await pidOf(client);
    // A pooler reports its own process id, for cancel requests.
    if ((client as unknown as { processID: number }).processID === first) return false;
    return withClient(url, async (other) => {
      for (let look = 0; look < LOOKS; look++) {
        await other.query('BEGIN');
        const second = await pidOf(other);
        const again = await pidOf(client);
        await other.query('COMMIT');
        if (first === second || first !== again) return true;
      }
      return false;
    });
  });
}

/** Throws `PooledByTransaction`, which says what to do, if locks, notices and prepared statements would be lost. */
export async function refusePoolOfTransactions(url: string): Promise<void> {
  if (!(await isPooledByTransaction(url))) return;
  throw new PooledByTransaction(
    `a pool in transaction mode (PgBouncer) is in front of ${addressOf(url)}: connect to the server itself, or to a pool in session mode`,
  );
}
