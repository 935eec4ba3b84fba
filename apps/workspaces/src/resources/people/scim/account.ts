import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange, system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import { freeName } from '../sign-in-providers/accounts';
import { isLastSiteAdmin } from '../sign-in-providers/filling';
import { freeAddress } from '../users/addresses';
import { endAccess } from '../users/end-access';

/** The email address of a user: the primary address, otherwise the work address, otherwise the first valid one. */
export function addressOf(attributes: Readonly<Record<string, unknown>>): string | undefined {
  const emails = (attributes.emails as Readonly<Record<string, unknown>>[] | undefined) ?? [];
  const good = emails.filter(({ value }) => typeof value === 'string' && /^[^\s@]+@[^\s@]+$/.test(value));
  const chosen = good.find(({ primary }) => primary === true) ?? good.find(({ type }) => type === 'work') ?? good[0];
  return chosen?.value as string | undefined;
}

/**
 * Suspends an account and immediately ends everything that gives access to it: sessions, tokens, links, codes. Returns
 * whether it was active before. Throws `denied` for the last site administrator.
 */
export async function suspend(tx: Database, actor: Actor, userId: string, nowMs: number): Promise<boolean> {
  await lockRow(tx, 'user_account', userId);
  const user = await tx.prisma.user.findUnique({ where: { id: userId } });
  if (!user) return false;
  if (user.siteAdmin && user.suspendedAt === null && (await isLastSiteAdmin(tx, userId))) {
    throw new Refusal('denied', 'At least one user must remain a site administrator.');
  }
  await endAccess(tx, userId, 'suspension');
  if (user.suspendedAt !== null) return false;
  await tx.prisma.user.update({ where: { id: userId }, data: { suspendedAt: new Date(nowMs) } });
  await recordChange(tx, actor, {
    organizationId: null,
    action: 'user.suspend',
    target: { type: 'users', id: userId, name: user.username },
  });
  return true;
}

/** Ends a suspension by the directory. A suspension by a site administrator remains. */
export async function resume(tx: Database, { userId, suspends }: { userId: string; suspends: boolean }): Promise<void> {
  if (suspends) await tx.prisma.user.update({ where: { id: userId }, data: { suspendedAt: null } });
}

/**
 * Gives an account the name and the address that the directory has changed, unless another user has the name or has
 * verified the address. An account with a password keeps its address, because a new address would allow sign-in without
 * the provider.
 */
export async function nameAccount(
  tx: Database,
  userId: string,
  { userName, email }: { userName?: string; email?: string },
): Promise<void> {
  const user = await tx.prisma.user.findUniqueOrThrow({ where: { id: userId } });
  const username = userName?.replace(/@.*$/s, '').toLowerCase();
  const data: { username?: string; email?: string; emailProven?: boolean } = {};
  if (userName !== undefined && username !== user.username.toLowerCase()) data.username = await freeName(tx, userName);
  const isNew = email !== undefined && email.toLowerCase() !== user.email.toLowerCase();
  if (isNew && user.passwordHash === null && (await freeAddress(tx, system, email))) {
    data.email = email;
    data.emailProven = true;
  }
  if (Object.keys(data).length > 0) await tx.prisma.user.update({ where: { id: userId }, data });
}
