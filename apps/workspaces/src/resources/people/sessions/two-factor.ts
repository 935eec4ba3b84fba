import { randomBytes } from 'node:crypto';
import { base32, fromBase32, matchCounter, randomBase62 } from '@keystead/auth';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { notFound, Refusal } from '@keystead/refusal';
import qrcode from 'qrcode';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { prove } from '../users/attempts';

/** The parameters that every authenticator assumes. */
const scheme = { algorithm: 'SHA1', digits: 6, periodSeconds: 30 } as const;
const KEY_BYTES = 20;
const RECOVERY_CODES = 10;

/** The data for setting up an authenticator app; shown once. */
export interface Enrolment {
  readonly userId: string;
  readonly secret: string;
  readonly url: string;
  readonly qrCode: string;
  readonly recoveryCodes: readonly string[];
}

/**
 * The state of a user's two-factor authentication. `enrolment` is present only in the response that starts the setup.
 */
export interface TwoFactorState {
  readonly userId: string;
  readonly enabled: boolean;
  readonly verified: boolean;
  readonly recoveryCodesLeft: number;
  readonly enrolment?: Enrolment;
}

/** A person's second factor. */
export async function findState(db: Database, userId: string): Promise<TwoFactorState> {
  const row = await db.prisma.twoFactor.findUnique({ where: { userId } });
  return {
    userId,
    enabled: row !== null,
    verified: row?.verifiedAt != null,
    recoveryCodesLeft: row?.recoveryCodes.length ?? 0,
  };
}

/**
 * Starts the setup of two-factor authentication, which is completed by verifying a first code. Starting again replaces
 * an unverified secret. Throws `conflict` if it is already enabled.
 */
export async function enrol(db: Database, keyring: Keyring, userId: string, account: string): Promise<TwoFactorState> {
  const secret = base32(randomBytes(KEY_BYTES));
  const url = `otpauth://totp/${encodeURIComponent(account)}?secret=${secret}&issuer=Keystead`;
  const recoveryCodes = Array.from({ length: RECOVERY_CODES }, () => `${randomBase62(5)}-${randomBase62(5)}`);
  const data = {
    secret: new Uint8Array(keyring.seal(Buffer.from(secret), cellOf(userId))),
    recoveryCodes: recoveryCodes.map((code) => recoveryHash(keyring, code)),
    lastStep: 0n,
  };
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.twoFactor.deleteMany({ where: { userId, verifiedAt: null } });
    if (count === 0 && (await tx.prisma.twoFactor.findUnique({ where: { userId } }))) {
      throw new Refusal('conflict', 'Two-factor authentication is already enabled; disable it first');
    }
    await tx.prisma.twoFactor.create({ data: { userId, ...data } });
  });
  const qrCode = await qrcode.toDataURL(url);
  return { ...(await findState(db, userId)), enrolment: { userId, secret, url, qrCode, recoveryCodes } };
}

/**
 * Turns the second factor on with a first code. Throws `invalid` for a wrong code, and `limited` after too many wrong
 * codes.
 */
export async function verify(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  userId: string,
  code: string,
  now: number,
): Promise<TwoFactorState> {
  const isRight = () => spendTotp(db, keyring, userId, code, now);
  if (!(await prove(db, keyring, userId, now, isRight))) throw invalid('code', 'is invalid');
  return db.transaction(async (tx) => {
    const { count } = await tx.prisma.twoFactor.updateMany({ where: { userId }, data: { verifiedAt: new Date(now) } });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, {
      organizationId: null,
      action: 'account.enable-two-factor',
      target: { type: 'users', id: userId, name: actor.name },
    });
    return findState(tx, userId);
  });
}

/** Removes the second factor. */
export async function disable(db: Database, actor: Actor, userId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.twoFactor.deleteMany({ where: { userId } });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, {
      organizationId: null,
      action: 'account.disable-two-factor',
      target: { type: 'users', id: userId },
    });
  });
}

/** Accepts a time-based code or a recovery code, each only once. */
export async function spendCode(
  db: Database,
  keyring: Keyring,
  userId: string,
  code: string,
  now: number,
): Promise<boolean> {
  return (await spendTotp(db, keyring, userId, code, now)) || spendRecoveryCode(db, keyring, userId, code);
}

// The database stores the newest used time step, so that a code is accepted only once across all nodes.
async function spendTotp(db: Database, keyring: Keyring, userId: string, code: string, now: number): Promise<boolean> {
  const row = await db.prisma.twoFactor.findUnique({ where: { userId }, select: { secret: true } });
  if (!row) return false;
  const key = fromBase32(keyring.open(row.secret, cellOf(userId)).toString('utf8'));
  const found = matchCounter({ ...scheme, key }, code.replace(/\s/g, ''), now, 1);
  if (found === undefined) return false;
  const step = BigInt(found);
  const { count } = await db.prisma.twoFactor.updateMany({
    where: { userId, lastStep: { lt: step } },
    data: { lastStep: step },
  });
  return count === 1;
}

async function spendRecoveryCode(db: Database, keyring: Keyring, userId: string, code: string): Promise<boolean> {
  const hash = recoveryHash(keyring, code.trim());
  const updated = await db.prisma.$executeRaw`
    UPDATE two_factor SET recovery_codes = array_remove(recovery_codes, ${hash})
     WHERE user_id = ${userId} AND verified_at IS NOT NULL AND ${hash} = ANY(recovery_codes)`;
  return updated === 1;
}

function recoveryHash(keyring: Keyring, code: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(keyring.mac('workspace-recovery-code', code));
}

const cellOf = (userId: string) => ({ table: 'two_factor', row: userId, column: 'secret' });
