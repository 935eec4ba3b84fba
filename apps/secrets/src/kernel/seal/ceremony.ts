import type { Refusal } from '@keystead/refusal';
import type { Prisma } from '../../generated/prisma/client';
import type { StorageKernel } from '../storage/storage';
import type { Tx } from '../storage/types';

/** The state of a ceremony, in which several people each enter a share. At most one of each kind is in progress. */
export type CeremonyKind = 'recovery' | 'barrier' | 'root';

type CeremonyRow = Pick<Prisma.RekeyGetPayload<object>, 'expiresAtMs' | 'sealed'>;

/**
 * The progress of a ceremony, sealed in the database, so that any node can continue and a restart loses nothing. It
 * ends when it is completed, cancelled or expired. Simultaneous steps run one after the other.
 */
export class Ceremony<S> {
  constructor(
    private readonly storage: StorageKernel,
    private readonly kind: CeremonyKind,
    private readonly lifetimeMs: number,
  ) {}

  async find(): Promise<S | undefined> {
    return this.open(await this.storage.database.prisma.rekey.findUnique({ where: { kind: this.kind } }));
  }

  /** Starts a ceremony; false if one is in progress. */
  async begin(state: S): Promise<boolean> {
    const now = this.storage.clock.now();
    const changed = await this.storage.database.prisma.$executeRaw`
      INSERT INTO rekey (kind, expires_at_ms, sealed) VALUES (${this.kind}, ${now + this.lifetimeMs}, ${this.seal(state)})
      ON CONFLICT (kind) DO UPDATE SET revision = 1, expires_at_ms = excluded.expires_at_ms, sealed = excluded.sealed
       WHERE rekey.expires_at_ms <= ${now}`;
    return changed === 1;
  }

  /** Starts a ceremony and replaces one that is in progress. Simultaneous calls run one after the other. */
  async restart(state: S): Promise<void> {
    const { kind } = this;
    const row = { revision: 1, expiresAtMs: this.storage.clock.now() + this.lifetimeMs, sealed: this.seal(state) };
    await this.storage.database.prisma.rekey.upsert({ where: { kind }, create: { kind, ...row }, update: row });
  }

  async cancel(): Promise<void> {
    await this.storage.database.prisma.rekey.deleteMany({ where: { kind: this.kind } });
  }

  /**
   * One step at a time: gets the state and returns the next one, or undefined when the ceremony is over. Writes of
   * `advance` are in the same transaction. A refusal from `refusalWithState` still stores its state.
   */
  async step<T>(advance: (state: S | undefined, tx: Tx) => Promise<{ state: S | undefined; result: T }>): Promise<T> {
    const outcome = await this.storage.committer.transaction(async (tx) => {
      await tx.prisma.$executeRaw`SELECT FROM rekey WHERE kind = ${this.kind} FOR UPDATE`;
      const row = await tx.prisma.rekey.findUnique({ where: { kind: this.kind } });
      try {
        const { state, result } = await advance(this.open(row), tx);
        await this.store(tx, state, row !== null);
        return { result };
      } catch (error) {
        if (!(error instanceof RefusedStep)) throw error;
        await this.store(tx, error.state as S, row !== null);
        return { refusal: error.refusal };
      }
    });
    if ('refusal' in outcome) throw outcome.refusal;
    return outcome.result;
  }

  /** A refusal that still changes the state: wrong shares are forgotten. */
  refusalWithState(state: S, refusal: Refusal): Error {
    return new RefusedStep(state, refusal);
  }

  private async store(tx: Tx, state: S | undefined, there: boolean): Promise<void> {
    const where = { kind: this.kind };
    if (state === undefined) await tx.prisma.rekey.deleteMany({ where });
    else if (there) {
      await tx.prisma.rekey.updateMany({ where, data: { revision: { increment: 1 }, sealed: this.seal(state) } });
    }
  }

  private open(row: CeremonyRow | null): S | undefined {
    if (!row || Number(row.expiresAtMs) <= this.storage.clock.now()) return undefined;
    return this.storage.barrier.openJson<S>(row.sealed, cell(this.kind));
  }

  private seal(state: S): Buffer<ArrayBuffer> {
    return this.storage.barrier.sealJson(state, cell(this.kind));
  }
}

const cell = (kind: CeremonyKind) => ({ table: 'rekey', row: kind, column: 'sealed' });

class RefusedStep extends Error {
  constructor(
    readonly state: unknown,
    readonly refusal: Refusal,
  ) {
    super(refusal.message);
  }
}
