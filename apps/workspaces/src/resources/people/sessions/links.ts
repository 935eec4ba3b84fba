import { invalid, invalidAll } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { notFound, Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import * as memberships from '../memberships/service';
import { createLink, findLink, type OneTimeLink, spendLink } from '../users/links';
import * as users from '../users/service';

/** A link as its holder sees it. */
export interface OpenedLink extends OneTimeLink {
  readonly secret: string;
  readonly email: string;
  readonly organization: string | null;
  /** The holder has to choose a password, and a name if `isNewAccount`. */
  readonly isNewAccount: boolean;
}

/** What opening a link may ask for. */
export interface LinkInput {
  readonly username?: string;
  readonly password?: string;
  readonly passwordConfirmation?: string;
}

/** The link behind a secret, if it is still good. */
export async function openLink(
  db: Database,
  keyring: Keyring,
  secret: string,
  now: number,
): Promise<OpenedLink | undefined> {
  const link = await findLink(db, keyring, secret, now);
  const account = link && (await users.find(db, link.userId));
  if (!link || !account) return undefined;
  const membership = link.membershipId === null ? undefined : await memberships.find(db, link.membershipId);
  if (link.kind === 'invitation' && !membership) return undefined;
  const organization = membership?.organizationName ?? null;
  return { ...link, secret, email: account.email ?? '', organization, isNewAccount: !account.confirmed };
}

/**
 * Spends a link: sets the password, and makes an invited person a member. Who has an account already must be signed in
 * with it to accept an invitation, since the inviter knows the link too; and must hold the link, since addresses of
 * accounts are not verified.
 */
export async function useLink(
  db: Database,
  keyring: Keyring,
  link: OpenedLink,
  callerId: string,
  requestId: string,
  input: LinkInput,
): Promise<users.Account> {
  const joinsAsKnown = link.kind === 'invitation' && !link.isNewAccount;
  if (joinsAsKnown && callerId !== link.userId) {
    throw new Refusal('denied', 'Sign in as the invited person to accept this invitation');
  }
  if (!joinsAsKnown) requireChosen(link, input);
  return db.transaction(async (tx) => {
    if (!(await spendLink(tx, keyring, link.secret))) throw notFound();
    if (link.isNewAccount)
      await tx.prisma.user.update({ where: { id: link.userId }, data: { username: input.username } });
    const { username } = still(await users.find(tx, link.userId));
    const actor: Actor = { type: 'users', id: link.userId, name: username, requestId };
    if (!joinsAsKnown) await users.setPassword(tx, actor, link.userId, input.password ?? '');
    if (link.membershipId !== null) await memberships.activate(tx, actor, link.membershipId);
    return still(await users.find(tx, link.userId));
  });
}

function requireChosen({ isNewAccount }: OpenedLink, { username, password, passwordConfirmation }: LinkInput): void {
  const blank = [
    ...(isNewAccount && username === undefined ? ['username'] : []),
    ...(password === undefined ? ['password'] : []),
  ];
  if (blank.length > 0) throw invalidAll(blank.map((name) => ({ path: [name], message: "can't be blank" })));
  if (!isNewAccount && username !== undefined) throw invalid('username', 'cannot be changed here');
  users.requireGoodPassword({ password: password!, passwordConfirmation });
}

/** Makes a link with which a person sets a new password. For site administrators, who pass it on. */
export async function createReset(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  account: users.Account,
  now: number,
): Promise<string> {
  return db.transaction(async (tx) => {
    await recordChange(tx, actor, {
      organizationId: null,
      action: 'account.create-reset-link',
      target: { type: 'users', id: account.id, name: account.username },
    });
    return createLink(tx, keyring, { kind: 'password-reset', userId: account.id }, now);
  });
}
