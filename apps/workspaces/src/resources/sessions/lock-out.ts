import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../kernel/database';

/** Wrong passwords in a row before a name is locked: for a minute, then twice as long each time, up to an hour. */
export const attemptsAllowed = 5;
const DAY_MS = 86_400_000;

/**
 * Takes one attempt for a name before its password is looked at, so that many at once cannot all be tried.
 * A success gives it back with `clearAttempts`. Throws `limited` while the name is locked.
 */
export async function takeAttempt(db: Database, keyring: Keyring, name: string, now: number): Promise<void> {
  const key = keyOf(keyring, name);
  const at = new Date(now);
  const allowed = await db.prisma.$queryRaw<unknown[]>`
    WITH forgotten AS (DELETE FROM sign_in_attempt WHERE last_at < ${new Date(now - DAY_MS)} AND name_hash <> ${key})
    INSERT INTO sign_in_attempt AS a (name_hash, failures, last_at) VALUES (${key}, 1, ${at})
    ON CONFLICT (name_hash) DO UPDATE SET
      failures = a.failures + 1,
      locked_until = CASE WHEN a.failures + 1 >= ${attemptsAllowed} THEN ${at}::timestamptz
        + least(interval '1 minute' * power(2, least(a.failures + 1 - ${attemptsAllowed}::int, 10)), interval '1 hour') END,
      last_at = ${at}
    WHERE a.locked_until IS NULL OR a.locked_until <= ${at}
    RETURNING 1`;
  if (allowed.length === 0) throw new Refusal('limited', 'Too many failed attempts to sign in; try again later');
}

/** Forgets the failures of a name. */
export async function clearAttempts(db: Database, keyring: Keyring, name: string): Promise<void> {
  await db.prisma.signInAttempt.deleteMany({ where: { nameHash: keyOf(keyring, name) } });
}

function keyOf(keyring: Keyring, name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(keyring.mac('workspace-sign-in', name.trim().toLowerCase()));
}
