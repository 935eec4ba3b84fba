import { gather } from '@keystead/postgres';
import type { Statement } from '../storage/database';
import type { StorageKernel } from '../storage/storage';
import type { Notice } from '../storage/types';

/** A new end for a token or a lease. The sealed part contains the end, too. */
export interface Prolonged {
  readonly hash: Buffer;
  readonly expiresAtMs: number;
  readonly sealed: Buffer;
}

// A renewal depends only on its own time, and changes only the end in the sealed value. So all simultaneous renewals
// are valid, and the last one is kept. The row must still exist, but may have changed.
const RENEW_TOKENS: Statement = {
  name: 'token-renew',
  text: `WITH held AS (
    SELECT hash FROM token WHERE hash = ANY($1::bytea[]) AND state = 0 AND expires_at_ms > $4
       AND (uses_left IS NULL OR uses_left > 0) ORDER BY hash FOR NO KEY UPDATE
  ) UPDATE token SET expires_at_ms = r.ends, due_at_ms = r.ends, sealed = r.sealed
      FROM held JOIN unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS r(hash, ends, sealed) ON r.hash = held.hash
     WHERE token.hash = held.hash RETURNING token.hash`,
};
const RENEW_LEASES: Statement = {
  name: 'lease-renew',
  text: `WITH held AS (
    SELECT hash FROM lease WHERE hash = ANY($1::bytea[]) AND state = 0 AND claimed_by IS NULL AND expires_at_ms > $4
     ORDER BY hash FOR NO KEY UPDATE
  ) UPDATE lease SET expires_at_ms = r.ends, due_at_ms = r.ends, renewed_at_ms = $4, sealed = r.sealed
      FROM held JOIN unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS r(hash, ends, sealed) ON r.hash = held.hash
     WHERE lease.hash = held.hash RETURNING lease.hash`,
};

/** Two batches run at a time, so that the database is busy while the response to one is in transit. */
const IN_FLIGHT = 2;

/** Writes a new end; false if the row no longer exists. Simultaneous renewals share a statement and a commit. */
export type Prolong = (renewed: Prolonged) => Promise<boolean>;

export const prolongTokens = (storage: StorageKernel): Prolong =>
  prolong(storage, RENEW_TOKENS, (hash) => [{ topic: 'token', key: hash.toString('hex') }]);

export const prolongLeases = (storage: StorageKernel): Prolong => prolong(storage, RENEW_LEASES, () => []);

function prolong(storage: StorageKernel, statement: Statement, noticesOf: (hash: Buffer) => Notice[]): Prolong {
  const write = gather<Prolonged, true>(
    async (all) => {
      // A statement can change each row only once, so it contains only the last renewal of each row.
      const rows = [...new Map(all.map((one) => [one.hash.toString('latin1'), one])).values()];
      const values = [
        rows.map(({ hash }) => hash),
        rows.map(({ expiresAtMs }) => expiresAtMs),
        rows.map(({ sealed }) => sealed),
        storage.clock.now(),
      ];
      const notices = rows.flatMap(({ hash }) => noticesOf(hash));
      const alive = await storage.committer.transaction(async (tx) => {
        const renewed = await tx.query<{ hash: Buffer }>(statement, values);
        return new Set(renewed.rows.map(({ hash }) => hash.toString('latin1')));
      }, notices);
      return new Map(all.filter(({ hash }) => alive.has(hash.toString('latin1'))).map((one) => [one, true as const]));
    },
    { inFlight: IN_FLIGHT },
  );
  return async (renewed) => (await write(renewed)) === true;
}
