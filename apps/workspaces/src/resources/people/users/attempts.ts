import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../../kernel/database/database';

/**
 * The number of wrong proofs in a row after which an account is locked: for a minute, then twice as long each time, up
 * to an hour.
 */
const attemptsAllowed = 5;
const DAY_MS = 86_400_000;

/** The owner of the attempts: an account, or an unknown name. */
export type AttemptSubject = { readonly userId: string } | { readonly name: string };

/** A counted attempt, with its number since the last success. */
export interface Attempt {
  readonly key: Uint8Array<ArrayBuffer>;
  readonly number: number;
}

/**
 * Counts one attempt to prove an identity, by a password or a code, before the proof is checked. So an attacker cannot
 * try many at once. Throws `limited` while the budget is locked.
 */
export async function takeAttempt(
  db: Database,
  keyring: Keyring,
  subject: AttemptSubject,
  now: number,
): Promise<Attempt> {
  const key = keyOf(keyring, subject);
  const at = new Date(now);
  const [attempt] = await db.prisma.$queryRaw<{ failures: number }[]>`
    WITH forgotten AS (DELETE FROM sign_in_attempt WHERE last_at < ${new Date(now - DAY_MS)} AND name_hash <> ${key})
    INSERT INTO sign_in_attempt AS a (name_hash, failures, last_at) VALUES (${key}, 1, ${at})
    ON CONFLICT (name_hash) DO UPDATE SET
      failures = a.failures + 1,
      locked_until = CASE WHEN a.failures + 1 >= ${attemptsAllowed} THEN ${at}::timestamptz
        + least(interval '1 minute' * power(2, least(a.failures + 1 - ${attemptsAllowed}::int, 10)), interval '1 hour') END,
      last_at = ${at}
    WHERE a.locked_until IS NULL OR a.locked_until <= ${at}
    RETURNING failures`;
  if (!attempt) throw new Refusal('limited', 'Too many failed attempts to sign in; try again later');
  return { key, number: attempt.failures };
}

/**
 * Call it after a correct proof. Forgets earlier failures. Attempts that others have started since then are still
 * counted.
 */
export async function succeed(db: Database, attempt: Attempt): Promise<void> {
  await forget(db, attempt, attempt.number);
}

/**
 * Removes an attempt from the count, because its proof was neither correct nor wrong. Attempts that others have started
 * since then are still counted.
 */
export async function giveBack(db: Database, attempt: Attempt): Promise<void> {
  await forget(db, attempt, 1);
}

/** Runs the check of a counted attempt. If the check fails to run, the attempt is not counted. */
export async function checked(db: Database, attempt: Attempt, isRight: () => Promise<boolean>): Promise<boolean> {
  try {
    return await isRight();
  } catch (error) {
    await giveBack(db, attempt);
    throw error;
  }
}

// A lock that this attempt caused is also removed. A lock that another attempt caused remains.
async function forget(db: Database, { key, number }: Attempt, count: number): Promise<void> {
  await db.prisma.$executeRaw`
    UPDATE sign_in_attempt SET failures = greatest(failures - ${count}::int, 0),
           locked_until = CASE WHEN failures > ${number} THEN locked_until END
     WHERE name_hash = ${key}`;
}

/** Counts an attempt of an account, checks the proof, and returns whether it was correct. Throws `limited`. */
export async function prove(
  db: Database,
  keyring: Keyring,
  userId: string,
  now: number,
  isRight: () => Promise<boolean>,
): Promise<boolean> {
  return inTurn(db, keyring, { userId }, async () => {
    const attempt = await takeAttempt(db, keyring, { userId }, now);
    if (!(await checked(db, attempt, isRight))) return false;
    await succeed(db, attempt);
    return true;
  });
}

/**
 * Checks the proofs of an account, or of an unknown name, one after the other, so that simultaneous correct proofs do
 * not use up the budget.
 */
export function inTurn<T>(db: Database, keyring: Keyring, subject: AttemptSubject, look: () => Promise<T>): Promise<T> {
  return db.mutex.run(`proof ${Buffer.from(keyOf(keyring, subject)).toString('hex')}`, look);
}

function keyOf(keyring: Keyring, subject: AttemptSubject): Uint8Array<ArrayBuffer> {
  const text = 'userId' in subject ? `account ${subject.userId}` : `name ${subject.name.trim().toLowerCase()}`;
  return new Uint8Array(keyring.mac('workspace-sign-in', text));
}
