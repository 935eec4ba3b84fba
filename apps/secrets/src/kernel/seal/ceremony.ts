import type { Refusal } from '@keystead/refusal';
import type { Statement } from '../storage/database';
import type { StorageKernel } from '../storage/storage';
import type { Tx } from '../storage/types';

/** Something several people do together, a share each; at most one of a kind is under way. */
export type CeremonyKind = 'recovery' | 'barrier' | 'root';

interface Row {
  revision: number;
  expires_at_ms: string;
  sealed: Buffer;
}

const FIND: Statement = {
  name: 'rekey-find',
  text: 'SELECT revision, expires_at_ms, sealed FROM rekey WHERE kind = $1',
};
const LOCK: Statement = { name: 'rekey-lock', text: `${FIND.text} FOR UPDATE` };
const INSERT: Statement = {
  name: 'rekey-insert',
  text: `INSERT INTO rekey (kind, expires_at_ms, sealed) VALUES ($1, $2, $3)
         ON CONFLICT (kind) DO UPDATE SET revision = 1, expires_at_ms = excluded.expires_at_ms, sealed = excluded.sealed
          WHERE rekey.expires_at_ms <= $4 RETURNING kind`,
};
const REPLACE: Statement = {
  name: 'rekey-replace',
  text: `INSERT INTO rekey (kind, expires_at_ms, sealed) VALUES ($1, $2, $3)
         ON CONFLICT (kind) DO UPDATE SET revision = 1, expires_at_ms = excluded.expires_at_ms, sealed = excluded.sealed`,
};
const UPDATE: Statement = {
  name: 'rekey-update',
  text: 'UPDATE rekey SET revision = revision + 1, sealed = $2 WHERE kind = $1',
};
const DELETE: Statement = { name: 'rekey-delete', text: 'DELETE FROM rekey WHERE kind = $1' };

/**
 * The progress of a ceremony: in the database, sealed, so that any node goes on and a restart forgets nothing. It ends
 * with its completion, when it is cancelled, or after its time. Two steps at once come one after the other.
 */
export class Ceremony<S> {
  constructor(
    private readonly storage: StorageKernel,
    private readonly kind: CeremonyKind,
    private readonly lifetimeMs: number,
  ) {}

  async find(): Promise<S | undefined> {
    const { rows } = await this.storage.database.query<Row>(FIND, [this.kind]);
    return this.open(rows[0]);
  }

  /** False when one is under way. */
  async begin(state: S): Promise<boolean> {
    const now = this.storage.clock.now();
    const { rows } = await this.storage.database.query(INSERT, [
      this.kind,
      now + this.lifetimeMs,
      this.seal(state),
      now,
    ]);
    return rows.length === 1;
  }

  /** Begins, whatever is under way; of two at once, one after the other. */
  async beginAnew(state: S): Promise<void> {
    const values = [this.kind, this.storage.clock.now() + this.lifetimeMs, this.seal(state)];
    await this.storage.database.query(REPLACE, values);
  }

  async cancel(): Promise<void> {
    await this.storage.database.query(DELETE, [this.kind]);
  }

  /**
   * One step, alone: gets the state and returns the next one, or undefined when the ceremony is over. What `advance`
   * writes is written with it. A refusal thrown with `keeping` still stores the state that goes with it.
   */
  async step<T>(advance: (state: S | undefined, tx: Tx) => Promise<{ state: S | undefined; result: T }>): Promise<T> {
    const outcome = await this.storage.committer.transaction(async (tx) => {
      const { rows } = await tx.query<Row>(LOCK, [this.kind]);
      try {
        const { state, result } = await advance(this.open(rows[0]), tx);
        await this.store(tx, state, rows.length > 0);
        return { result };
      } catch (error) {
        if (!(error instanceof Kept)) throw error;
        await this.store(tx, error.state as S, rows.length > 0);
        return { refusal: error.refusal };
      }
    });
    if ('refusal' in outcome) throw outcome.refusal;
    return outcome.result;
  }

  /** A refusal that changes the state all the same: wrong shares are forgotten. */
  keeping(state: S, refusal: Refusal): Error {
    return new Kept(state, refusal);
  }

  private async store(tx: Tx, state: S | undefined, there: boolean): Promise<void> {
    if (state === undefined) await tx.query(DELETE, [this.kind]);
    else if (there) await tx.query(UPDATE, [this.kind, this.seal(state)]);
  }

  private open(row: Row | undefined): S | undefined {
    if (!row || Number(row.expires_at_ms) <= this.storage.clock.now()) return undefined;
    return this.storage.barrier.openJson<S>(row.sealed, cell(this.kind));
  }

  private seal(state: S): Buffer {
    return this.storage.barrier.sealJson(state, cell(this.kind));
  }
}

const cell = (kind: CeremonyKind) => ({ table: 'rekey', row: kind, column: 'sealed' });

class Kept extends Error {
  constructor(
    readonly state: unknown,
    readonly refusal: Refusal,
  ) {
    super(refusal.message);
  }
}
