import { invalid, invalidAll } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { notFound, Refusal } from '@keystead/refusal';
import { type Actor, recordChange, system } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import { reclaimName } from '../../../kernel/database/released-names';
import type { Environment } from '../../../kernel/endpoints/environment';
import { mayStillInvite } from '../memberships/inviter';
import * as memberships from '../memberships/service';
import { changeAddress, holderOf, unreachable } from '../users/addresses';
import { prove } from '../users/attempts';
import { createLink, findLink, type OneTimeLink, spendLink } from '../users/links';
import { checkPassword } from '../users/password';
import * as users from '../users/service';

/** A link as its holder sees it. */
export interface OpenedLink extends OneTimeLink {
  readonly secret: string;
  readonly email: string;
  readonly organization: string | null;
  /** Whether the holder has to choose a name and a password, because the invitation becomes an account. */
  readonly isNewAccount: boolean;
}

/** The input that opening a link may require. */
export interface LinkInput {
  readonly username?: string;
  readonly password?: string;
  readonly passwordConfirmation?: string;
}

/** The link with a secret, if it is still valid, and the id of the person who is signed in, if any. */
export async function openLink(
  db: Database,
  keyring: Keyring,
  secret: string,
  callerId: string | undefined,
  now: number,
): Promise<OpenedLink | undefined> {
  const link = await findLink(db, keyring, secret, now);
  const account = link && (await users.find(db, link.userId));
  if (!link || !account) return undefined;
  const membership = link.membershipId === null ? undefined : await memberships.find(db, link.membershipId);
  if (link.kind === 'invitation' && !membership) return undefined;
  const organization = membership?.organizationName ?? null;
  const email = (link.kind === 'address-change' ? account.unconfirmedEmail : account.email) ?? '';
  return { ...link, secret, email, organization, isNewAccount: link.kind === 'invitation' && callerId === undefined };
}

/**
 * Uses a link. An invitation makes the signed-in user a member. With a name, or if no one is signed in, it creates an
 * account. A reset sets the password. An email address is verified with the password.
 */
export async function useLink(
  db: Database,
  { keyring, now }: Pick<Environment, 'keyring' | 'now'>,
  link: OpenedLink,
  callerId: string | undefined,
  requestId: string,
  input: LinkInput,
): Promise<users.Account> {
  const joinsAsKnown = link.kind === 'invitation' && callerId !== undefined && input.username === undefined;
  const isNewAccount = link.kind === 'invitation' && !joinsAsKnown;
  const userId = joinsAsKnown ? callerId : link.userId;
  if (link.kind === 'address-change') await requirePassword(db, { keyring, now }, userId, input.password ?? '');
  else if (!joinsAsKnown) requireChosen(isNewAccount, input);
  const account = await db.transaction(async (tx) => {
    if (!(await isStillInvited(tx, link, callerId))) return undefined;
    if (!(await spendLink(tx, keyring, link.secret))) throw notFound();
    if (isNewAccount) await becomeAccount(tx, userId, input.username);
    const { username } = still(await users.find(tx, userId));
    const actor: Actor = { type: 'users', id: userId, name: username, requestId };
    if (link.kind === 'address-change') await changeAddress(tx, actor, userId);
    else if (!joinsAsKnown) await users.setPassword(tx, actor, userId, input.password ?? '');
    if (link.membershipId !== null) await memberships.accept(tx, actor, link.membershipId, userId);
    return still(await users.find(tx, userId));
  });
  if (account !== undefined) return account;
  throw new Refusal('denied', 'The user who invited you can no longer invite users: ask for another invitation');
}

/**
 * Whether an invitation is still valid. If the inviter may no longer invite users, or the membership has teams that the
 * inviter may not assign, the invitation is void, and the audit trail records this. Locks the membership, so that no
 * teams are added in the meantime.
 */
async function isStillInvited(tx: Database, link: OpenedLink, callerId: string | undefined): Promise<boolean> {
  if (link.membershipId === null) return true;
  if (!(await lockRow(tx, 'membership', link.membershipId))) throw notFound();
  const membership = still(await memberships.find(tx, link.membershipId));
  if (await mayStillInvite(tx, link, membership)) return true;
  const { organizationId, email } = membership;
  const target = { type: 'organization-memberships', id: link.membershipId, name: email };
  const after = { invitedBy: link.createdById, acceptedBy: callerId ?? null };
  await recordChange(tx, system, { organizationId, action: 'membership.accept-refuse', target, after });
  return false;
}

/**
 * Turns an invitation into an account. The inviter also knows the link, so the link does not prove the address. If an
 * account has the address, the user is only asked to confirm.
 */
async function becomeAccount(tx: Database, id: string, username: string | undefined): Promise<void> {
  const { email } = await tx.prisma.user.findUniqueOrThrow({ where: { id } });
  if (username !== undefined) await reclaimName(tx, 'user', 'username', username, { id });
  const isTaken = (await holderOf(tx, email)) !== undefined;
  const address = isTaken ? { email: unreachable(), unconfirmedEmail: email } : {};
  await tx.prisma.user.update({ where: { id }, data: { username, ...address } });
}

async function requirePassword(
  db: Database,
  { keyring, now }: Pick<Environment, 'keyring' | 'now'>,
  userId: string,
  password: string,
): Promise<void> {
  const user = await db.prisma.user.findUnique({ where: { id: userId }, select: { passwordHash: true } });
  const isRight = () => checkPassword(password, user?.passwordHash ?? null);
  if (!(await prove(db, keyring, userId, now(), isRight))) throw invalid('password', 'is invalid');
}

function requireChosen(isNewAccount: boolean, { username, password, passwordConfirmation }: LinkInput): void {
  const blank = [
    ...(isNewAccount && username === undefined ? ['username'] : []),
    ...(password === undefined ? ['password'] : []),
  ];
  if (blank.length > 0) throw invalidAll(blank.map((name) => ({ path: [name], message: "can't be blank" })));
  if (!isNewAccount && username !== undefined) throw invalid('username', 'cannot be changed here');
  users.requireGoodPassword({ password: password!, passwordConfirmation });
}

/** Creates a link for setting a new password, for site administrators, who pass it on. */
export async function createReset(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  account: users.Account,
  now: number,
): Promise<string> {
  if (!account.confirmed)
    throw new Refusal('denied', 'An invitation has no password: to get a new link, invite the user again');
  return db.transaction(async (tx) => {
    await recordChange(tx, actor, {
      organizationId: null,
      action: 'account.create-reset-link',
      target: { type: 'users', id: account.id, name: account.username },
    });
    return createLink(tx, keyring, { kind: 'password-reset', userId: account.id }, now);
  });
}
