import { isCode, matchCounter } from '@keystead/auth';
import type { TakenAttempt } from '../attempts/attempts';
import type { Notice, Tx } from '../storage/types';
import { isRecoveryCode, recoveryCodeHash } from './recovery-codes';
import { codesOf, type MfaSecrets, schemeOf } from './secrets';
import type { MfaMethod, MfaNeeds, SealedSecret } from './types';

/** Longest lock after too many attempts. */
const maxLockSeconds = 3_600;
/** How long wrong codes are remembered after the last one. */
const forgetSeconds = 24 * 3_600;

/** Why a factor is refused, in the wording that clients expect. */
export interface WrongFactor {
  readonly ok: false;
  readonly reason: string;
}

/** A correct factor. It is only used up by `settle`, together with all factors of an answer. */
export interface CorrectFactor {
  readonly ok: true;
  /** Uses up the factor. Returns a reason if another request used it first. */
  spend(tx: Tx): Promise<string | undefined>;
  readonly attempt?: TakenAttempt;
  readonly notices?: readonly Notice[];
}

const incorrect: WrongFactor = { ok: false, reason: 'MFA credentials not supplied or incorrect' };

/**
 * Passcodes are checked one by one and used up together. Each attempt is counted before the check. If the passcodes
 * together are not sufficient, none is used up, and no attempt is counted against the correct factors.
 */
export class Factors {
  constructor(
    private readonly needs: MfaNeeds,
    private readonly secrets: MfaSecrets,
  ) {}

  /** Checks a passcode: a code of the authenticator, or a recovery code if the method has them. */
  async judge(method: MfaMethod, entityId: string, passcode: string): Promise<CorrectFactor | WrongFactor> {
    // The format is checked first, so that a string that cannot be a code is not counted as an attempt.
    const recovery = method.recoveryCodes > 0 && isRecoveryCode(passcode);
    if (!recovery && !isCode(passcode, 6) && !isCode(passcode, 8)) return incorrect;
    const found = await this.secrets.find(method.id, entityId);
    if (!found)
      return {
        ok: false,
        reason: `MFA secret for method name ${JSON.stringify(method.name)} not present in entity ${JSON.stringify(entityId)}`,
      };
    const { secret, lastCounter } = found;
    if (!recovery && !isCode(passcode, secret.digits)) return incorrect;
    const attempt = await this.needs.attempts.take(codesOf(method.id, entityId), {
      allowed: method.maxValidationAttempts,
      lockSeconds: secret.periodSeconds,
      longestLockSeconds: maxLockSeconds,
      forgetSeconds,
    });
    if (!attempt.allowed) return this.locked(method, attempt.lockedUntilMs);
    if (recovery) return this.recoveryCode(method, entityId, passcode, attempt);
    const counter = matchCounter(schemeOf(secret), passcode, this.needs.clock.now(), secret.skew);
    if (counter === undefined) return incorrect;
    if (counter <= lastCounter) {
      // The code was used before, so this attempt is not a guess.
      await this.needs.attempts.giveBack(attempt);
      return incorrect;
    }
    return {
      ok: true,
      attempt,
      // A code is valid only once, and codes of earlier periods are invalid afterwards.
      spend: async (tx) => {
        const where = { methodId: method.id, entityId, lastCounter: { lt: counter } };
        const { count } = await tx.prisma.mfaSecret.updateMany({ where, data: { lastCounter: counter } });
        return count === 1 ? undefined : incorrect.reason;
      },
    };
  }

  /** Checks a code of a secret that was created during a login. A correct code confirms the secret. */
  judgeEnrolment(
    method: MfaMethod,
    entityId: string,
    passcode: string,
    { secret, recoveryCodes }: { readonly secret: SealedSecret; readonly recoveryCodes: readonly string[] },
  ): CorrectFactor | WrongFactor {
    const counter = isCode(passcode, secret.digits)
      ? matchCounter(schemeOf(secret), passcode, this.needs.clock.now(), secret.skew)
      : undefined;
    if (counter === undefined) return incorrect;
    return {
      ok: true,
      notices: [{ topic: 'entity', key: entityId }],
      spend: async (tx) =>
        (await this.secrets.insert(tx, method.id, entityId, secret, recoveryCodes, counter))
          ? undefined
          : 'the secret of the entity was replaced in the meantime',
    };
  }

  /**
   * Uses up all of these correct factors, or none. Returns the reason if one of them was used in the meantime. `also`
   * runs in the same transaction, and its errors are thrown.
   */
  async settle(factors: readonly CorrectFactor[], also?: (tx: Tx) => Promise<void>): Promise<string | undefined> {
    try {
      await this.needs.committer.transaction(
        async (tx) => {
          for (const factor of factors) {
            const reason = await factor.spend(tx);
            if (reason !== undefined) throw new UsedUp(reason);
          }
          await also?.(tx);
        },
        factors.flatMap(({ notices }) => notices ?? []),
      );
    } catch (error) {
      await this.giveBack(factors);
      if (error instanceof UsedUp) return error.reason;
      throw error;
    }
    for (const { attempt } of factors) if (attempt) await this.needs.attempts.succeed(attempt);
    return undefined;
  }

  /** Does not count the attempts of correct factors whose answer as a whole was not sufficient. */
  async giveBack(factors: readonly CorrectFactor[]): Promise<void> {
    for (const { attempt } of factors) if (attempt) await this.needs.attempts.giveBack(attempt);
  }

  private async recoveryCode(
    method: MfaMethod,
    entityId: string,
    code: string,
    attempt: TakenAttempt,
  ): Promise<CorrectFactor | WrongFactor> {
    const hash = recoveryCodeHash(this.needs.barrier, method.id, code);
    const key = { methodId: method.id, entityId, hash };
    const stored = await this.needs.database.prisma.mfaRecoveryCode.findUnique({
      where: { methodId_entityId_hash: key },
    });
    if (!stored) return incorrect;
    return {
      ok: true,
      attempt,
      spend: async (tx) => {
        const { count } = await tx.prisma.mfaRecoveryCode.deleteMany({ where: key });
        return count === 1 ? undefined : incorrect.reason;
      },
    };
  }

  private locked({ maxValidationAttempts: most }: MfaMethod, untilMs: number): WrongFactor {
    const seconds = Math.max(1, Math.ceil((untilMs - this.needs.clock.now()) / 1_000));
    return {
      ok: false,
      reason: `maximum TOTP validation attempts ${most + 1} exceeded the allowed attempts ${most}. Please try again in ${seconds} seconds`,
    };
  }
}

class UsedUp extends Error {
  constructor(readonly reason: string) {
    super(reason);
  }
}
