import type { Prisma } from '../../../generated/prisma/client';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { sameText } from '../../../kernel/database/like';
import { lockRow } from '../../../kernel/database/lock-row';
import { addAccount } from '../sign-in-providers/accounts';
import type { UserLimit } from '../sign-in-providers/filling';
import { addressOf, nameAccount, resume, suspend } from './account';
import { ScimRefusal } from './dialect';
import type { Filter } from './filter';
import type { ScimSettings } from './settings';
import { syncPeople } from './sync';
import type { ScimValues } from './values';

/** A person of the directory. */
export interface ScimUser {
  readonly id: string;
  readonly userId: string;
  readonly userName: string;
  readonly externalId: string | null;
  readonly active: boolean;
  readonly suspends: boolean;
  readonly attributes: ScimValues;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly groups: readonly { readonly id: string; readonly displayName: string }[];
}

/** The dependencies of changes. */
export interface Keeping {
  readonly db: Database;
  readonly actor: Actor;
  readonly settings: ScimSettings;
  readonly userLimit: UserLimit;
  readonly nowMs: number;
}

const withGroups = {
  groups: {
    select: { group: { select: { id: true, displayName: true } } },
    orderBy: { group: { displayName: 'asc' } },
  },
} as const;

type ScimUserRow = Prisma.ScimUserGetPayload<{ include: typeof withGroups }>;

const toUser = ({ groups, attributes, ...row }: ScimUserRow): ScimUser => ({
  ...row,
  attributes: attributes as ScimValues,
  groups: groups.map(({ group }) => group),
});

/** A person who has not been removed. */
export async function find(db: Database, id: string): Promise<ScimUser | undefined> {
  const row = await db.prisma.scimUser.findUnique({ where: { id, removedAt: null }, include: withGroups });
  return row === null ? undefined : toUser(row);
}

/** People of the directory, oldest first. Filters on user names ignore case, filters on ids do not. */
export async function list(
  db: Database,
  filter: Filter | undefined,
  page: { offset: number; size: number },
): Promise<{ items: ScimUser[]; total: number }> {
  const where: Prisma.ScimUserWhereInput = { removedAt: null };
  if (filter?.attribute === 'externalId') where.externalId = filter.value;
  if (filter?.attribute === 'userName') where.userName = sameText(filter.value);
  const total = await db.prisma.scimUser.count({ where });
  if (page.size === 0) return { items: [], total };
  const orderBy = [{ createdAt: 'asc' as const }, { id: 'asc' as const }];
  const rows = await db.prisma.scimUser.findMany({
    where,
    include: withGroups,
    orderBy,
    skip: page.offset,
    take: page.size,
  });
  return { items: rows.map(toUser), total };
}

/** The identifying attributes of a person, and the rest. */
function split(values: ScimValues) {
  const { userName, externalId, active, ...attributes } = values;
  return {
    userName: userName as string,
    externalId: (externalId as string | undefined) ?? null,
    active: active as boolean | undefined,
    attributes: attributes as Prisma.InputJsonObject,
  };
}

/**
 * Adds a user with an account: the account that they had when the directory removed them, otherwise the account that
 * they already use through the directory's provider, otherwise a new account. An email address never selects an
 * account.
 */
export async function create(keeping: Keeping, values: ScimValues): Promise<ScimUser> {
  const { db, actor, settings, userLimit, nowMs } = keeping;
  const { userName, externalId, active = true, attributes } = split(values);
  const provider = settings.signInProviderId;
  // A first sign-in takes the same lock, so that only one of the two creates the account.
  const turn = `sign-in ${provider ?? 'nowhere'} ${externalId ?? userName}`;
  const id = await db.inTurn(turn).transaction(async (tx) => {
    await requireFree(tx, userName, externalId);
    const existing = await accountFor(tx, provider, externalId);
    const account = existing ?? (await addAccount(tx, userName, addressOf(attributes)));
    const before = await tx.prisma.scimUser.findUnique({ where: { userId: account.id } });
    if (before !== null && before.removedAt === null) throw uniquenessRefusal('The account of this person');
    const data = { userName, externalId, attributes, active: true, removedAt: null, updatedAt: new Date(nowMs) };
    const row =
      before === null
        ? await tx.prisma.scimUser.create({
            data: { ...data, id: newId('scu'), userId: account.id, createdAt: new Date(nowMs) },
          })
        : await tx.prisma.scimUser.update({ where: { id: before.id }, data });
    if (before !== null) await resume(tx, before);
    await setActive(keeping, tx, { ...row, active: true, suspends: false }, active);
    await recordChange(tx, actor, changeOf(row, 'create', { after: { userName, externalId, active } }));
    await syncPeople(tx, actor, [account.id], userLimit);
    return row.id;
  });
  return still(await find(db, id));
}

async function requireFree(tx: Database, userName: string, externalId: string | null, except = ''): Promise<void> {
  const sameName = { userName: sameText(userName) };
  const others = { removedAt: null, id: { not: except } };
  if ((await tx.prisma.scimUser.count({ where: { ...others, ...sameName } })) > 0) throw uniquenessRefusal('userName');
  if (externalId === null) return;
  if ((await tx.prisma.scimUser.count({ where: { ...others, externalId } })) > 0) throw uniquenessRefusal('externalId');
}

async function accountFor(tx: Database, providerId: string | null, externalId: string | null) {
  if (externalId === null) return undefined;
  const removed = await tx.prisma.scimUser.findUnique({ where: { externalId }, select: { userId: true } });
  if (removed !== null) return { id: removed.userId };
  if (providerId === null) return undefined;
  const identity = await tx.prisma.externalIdentity.findUnique({
    where: { providerId_subject: { providerId, subject: externalId } },
    select: { userId: true },
  });
  return identity === null ? undefined : { id: identity.userId };
}

/**
 * Replaces a user's attributes by the result of `change`. A user who is no longer active loses access immediately.
 * Throws the errors of `change`, and `uniqueness`.
 */
export async function update(
  keeping: Keeping,
  id: string,
  change: (before: ScimUser) => ScimValues,
): Promise<ScimUser> {
  const { db, actor, nowMs } = keeping;
  await db.transaction(async (tx) => {
    await lockRow(tx, 'scim_user', id);
    const before = still(await find(tx, id));
    const { userName, externalId, active = before.active, attributes } = split(change(before));
    await requireFree(tx, userName, externalId, id);
    await tx.prisma.scimUser.update({
      where: { id },
      data: { userName, externalId, attributes, updatedAt: new Date(nowMs) },
    });
    const address = addressOf(attributes);
    await nameAccount(tx, before.userId, {
      userName: userName === before.userName ? undefined : userName,
      email: address === addressOf(before.attributes) ? undefined : address,
    });
    await setActive(keeping, tx, before, active);
    const was = { userName: before.userName, externalId: before.externalId, active: before.active };
    const values = { before: was, after: { userName, externalId, active } };
    await recordChange(tx, actor, changeOf({ ...before, userName }, 'update', values));
  });
  return still(await find(db, id));
}

async function setActive(
  { actor, nowMs }: Keeping,
  tx: Database,
  user: Pick<ScimUser, 'id' | 'userId' | 'active' | 'suspends'>,
  active: boolean,
): Promise<void> {
  if (active === user.active) return;
  if (active) await resume(tx, user);
  const suspends = !active && (await suspend(tx, actor, user.userId, nowMs));
  await tx.prisma.scimUser.update({ where: { id: user.id }, data: { active, suspends } });
}

/**
 * Removes a user from the directory and from its groups, and ends their access immediately. The account is kept, but
 * suspended.
 */
export async function remove({ db, actor, userLimit, nowMs }: Keeping, user: ScimUser): Promise<void> {
  const { id, userId } = user;
  await db.transaction(async (tx) => {
    const suspends = (await suspend(tx, actor, userId, nowMs)) || user.suspends;
    await tx.prisma.scimGroupMember.deleteMany({ where: { scimUserId: id } });
    // Keeps only the data that is needed to recognise them again.
    const data = { active: false, suspends, removedAt: new Date(nowMs), attributes: {} };
    await tx.prisma.scimUser.update({ where: { id }, data });
    await syncPeople(tx, actor, [userId], userLimit);
    await recordChange(
      tx,
      actor,
      changeOf(user, 'delete', { before: { userName: user.userName, externalId: user.externalId } }),
    );
  });
}

const uniquenessRefusal = (what: string): ScimRefusal =>
  new ScimRefusal('uniqueness', `${what} is taken by another user.`);

function changeOf(
  { id, userId, userName }: { id: string; userId: string; userName: string },
  verb: string,
  values: { before?: Record<string, unknown>; after?: Record<string, unknown> },
) {
  const about = (details: Record<string, unknown> | undefined) => details && { ...details, account: userId };
  return {
    organizationId: null,
    action: `scim-user.${verb}`,
    target: { type: 'scim-users', id, name: userName },
    before: about(values.before),
    after: about(values.after),
  };
}
