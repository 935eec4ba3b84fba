import { randomBase62 } from '@keystead/auth';
import { invalid } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { sameText } from '../../../kernel/database/like';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import { createLink, linkMs, linkUrl } from './links';

/** An address that no mail reaches, for accounts without one. */
export const unreachable = (): string => `${randomBase62(20).toLowerCase()}@accounts.invalid`;

/** The account with an address. The address in an invitation is ignored. */
export async function holderOf(
  db: Database,
  email: string,
): Promise<{ id: string; username: string; emailProven: boolean } | undefined> {
  const [row] = await db.prisma.$queryRaw<{ id: string; username: string; emailProven: boolean }[]>`
    SELECT id, username, email_proven AS "emailProven" FROM user_account
     WHERE lower(email) = lower(${email}) AND confirmed`;
  return row;
}

const restMs = 60_000;

/**
 * Starts a change of email address. The new address is verified when someone opens the link that is sent to it. Returns
 * the content of the mail. Throws `invalid` if another user has verified the address, and `limited` within a minute of
 * the last request.
 */
export async function askForProof(
  tx: Database,
  { keyring, publicUrl, now }: Pick<Environment, 'keyring' | 'publicUrl' | 'now'>,
  actor: Actor,
  userId: string,
  email: string,
): Promise<{ subject: string; text: string }> {
  await lockRow(tx, 'user_account', userId);
  const user = await tx.prisma.user.findUniqueOrThrow({ where: { id: userId }, include: { links: true } });
  if (user.passwordHash === null)
    throw invalid('email', 'is managed by your sign-in provider, and can only be changed there');
  const holder = await holderOf(tx, email);
  if (holder?.emailProven && holder.id !== userId) throw invalid('email', 'has already been taken');
  const last = user.links.find(({ kind }) => kind === 'address-change');
  if (last && last.expiresAt.getTime() > now() + linkMs - restMs) {
    throw new Refusal('limited', 'A link was sent a moment ago; try again in a minute');
  }
  await tx.prisma.user.update({ where: { id: userId }, data: { unconfirmedEmail: email } });
  const secret = await createLink(tx, keyring, { kind: 'address-change', userId }, now());
  await recordChange(tx, actor, {
    organizationId: null,
    action: 'account.ask-for-address',
    target: { type: 'users', id: userId, name: user.username },
    after: { email },
  });
  return {
    subject: 'Confirm your address',
    text: `${user.username} wants to use this address. If that is you, open this link and give your password:\n\n${linkUrl(publicUrl, secret)}\n\nIf it is not, do nothing.\n`,
  };
}

/**
 * Frees an email address for the user who verifies it: an account that has the address without having verified it loses
 * it. Returns false if another user has verified it, or if the address is too long to be stored.
 */
export async function freeAddress(tx: Database, actor: Actor, email: string): Promise<boolean> {
  if (email.length > 254) return false;
  const holder = await holderOf(tx, email);
  if (!holder) return true;
  if (!(await lockRow(tx, 'user_account', holder.id))) return true;
  const where = { id: holder.id, emailProven: false, email: sameText(email) } as const;
  const { count } = await tx.prisma.user.updateMany({ where, data: { email: unreachable() } });
  if (count > 0) await record(tx, actor, holder, { email }, { email: null });
  return count > 0;
}

/**
 * Gives an account the email address that it requested, as verified. With `named`, only if the account requested this
 * address. Throws `invalid` if the account requested another address or no address, or if another user has verified the
 * address in the meantime.
 */
export async function changeAddress(tx: Database, actor: Actor, userId: string, named?: string): Promise<void> {
  await lockRow(tx, 'user_account', userId);
  const user = await tx.prisma.user.findUniqueOrThrow({ where: { id: userId } });
  const email = user.unconfirmedEmail;
  // Another request has already made this change.
  if (email === null && user.emailProven && named?.toLowerCase() === user.email.toLowerCase()) return;
  if (email === null) throw invalid('email', 'has no pending change');
  if (named !== undefined && named.toLowerCase() !== email.toLowerCase()) {
    throw invalid('email', 'is not the address that this account requested last');
  }
  const holder = await holderOf(tx, email);
  if (holder?.id !== userId && !(await freeAddress(tx, actor, email))) throw invalid('email', 'has already been taken');
  await tx.prisma.user.update({ where: { id: userId }, data: { email, emailProven: true, unconfirmedEmail: null } });
  await tx.prisma.oneTimeLink.deleteMany({ where: { userId, kind: 'address-change' } });
  await record(tx, actor, user, { email: user.email }, { email });
}

type Said = Readonly<Record<string, unknown>>;

const record = (tx: Database, actor: Actor, user: { id: string; username: string }, before: Said, after: Said) =>
  recordChange(tx, actor, {
    organizationId: null,
    action: 'account.change-address',
    target: { type: 'users', id: user.id, name: user.username },
    before,
    after,
  });
