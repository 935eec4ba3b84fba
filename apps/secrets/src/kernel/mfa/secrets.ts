import { randomBytes } from 'node:crypto';
import { barcodeOf, type CodeScheme, otpauthUrl } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { Guessed } from '../attempts/attempts';
import { isId } from '../identity/checks';
import { mfaSecretCell } from '../identity/rows';
import type { Notice, Tx } from '../storage/types';
import { makeRecoveryCodes, recoveryCodeHash } from './recovery-codes';
import type { MfaMethod, MfaNeeds, NewSecret, SealedSecret } from './types';

/** The key under which wrong codes are counted. */
export const codesOf = (methodId: string, entityId: string): Guessed => ({
  kind: 'one-time code',
  subject: `${methodId}/${entityId}`,
});

/** An entity's secrets: one per method. */
export class MfaSecrets {
  constructor(private readonly needs: MfaNeeds) {}

  /** Creates and stores a secret; undefined if the entity has one already. Throws `malformed` for an unknown entity. */
  async generate(method: MfaMethod, entityId: string): Promise<NewSecret | undefined> {
    // Drawing the picture costs more than the check.
    if (await this.exists(method.id, entityId)) return undefined;
    const { secret, shown } = await this.prepare(method, entityId);
    const isStored = await this.needs.committer.transaction(
      (tx) => this.insert(tx, method.id, entityId, secret, shown.recoveryCodes, -1),
      [changed(entityId)],
    );
    return isStored ? shown : undefined;
  }

  /** Creates a secret without storing it. */
  async prepare(method: MfaMethod, entityId: string): Promise<{ secret: SealedSecret; shown: NewSecret }> {
    const { algorithm, digits, periodSeconds, skew } = method;
    const key = randomBytes(method.keySizeBytes).toString('base64');
    const secret = { key, algorithm, digits, periodSeconds, skew };
    const url = otpauthUrl(method.issuer, entityId, schemeOf(secret));
    const recoveryCodes = makeRecoveryCodes(method.recoveryCodes);
    return { secret, shown: { url, barcode: await barcodeOf(url, method.qrSizePixels), recoveryCodes } };
  }

  /**
   * Stores a secret inside an open transaction; false if the entity has one already. `lastCounter` is the newest used
   * period. Throws `malformed` for an unknown entity.
   */
  async insert(
    tx: Tx,
    methodId: string,
    entityId: string,
    secret: SealedSecret,
    recoveryCodes: readonly string[],
    lastCounter: number,
  ): Promise<boolean> {
    const { barrier, clock } = this.needs;
    const sealed = barrier.sealJson(secret, mfaSecretCell(methodId, entityId));
    const data = { methodId, entityId, lastCounter, createdAtMs: clock.now(), sealed };
    try {
      const { count } = await tx.prisma.mfaSecret.createMany({ data, skipDuplicates: true });
      if (count === 0) return false;
    } catch (error) {
      if ((error as { code?: string }).code === '23503') throw new Refusal('malformed', 'invalid entity ID');
      throw error;
    }
    const hashes = recoveryCodes.map((code) => recoveryCodeHash(barrier, methodId, code));
    await tx.prisma.mfaRecoveryCode.createMany({ data: hashes.map((hash) => ({ methodId, entityId, hash })) });
    return true;
  }

  /** Removes a secret; an absent one is not an error. */
  async destroy(methodId: string, entityId: string): Promise<void> {
    await this.needs.committer.transaction(
      (tx) => tx.prisma.mfaSecret.deleteMany({ where: { methodId, entityId } }),
      [changed(entityId)],
    );
    await this.unlock(methodId, entityId);
  }

  /** Ends a lock and forgets failed attempts; an absent secret is not an error. */
  async unlock(methodId: string, entityId: string): Promise<void> {
    await this.needs.attempts.forget(codesOf(methodId, entityId));
  }

  async exists(methodId: string, entityId: string): Promise<boolean> {
    if (!isId(methodId) || !isId(entityId)) return false;
    return (await this.find(methodId, entityId)) !== undefined;
  }

  /** The methods for which an entity has a secret, by id. */
  async methodIdsOf(entityId: string): Promise<string[]> {
    if (!isId(entityId)) return [];
    const rows = await this.needs.database.prisma.mfaSecret.findMany({
      where: { entityId },
      select: { methodId: true },
      orderBy: { methodId: 'asc' },
    });
    return rows.map(({ methodId }) => methodId);
  }

  /** An entity's secret, with the newest used period. */
  async find(
    methodId: string,
    entityId: string,
  ): Promise<{ readonly secret: SealedSecret; readonly lastCounter: number } | undefined> {
    const row = await this.needs.database.prisma.mfaSecret.findUnique({
      where: { methodId_entityId: { methodId, entityId } },
      select: { sealed: true, lastCounter: true },
    });
    if (!row) return undefined;
    const secret = this.needs.barrier.openJson<SealedSecret>(row.sealed, mfaSecretCell(methodId, entityId));
    return { secret, lastCounter: Number(row.lastCounter) };
  }
}

/** A secret in the form that the code functions need. */
export function schemeOf({ key, algorithm, digits, periodSeconds }: SealedSecret): CodeScheme {
  return { key: Buffer.from(key, 'base64'), algorithm, digits, periodSeconds };
}

const changed = (entityId: string): Notice => ({ topic: 'entity', key: entityId });
