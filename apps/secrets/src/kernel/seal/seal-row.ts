import type { Database, Statement } from '../storage/database';
import type { Tx } from '../storage/types';

/** `auto`: opened by a seal key from file or environment. `shamir`: opened by shares given at every start. */
export type SealType = 'auto' | 'shamir';

/** How the installation is sealed; the one row of its table. */
export interface SealRecord {
  readonly type: SealType;
  readonly keyring: Buffer;
  readonly shares: number;
  readonly threshold: number;
  /** Recognises the recovery key; auto seals only. */
  readonly verifier: Buffer | undefined;
  readonly sealed: boolean;
  readonly generation: number;
  readonly initialisedAtMs: number;
  readonly keyInstalledAtMs: number;
}

interface Row {
  type: SealType;
  keyring: Buffer;
  shares: number;
  threshold: number;
  verifier: Buffer | null;
  sealed: boolean;
  generation: number;
  initialised_at_ms: string;
  key_installed_at_ms: string;
}

const FIND: Statement = {
  name: 'seal-find',
  text: `SELECT type, keyring, shares, threshold, verifier, sealed, generation, initialised_at_ms, key_installed_at_ms
           FROM seal WHERE id = 1`,
};
const LOCK: Statement = { name: 'seal-lock', text: `${FIND.text} FOR UPDATE` };
const INSERT: Statement = {
  name: 'seal-insert',
  text: `INSERT INTO seal (type, keyring, shares, threshold, verifier, initialised_at_ms, key_installed_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (id) DO NOTHING RETURNING id`,
};
const FLAG: Statement = { name: 'seal-flag', text: 'UPDATE seal SET sealed = $1 WHERE id = 1' };
const REWRAP: Statement = {
  name: 'seal-rewrap',
  text: 'UPDATE seal SET keyring = $1 WHERE id = 1 AND keyring = $2',
};
const REPLACE: Statement = {
  name: 'seal-replace',
  text: 'UPDATE seal SET keyring = $1, generation = generation + 1, key_installed_at_ms = $2 WHERE id = 1',
};
const RECOVERY: Statement = {
  name: 'seal-recovery',
  text: 'UPDATE seal SET verifier = $1, shares = $2, threshold = $3 WHERE id = 1',
};
const SHARES: Statement = {
  name: 'seal-shares',
  text: 'UPDATE seal SET keyring = $1, shares = $2, threshold = $3, generation = generation + 1 WHERE id = 1',
};

/** The seal record; undefined before the service is initialised. `lock` holds it until the transaction ends. */
export async function findSeal(from: Pick<Tx, 'query'> | Database, lock = false): Promise<SealRecord | undefined> {
  const { rows } = await from.query<Row>(lock ? LOCK : FIND);
  const row = rows[0];
  if (!row) return undefined;
  return {
    type: row.type,
    keyring: row.keyring,
    shares: row.shares,
    threshold: row.threshold,
    verifier: row.verifier ?? undefined,
    sealed: row.sealed,
    generation: row.generation,
    initialisedAtMs: Number(row.initialised_at_ms),
    keyInstalledAtMs: Number(row.key_installed_at_ms),
  };
}

/** Writes the record of a new installation; false when there is one already. */
export async function insertSeal(
  tx: Tx,
  record: Pick<SealRecord, 'type' | 'keyring' | 'shares' | 'threshold' | 'verifier' | 'initialisedAtMs'>,
): Promise<boolean> {
  const { rows } = await tx.query(INSERT, [
    record.type,
    record.keyring,
    record.shares,
    record.threshold,
    record.verifier ?? null,
    record.initialisedAtMs,
  ]);
  return rows.length === 1;
}

/** Seals or opens for all nodes. */
export const flagSeal = (tx: Pick<Tx, 'query'> | Database, sealed: boolean) => tx.query(FLAG, [sealed]);

/** Stores the same keys wrapped anew, unless somebody stored others meanwhile. */
export const rewrapSeal = (database: Database, wrapped: Buffer, before: Buffer) =>
  database.query(REWRAP, [wrapped, before]);

/** Stores other keys; all nodes will read them. */
export const replaceKeyring = (tx: Tx, wrapped: Buffer, nowMs: number) => tx.query(REPLACE, [wrapped, nowMs]);

/** Takes another recovery key into force. */
export const replaceRecovery = (tx: Tx, verifier: Buffer, shares: number, threshold: number) =>
  tx.query(RECOVERY, [verifier, shares, threshold]);

/** Takes other unseal shares into force: the same keys, wrapped under another key. */
export const replaceShares = (tx: Tx, wrapped: Buffer, shares: number, threshold: number) =>
  tx.query(SHARES, [wrapped, shares, threshold]);
