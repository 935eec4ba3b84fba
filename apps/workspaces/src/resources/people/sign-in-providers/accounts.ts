import { randomBase62 } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { recordChange, system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { isIdOf, newId } from '../../../kernel/database/ids';
import { sameText } from '../../../kernel/database/like';
import { isReleased } from '../../../kernel/database/released-names';
import { freeAddress, unreachable } from '../users/addresses';
import { endAccess } from '../users/end-access';
import * as users from '../users/service';
import type { Person } from './openid';
import type { SignInProvider } from './provider';
import { provisionedFor } from './provisioned';

/** The account for an identity. */
export interface FoundAccount {
  readonly identityId: string;
  readonly userId: string;
  readonly username: string;
}

/**
 * The account of a user identified by a provider. It is the first of these that exists: the account of earlier sign-ins
 * with this subject; the directory's account for the subject; the account with the address that the provider has
 * checked, if the provider may link accounts; a new account. Throws `denied` with advice for the user. Call it while
 * holding the turn of that subject.
 */
export async function accountOf(
  tx: Database,
  provider: SignInProvider,
  person: Person,
  requestId: string,
): Promise<FoundAccount> {
  const { subject } = person;
  const identity = await tx.prisma.externalIdentity.findUnique({
    where: { providerId_subject: { providerId: provider.id, subject } },
    select: { id: true, userId: true, user: { select: { username: true, suspendedAt: true } } },
  });
  if (identity) {
    if (identity.user.suspendedAt !== null) throw new Refusal('denied', 'This account is suspended.');
    return { identityId: identity.id, userId: identity.userId, username: identity.user.username };
  }
  const user =
    (await earlierAccount(tx, provider, subject)) ??
    (await linkable(tx, provider, person)) ??
    (await newAccount(tx, provider, person));
  const identityId = newId('ei');
  await tx.prisma.externalIdentity.create({
    data: { id: identityId, providerId: provider.id, subject, userId: user.id },
  });
  const actor = { type: 'users', id: user.id, name: user.username, requestId } as const;
  await recordChange(tx, actor, {
    organizationId: null,
    action: `account.${user.isNew ? 'create' : 'link'}`,
    target: { type: 'users', id: user.id, name: user.username },
    after: { provider: provider.name, subject },
  });
  return { identityId, userId: user.id, username: user.username };
}

async function earlierAccount(tx: Database, provider: SignInProvider, subject: string): Promise<Chosen | undefined> {
  const found = await provisionedFor(tx, provider, subject);
  if (!found) return undefined;
  const { suspendedAt } = await tx.prisma.user.findUniqueOrThrow({ where: { id: found.id } });
  if (suspendedAt !== null) throw new Refusal('denied', 'This account is suspended.');
  return { ...found, isNew: false };
}

interface Chosen {
  readonly id: string;
  readonly username: string;
  readonly isNew: boolean;
}

/**
 * The account that has a proven address and is linked to no provider yet. Someone else may have created it with that
 * address before its owner, so all existing access to the account is revoked. Site administrators are never found by
 * their address.
 */
async function linkable(
  tx: Database,
  { linksAccounts }: SignInProvider,
  { email }: Person,
): Promise<Chosen | undefined> {
  if (!linksAccounts || email === undefined) return undefined;
  const [found] = await tx.prisma.$queryRaw<{ id: string; username: string }[]>`
    SELECT id, username FROM user_account u
     WHERE lower(email) = lower(${email}) AND confirmed AND suspended_at IS NULL AND NOT site_admin
       AND NOT EXISTS (SELECT 1 FROM external_identity i WHERE i.user_id = u.id) FOR UPDATE`;
  if (!found) return undefined;
  const { id: userId } = found;
  const data = { passwordHash: null, emailProven: true, unconfirmedEmail: null };
  await tx.prisma.user.update({ where: { id: userId }, data });
  await endAccess(tx, userId, 'link');
  return { ...found, isNew: false };
}

async function newAccount(tx: Database, provider: SignInProvider, { username, email }: Person): Promise<Chosen> {
  if (!provider.createsAccounts) {
    throw new Refusal('denied', 'You have no account here. Ask a site administrator for access.');
  }
  return { ...(await addAccount(tx, username, email)), isNew: true };
}

/**
 * Creates an account without a password, with a name like the requested one, and with the email address unless another
 * user has verified it.
 */
export async function addAccount(
  tx: Database,
  username: string,
  email: string | undefined,
): Promise<{ id: string; username: string }> {
  const name = await freeName(tx, username);
  // If no address is known to be theirs, the account gets an address that cannot receive mail.
  const isFree = email !== undefined && (await freeAddress(tx, system, email));
  const address = isFree ? email : unreachable();
  const { id } = await users.create(tx, { username: name, email: address });
  await tx.prisma.user.update({ where: { id }, data: { confirmed: true, emailProven: isFree } });
  return { id, username: name };
}

const longestName = 60;

/** A free user name like the requested one. */
export async function freeName(tx: Database, requestedName: string): Promise<string> {
  const plain = requestedName
    .replace(/@.*$/s, '')
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '');
  const base = plain.slice(0, longestName) || 'user';
  for (let name = base; ; name = `${base.slice(0, longestName - 7)}-${randomBase62(6)}`) {
    if (isIdOf('user', name)) continue;
    const count = await tx.prisma.user.count({ where: { username: sameText(name) } });
    if (count === 0 && !(await isReleased(tx, 'user', name))) return name;
  }
}
