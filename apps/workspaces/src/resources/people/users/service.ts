import { invalid } from '@keystead/jsonapi';
import type { Principal } from '../../../kernel/access/principal';
import { type Actor, accountIdOf, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { reclaimName } from '../../../kernel/database/released-names';
import type { Environment } from '../../../kernel/endpoints/environment';
import { askForProof } from './addresses';
import { prove } from './attempts';
import { endAccess } from './end-access';
import { checkPassword, hashPassword, shortestPassword } from './password';

/** A person, or the service account behind the token of a team or an organization. */
export interface Account {
  readonly id: string;
  readonly username: string;
  readonly email: string | null;
  readonly unconfirmedEmail: string | null;
  readonly siteAdmin: boolean;
  readonly confirmed: boolean;
  readonly suspended: boolean;
  readonly twoFactor: { readonly enabled: boolean; readonly verified: boolean };
  /** The owner of the token. */
  readonly resource: { readonly type: 'users' | 'teams' | 'organizations'; readonly id: string };
  /** How a directory identifies the person; null if no directory manages the account. */
  readonly scim: DirectoryName | null;
  readonly revision: bigint;
}

/** The directory's name for a person, and the time of its last change. */
export interface DirectoryName {
  readonly userName: string;
  readonly updatedAt: Date;
}

interface UserRow {
  id: string;
  username: string;
  email: string;
  unconfirmedEmail: string | null;
  siteAdmin: boolean;
  confirmed: boolean;
  suspendedAt: Date | null;
  revision: bigint;
  twoFactor: { verifiedAt: Date | null } | null;
  scimUser: (DirectoryName & { removedAt: Date | null }) | null;
}

/** The relations that are read together with the row of an account. */
export const accountInclude = {
  twoFactor: { select: { verifiedAt: true } },
  scimUser: { select: { userName: true, updatedAt: true, removedAt: true } },
} as const;

/** Data from a directory, shown to administrators and to the user; all null if directories are not allowed. */
export function directoryAttributes(
  directoryName: (DirectoryName & { removedAt?: Date | null }) | null,
  isOn: boolean,
) {
  const named = isOn && directoryName !== null && !directoryName.removedAt ? directoryName : undefined;
  return {
    'is-scim-managed': isOn ? named !== undefined : null,
    'scim-username': named?.userName ?? null,
    'scim-updated-at': named?.updatedAt ?? null,
  };
}

/** The accounts of the given users. Unknown ids are omitted. */
export async function findMany(db: Database, ids: readonly string[]): Promise<Account[]> {
  const rows = await db.prisma.user.findMany({ where: { id: { in: [...ids] } }, include: accountInclude });
  return rows.map(toAccount);
}

/** One user's account. */
export async function find(db: Database, id: string): Promise<Account | undefined> {
  return (await findMany(db, [id]))[0];
}

/** The account of the caller. */
export async function findCaller(db: Database, principal: Principal): Promise<Account | undefined> {
  return principal.kind === 'user' ? find(db, principal.id) : serviceAccount(principal);
}

/**
 * An account that the caller may see: their own, those of users in the same organizations, and the service accounts of
 * their teams and organizations. Site administrators see all accounts.
 */
export async function findKnown(db: Database, principal: Principal, id: string): Promise<Account | undefined> {
  if (id === principal.id) return find(db, id);
  const shared = await db.prisma.$queryRaw<{ kind: 'user' | 'team' | 'organization'; id: string; name: string }[]>`
    WITH mine AS (
      SELECT organization_id FROM membership WHERE user_id = ${principal.id} AND status = 'active'
      UNION SELECT ${principal.organizationId ?? null}::text)
    SELECT 'user' AS kind, u.id, u.username AS name FROM user_account u
     WHERE u.id = ${id} AND (${principal.siteAdmin} OR EXISTS (
       SELECT 1 FROM membership m JOIN mine USING (organization_id) WHERE m.user_id = u.id))
    UNION ALL
    SELECT 'team', t.id, t.name FROM team t JOIN mine USING (organization_id) WHERE t.id = ${id.replace(/^user-/, 'team-')}
    UNION ALL
    SELECT 'organization', o.id, o.name FROM organization o JOIN mine ON mine.organization_id = o.id
     WHERE o.id = ${id.replace(/^user-/, 'org-')}`;
  const [found] = shared;
  if (!found || !id.startsWith('user-')) return undefined;
  return found.kind === 'user' ? find(db, id) : serviceAccount(found);
}

/** Creates a person. A person without a password can sign in only after opening an invitation or a reset link. */
export async function create(
  db: Database,
  input: { username: string; email: string; password?: string; siteAdmin?: boolean },
): Promise<Account> {
  const row = await db.prisma.user.create({
    data: {
      id: newId('user'),
      username: input.username,
      email: input.email,
      passwordHash: input.password === undefined ? null : await hashPassword(input.password),
      siteAdmin: input.siteAdmin ?? false,
      confirmed: input.password !== undefined,
    },
    include: accountInclude,
  });
  return toAccount(row);
}

/**
 * Changes the caller's own name; omitted fields keep their values. A new address takes effect when someone opens the
 * link that is mailed to it.
 */
export async function update(
  db: Database,
  env: Pick<Environment, 'keyring' | 'publicUrl' | 'now' | 'mailer'>,
  actor: Actor,
  id: string,
  { username, email }: { username?: string; email?: string },
): Promise<Account> {
  const mail = await db.transaction(async (tx) => {
    const before = await tx.prisma.user.findUniqueOrThrow({ where: { id } });
    if (username !== undefined && username !== before.username) {
      await reclaimName(tx, 'user', 'username', username, { id });
      await tx.prisma.user.update({ where: { id }, data: { username } });
      await recordChange(tx, actor, {
        organizationId: null,
        action: 'account.update',
        target: { type: 'users', id, name: username },
        before: { username: before.username },
        after: { username },
      });
    }
    const asks = email !== undefined && email.toLowerCase() !== before.email.toLowerCase();
    return asks ? askForProof(tx, env, actor, id, email) : undefined;
  });
  if (mail) await env.mailer?.send([email!], mail);
  return still(await find(db, id));
}

/**
 * Changes a password after checking the current one; all sessions except the caller's own end. Throws `invalid` with
 * the name of the wrong attribute, and `limited` after too many wrong passwords.
 */
export async function changePassword(
  db: Database,
  { keyring, now }: Pick<Environment, 'keyring' | 'now'>,
  actor: Actor,
  id: string,
  input: { currentPassword: string; password: string; passwordConfirmation: string },
): Promise<Account> {
  const { passwordHash } = await db.prisma.user.findUniqueOrThrow({ where: { id } });
  const isRight = () => checkPassword(input.currentPassword, passwordHash);
  if (!(await prove(db, keyring, id, now(), isRight))) throw invalid('currentPassword', 'is invalid');
  requireGoodPassword(input);
  await setPassword(db, actor, id, input.password, actor.tokenId);
  return still(await find(db, id));
}

/** Refuses short passwords and confirmations that differ. */
export function requireGoodPassword(input: { password: string; passwordConfirmation?: string }): void {
  if (input.password.length < shortestPassword) {
    throw invalid('password', `is too short (minimum is ${shortestPassword} characters)`);
  }
  if (input.passwordConfirmation !== undefined && input.passwordConfirmation !== input.password) {
    throw invalid('passwordConfirmation', "doesn't match Password");
  }
}

/** Sets a password and ends the user's sessions, including console sessions, except the current one. */
export async function setPassword(
  db: Database,
  actor: Actor,
  id: string,
  password: string,
  keepTokenId?: string,
): Promise<void> {
  const passwordHash = await hashPassword(password);
  await db.transaction(async (tx) => {
    const { username } = await tx.prisma.user.update({
      where: { id },
      data: { passwordHash, confirmed: true },
    });
    await endAccess(tx, id, 'password', keepTokenId);
    await recordChange(tx, actor, {
      organizationId: null,
      action: 'account.change-password',
      target: { type: 'users', id, name: username },
    });
  });
}

/** The service account behind a team's or an organization's token. */
function serviceAccount({ kind, id, name }: Pick<Principal, 'kind' | 'id' | 'name'>): Account {
  const letters = id.slice(id.indexOf('-') + 1);
  return {
    id: accountIdOf({ id }),
    username: kind === 'team' ? `api-team_${letters}` : `api-org-${name}-${letters.slice(0, 10)}`,
    email: null,
    unconfirmedEmail: null,
    siteAdmin: false,
    confirmed: true,
    suspended: false,
    twoFactor: { enabled: false, verified: false },
    resource: { type: kind === 'team' ? 'teams' : 'organizations', id: kind === 'team' ? id : name },
    scim: null,
    revision: 0n,
  };
}

function toAccount(row: UserRow): Account {
  return {
    id: row.id,
    username: row.username,
    email: row.email,
    unconfirmedEmail: row.unconfirmedEmail,
    siteAdmin: row.siteAdmin,
    confirmed: row.confirmed,
    suspended: row.suspendedAt !== null,
    twoFactor: { enabled: row.twoFactor !== null, verified: row.twoFactor?.verifiedAt != null },
    resource: { type: 'users', id: row.id },
    scim: row.scimUser?.removedAt === null ? row.scimUser : null,
    revision: row.revision,
  };
}
