import { randomBytes } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { isId } from '../identity/checks';
import { mfaSecretCell } from '../identity/rows';
import type { Notice, Tx } from '../storage/types';
import { type CodeScheme, isCode, matchCounter } from './one-time-code';
import { isRecoveryCode, makeRecoveryCodes, recoveryCodeHash } from './recovery-codes';
import { barcodeOf, otpauthUrl } from './secret-image';
import type { Method, MfaNeeds, NewSecret, SealedSecret } from './types';

/** Longest lock after too many attempts. */
const maxLockSeconds = 3_600;

/** What came of an attempt. The reasons are the texts that clients know. */
export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: string };

const generic: Verdict = { ok: false, reason: 'MFA credentials not supplied or incorrect' };

/**
 * Judges and counts one attempt in one statement, so that no two attempts on any node see the same count: a code whose
 * period is not newer than the last one used is refused without counting; during a lock nothing is looked at; one
 * attempt too many begins a lock, each twice as long as the last; a right code ends all that.
 */
const judge = {
  name: 'mfa-judge',
  text: `WITH before AS (
      SELECT method_id, entity_id, last_counter, failures, lockouts, locked_until_ms,
             $3::bigint IS NOT NULL AND $3 <= last_counter AS used,
             locked_until_ms > $4::bigint AS locked,
             failures + 1 > $5::int AS over
        FROM mfa_secret WHERE method_id = $1 AND entity_id = $2 FOR UPDATE
    ), judged AS (
      SELECT *, CASE WHEN used THEN 'used' WHEN locked THEN 'locked' WHEN over THEN 'over'
                     WHEN $3::bigint IS NOT NULL OR $7 THEN 'right' ELSE 'wrong' END AS verdict
        FROM before
    )
    UPDATE mfa_secret s SET
      last_counter = CASE WHEN j.verdict = 'right' AND $3::bigint IS NOT NULL THEN $3 ELSE s.last_counter END,
      failures = CASE j.verdict WHEN 'right' THEN 0 WHEN 'over' THEN 0 WHEN 'wrong' THEN s.failures + 1 ELSE s.failures END,
      lockouts = CASE j.verdict WHEN 'right' THEN 0 WHEN 'over' THEN s.lockouts + 1 ELSE s.lockouts END,
      locked_until_ms = CASE j.verdict WHEN 'right' THEN 0
        WHEN 'over' THEN $4 + 1000 * least($6::bigint * (1::bigint << least(s.lockouts, 20)), ${maxLockSeconds})
        ELSE s.locked_until_ms END
    FROM judged j WHERE s.method_id = j.method_id AND s.entity_id = j.entity_id
    RETURNING j.verdict, s.locked_until_ms`,
};

interface SecretRow {
  sealed: Buffer;
}

/** An entity's secrets: one per method. */
export class MfaSecrets {
  constructor(private readonly needs: MfaNeeds) {}

  /** Makes and stores a secret; undefined where the entity has one already. Throws `malformed` for an unknown entity. */
  async generate(method: Method, entityId: string): Promise<NewSecret | undefined> {
    const { secret, shown } = await this.prepare(method, entityId);
    return (await this.store(method.id, entityId, secret, shown.recoveryCodes, -1)) ? shown : undefined;
  }

  /** Makes a secret without storing it. */
  async prepare(method: Method, entityId: string): Promise<{ secret: SealedSecret; shown: NewSecret }> {
    const { algorithm, digits, periodSeconds, skew } = method;
    const key = randomBytes(method.keySizeBytes).toString('base64');
    const secret = { key, algorithm, digits, periodSeconds, skew };
    const url = otpauthUrl(method, entityId, secret);
    const recoveryCodes = makeRecoveryCodes(method.recoveryCodes);
    return { secret, shown: { url, barcode: await barcodeOf(url, method.qrSizePixels), recoveryCodes } };
  }

  /** Stores a secret; false where the entity has one already. `lastCounter` is the newest period that is used up. */
  async store(
    methodId: string,
    entityId: string,
    secret: SealedSecret,
    recoveryCodes: readonly string[],
    lastCounter: number,
  ): Promise<boolean> {
    const { barrier, clock, committer } = this.needs;
    try {
      return await committer.transaction(
        async (tx) => {
          const inserted = await tx.query(
            `INSERT INTO mfa_secret (method_id, entity_id, last_counter, created_at_ms, sealed) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING`,
            [methodId, entityId, lastCounter, clock.now(), barrier.sealJson(secret, mfaSecretCell(methodId, entityId))],
          );
          if (inserted.rowCount === 0) return false;
          const hashes = recoveryCodes.map((code) => recoveryCodeHash(barrier, methodId, code));
          await tx.query(
            'INSERT INTO mfa_recovery_code (method_id, entity_id, hash) SELECT $1, $2, unnest($3::bytea[])',
            [methodId, entityId, hashes],
          );
          return true;
        },
        [changed(entityId)],
      );
    } catch (error) {
      if ((error as { code?: string }).code === '23503') throw new Refusal('malformed', 'invalid entity ID');
      throw error;
    }
  }

  /** Removes a secret; an absent one is no error. */
  async destroy(methodId: string, entityId: string): Promise<void> {
    await this.needs.committer.transaction(
      (tx) => tx.query('DELETE FROM mfa_secret WHERE method_id = $1 AND entity_id = $2', [methodId, entityId]),
      [changed(entityId)],
    );
  }

  /** Ends a lock and forgets failed attempts; an absent secret is no error. */
  async unlock(methodId: string, entityId: string): Promise<void> {
    await this.needs.database.query(
      'UPDATE mfa_secret SET failures = 0, lockouts = 0, locked_until_ms = 0 WHERE method_id = $1 AND entity_id = $2',
      [methodId, entityId],
    );
  }

  async exists(methodId: string, entityId: string): Promise<boolean> {
    if (!isId(methodId) || !isId(entityId)) return false;
    return (await this.find(methodId, entityId)) !== undefined;
  }

  /** Judges a passcode: a code of the authenticator, or a recovery code where the method has them. Counts the attempt. */
  async validate(method: Method, entityId: string, passcode: string): Promise<Verdict> {
    // The form is judged before anything is looked up, and by the method: what cannot be a code costs no attempt.
    const recovery = method.recoveryCodes > 0 && isRecoveryCode(passcode);
    if (!recovery && !isCode(passcode, 6) && !isCode(passcode, 8)) return generic;
    const secret = await this.find(method.id, entityId);
    if (!secret)
      return {
        ok: false,
        reason: `MFA secret for method name ${JSON.stringify(method.name)} not present in entity ${JSON.stringify(entityId)}`,
      };
    if (recovery) return this.judgeRecovery(method, entityId, secret, passcode);
    if (!isCode(passcode, secret.digits)) return generic;
    const counter = matchCounter(schemeOf(secret), passcode, this.needs.clock.now(), secret.skew);
    return this.judge(this.needs.database, method, entityId, secret, counter, false);
  }

  private async judgeRecovery(method: Method, entityId: string, secret: SealedSecret, code: string): Promise<Verdict> {
    const hash = recoveryCodeHash(this.needs.barrier, method.id, code);
    return this.needs.committer.transaction(async (tx) => {
      // The secret's row first, as every attempt does, so that attempts take turns.
      await tx.query('SELECT 1 FROM mfa_secret WHERE method_id = $1 AND entity_id = $2 FOR UPDATE', [
        method.id,
        entityId,
      ]);
      const key = [method.id, entityId, hash];
      const known =
        (await tx.query('SELECT 1 FROM mfa_recovery_code WHERE method_id = $1 AND entity_id = $2 AND hash = $3', key))
          .rowCount === 1;
      const verdict = await this.judge(tx, method, entityId, secret, undefined, known);
      if (verdict.ok)
        await tx.query('DELETE FROM mfa_recovery_code WHERE method_id = $1 AND entity_id = $2 AND hash = $3', key);
      return verdict;
    });
  }

  private async judge(
    on: Pick<Tx, 'query'>,
    method: Method,
    entityId: string,
    { periodSeconds }: SealedSecret,
    counter: number | undefined,
    right: boolean,
  ): Promise<Verdict> {
    const nowMs = this.needs.clock.now();
    const most = method.maxValidationAttempts;
    const { rows } = await on.query<{ verdict: string; locked_until_ms: string }>(judge, [
      method.id,
      entityId,
      counter ?? null,
      nowMs,
      most,
      periodSeconds,
      right,
    ]);
    const verdict = rows[0]?.verdict;
    if (verdict === 'right') return { ok: true };
    if (verdict !== 'locked' && verdict !== 'over') return generic;
    const seconds = Math.max(1, Math.ceil((Number(rows[0]!.locked_until_ms) - nowMs) / 1_000));
    return {
      ok: false,
      reason: `maximum TOTP validation attempts ${most + 1} exceeded the allowed attempts ${most}. Please try again in ${seconds} seconds`,
    };
  }

  private async find(methodId: string, entityId: string): Promise<SealedSecret | undefined> {
    const { rows } = await this.needs.database.query<SecretRow>(
      { name: 'mfa-secret', text: 'SELECT sealed FROM mfa_secret WHERE method_id = $1 AND entity_id = $2' },
      [methodId, entityId],
    );
    return rows[0] && this.needs.barrier.openJson<SealedSecret>(rows[0].sealed, mfaSecretCell(methodId, entityId));
  }
}

/** A secret as the arithmetic wants it. */
export function schemeOf({ key, algorithm, digits, periodSeconds }: SealedSecret): CodeScheme {
  return { key: Buffer.from(key, 'base64'), algorithm, digits, periodSeconds };
}

const changed = (entityId: string): Notice => ({ topic: 'entity', key: entityId });
