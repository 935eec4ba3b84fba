import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../../generated/prisma/client';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import * as tokens from '../tokens/service';
import { checked, giveBack, inTurn, succeed, takeAttempt } from '../users/attempts';
import { checkPassword } from '../users/password';
import { spendCode } from './two-factor';

/** Two weeks, the lifetime of a session if no organization limits it further. */
const LONGEST_MINUTES = 20_160;

/** The credentials for signing in; `code` if the user has a second factor. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly code?: string | null;
  /** Whether a passkey of the account was used instead of a code; absent if no passkey was used. */
  readonly passkey?: ((userId: string) => Promise<boolean>) | undefined;
}

/**
 * Signs a user in by user name or email address. Returns a token that expires with the shortest session that any of
 * their organizations allows. Throws `unauthenticated` if anything is wrong, `invalid` if only the code is missing,
 * `limited` if the account is locked, and `denied` if everyone except site administrators must sign in at a provider.
 */
export async function signIn(
  db: Database,
  { keyring, trail }: Pick<Environment, 'keyring' | 'trail'>,
  requestId: string,
  { username, password, code, passkey }: Credentials,
  now: number,
  longestMinutes = LONGEST_MINUTES,
): Promise<tokens.Token> {
  const found = await findByLogin(db, username);
  const subject = found ? { userId: found.id } : { name: username };
  const refuse = (why: string): Promise<Refusal> => refusedSignIn(trail, requestId, found, why);
  const user = await inTurn(db, keyring, subject, async () => {
    const attempt = await takeAttempt(db, keyring, subject, now);
    // The password is checked even for an unknown name, so that the response time reveals nothing.
    const isRight = () => checkPassword(password, found?.password_hash ?? null);
    const matches = await checked(db, attempt, isRight);
    if (!found || !matches || found.suspended_at !== null) {
      throw await refuse(!found ? 'unknown name' : matches ? 'suspended' : 'wrong password');
    }
    if (found.two_factor) {
      if (!code && !passkey) {
        await giveBack(db, attempt);
        throw invalid('code', "can't be blank: this account uses two-factor authentication");
      }
      const isProven = code ? await spendCode(db, keyring, found.id, code, now) : await passkey?.(found.id);
      if (!isProven) throw await refuse(code ? 'wrong code' : 'wrong passkey');
    }
    await succeed(db, attempt);
    return found;
  });
  return enter(db, keyring, requestId, user, now, longestMinutes);
}

/** Signs in the user whose passkey was used; undefined if it belongs to no one. Throws like `signIn`. */
export async function signInByPasskey(
  db: Database,
  { keyring, trail }: Pick<Environment, 'keyring' | 'trail'>,
  requestId: string,
  userId: string | undefined,
  now: number,
  longestMinutes: number,
): Promise<tokens.Token> {
  const user = userId === undefined ? undefined : await findLogin(db, Prisma.sql`u.id = ${userId}`);
  if (!user || user.suspended_at !== null) {
    await refusedSignIn(trail, requestId, user, user ? 'suspended' : 'wrong passkey');
    throw new Refusal('unauthenticated', 'This passkey is not registered here, or the request timed out: try again.');
  }
  return enter(db, keyring, requestId, user, now, longestMinutes);
}

function enter(
  db: Database,
  keyring: Keyring,
  requestId: string,
  user: LoginRow,
  now: number,
  longestMinutes: number,
): Promise<tokens.Token> {
  if (user.elsewhere)
    throw new Refusal('denied', 'Only site administrators can sign in with a password: sign in through your provider');
  return openSession(db, keyring, requestId, user, now, longestMinutes);
}

/** Records in the audit trail why a sign-in failed. The response does not contain the reason. */
async function refusedSignIn(
  trail: Environment['trail'],
  requestId: string,
  found: LoginRow | undefined,
  why: string,
): Promise<Refusal> {
  // The typed name is not recorded, because users sometimes type their password there.
  const target = { type: 'users', id: found?.id ?? '', name: found?.username ?? null };
  const change = { organizationId: null, action: 'account.refuse-sign-in', target, after: { why } };
  await trail.refused({ ...signInPage, requestId }, change, found?.id);
  return new Refusal('unauthenticated', '');
}

/** A caller who is not identified yet. */
export const signInPage: Actor = { type: 'system', id: 'sign-in', name: 'a sign-in' };

/**
 * A token for a user who has proved their identity. It expires with the shortest session that any of their
 * organizations allows.
 */
export async function openSession(
  db: Database,
  keyring: Keyring,
  requestId: string,
  user: { readonly id: string; readonly username: string },
  now: number,
  longestMinutes = LONGEST_MINUTES,
): Promise<tokens.Token> {
  const actor: Actor = { type: 'users', id: user.id, name: user.username, requestId };
  const expiredAt = new Date(now + Math.min(longestMinutes, await allowedMinutes(db, user.id)) * 60_000);
  const holder = { kind: 'session', userId: user.id } as const;
  return tokens.create(db, keyring, actor, holder, { description: 'session', expiredAt }, now);
}

interface LoginRow {
  id: string;
  username: string;
  password_hash: string | null;
  suspended_at: Date | null;
  two_factor: boolean;
  /** Whether the user has to sign in at a provider. */
  elsewhere: boolean;
}

function findByLogin(db: Database, login: string): Promise<LoginRow | undefined> {
  return findLogin(
    db,
    Prisma.sql`lower(u.username) = lower(${login}) OR (lower(u.email) = lower(${login}) AND u.confirmed)
     ORDER BY lower(u.username) = lower(${login}) DESC`,
  );
}

async function findLogin(db: Database, which: Prisma.Sql): Promise<LoginRow | undefined> {
  const [row] = await db.prisma.$queryRaw<LoginRow[]>`
    SELECT u.id, u.username, u.password_hash, u.suspended_at, f.verified_at IS NOT NULL AS two_factor,
           NOT u.site_admin AND EXISTS (SELECT 1 FROM sign_in_provider p
             WHERE p.enabled AND p.password_sign_in = 'administrators') AS elsewhere
      FROM user_account u LEFT JOIN two_factor f ON f.user_id = u.id
     WHERE ${which} LIMIT 1`;
  return row;
}

async function allowedMinutes(db: Database, userId: string): Promise<number> {
  const [row] = await db.prisma.$queryRaw<{ minutes: number | null }[]>`
    SELECT min(o.session_remember) AS minutes FROM organization o JOIN membership m ON m.organization_id = o.id
     WHERE m.user_id = ${userId} AND m.status = 'active' AND o.removed_at IS NULL`;
  return Math.min(row?.minutes ?? LONGEST_MINUTES, LONGEST_MINUTES);
}
