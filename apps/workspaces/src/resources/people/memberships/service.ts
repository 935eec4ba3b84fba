import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { addMembers, requireOwner } from '../teams/members';
import type { Team } from '../teams/team';
import { createLink } from '../users/links';
import * as users from '../users/service';

/** A person in an organization. `inviteSecret` opens the invitation; only the answer that made it has it. */
export interface Membership {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly userId: string;
  readonly username: string;
  readonly email: string;
  readonly status: 'invited' | 'active';
  readonly teams: readonly { readonly id: string; readonly organizationId: string; readonly visibility: string }[];
  readonly isOwner: boolean;
  readonly createdAt: Date;
  readonly inviteSecret?: string;
}

const withPeople = {
  organization: { select: { name: true } },
  user: { select: { username: true, email: true } },
  teams: {
    select: { team: { select: { id: true, organizationId: true, visibility: true, isOwners: true } } },
    orderBy: { teamId: 'asc' },
  },
} as const;

/** Memberships by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<Membership[]> {
  const rows = await db.prisma.membership.findMany({
    where: { id: { in: [...ids] }, organization: { removedAt: null } },
    include: withPeople,
  });
  return rows.map(({ organization, user, teams, ...row }) => ({
    ...row,
    status: row.status as Membership['status'],
    organizationName: organization.name,
    username: user.username,
    email: user.email,
    teams: teams.map(({ team }) => team),
    isOwner: teams.some(({ team }) => team.isOwners),
  }));
}

/** One membership. */
export async function find(db: Database, id: string): Promise<Membership | undefined> {
  return (await findMany(db, [id]))[0];
}

/** What an organization and its plan say about inviting. */
export interface Inviting {
  readonly organizationId: string;
  /** How many people the plan allows; null is no limit. */
  readonly userLimit: number | null;
  readonly keyring: Keyring;
  readonly now: number;
}

/**
 * Invites a person by e-mail address, into teams if given. Who has no account gets one without a password, which the
 * invitation lets them choose. Throws `invalid` for a second invitation, `malformed` when the plan allows no more people.
 */
export async function invite(
  db: Database,
  actor: Actor,
  { organizationId, userLimit, keyring, now }: Inviting,
  email: string,
  teams: readonly Team[],
): Promise<Membership> {
  return db.transaction(async (tx) => {
    if ((await roomIn(tx, organizationId, userLimit)) === 0) {
      throw new Refusal('malformed', `The plan of this organization allows ${userLimit} users`);
    }
    const userId = await findOrCreatePerson(tx, email);
    const known = await tx.prisma.membership.findFirst({ where: { organizationId, userId }, select: { status: true } });
    if (known) {
      throw invalid('email', known.status === 'active' ? 'User is already a member' : 'User has already been invited');
    }
    const { id } = await tx.prisma.membership.create({ data: { id: newId('ou'), organizationId, userId } });
    for (const team of teams) await addMembers(tx, actor, team, [id]);
    const inviteSecret = await createLink(tx, keyring, { kind: 'invitation', userId, membershipId: id }, now);
    await recordChange(tx, actor, {
      organizationId,
      action: 'membership.create',
      target: { type: 'organization-memberships', id, name: email },
      after: { email, teams: teams.map(({ name }) => name) },
    });
    return { ...still(await find(tx, id)), inviteSecret };
  });
}

/** How many more people the plan of an organization allows, until the transaction ends; null is no limit. */
export async function roomIn(tx: Database, organizationId: string, limit: number | null): Promise<number> {
  if (limit === null) return Number.POSITIVE_INFINITY;
  await lockRow(tx, 'organization', organizationId);
  return Math.max(0, limit - (await tx.prisma.membership.count({ where: { organizationId } })));
}

async function findOrCreatePerson(tx: Database, email: string): Promise<string> {
  const [known] = await tx.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM user_account WHERE lower(email) = lower(${email})`;
  if (known) return known.id;
  const { id } = await users.create(tx, { username: newId('invited'), email });
  return id;
}

/** Makes an invited person a member. */
export async function activate(db: Database, actor: Actor, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.membership.update({ where: { id }, data: { status: 'active' } });
    await tx.prisma.oneTimeLink.deleteMany({ where: { membershipId: id } });
    const membership = still(await find(tx, id));
    await recordChange(tx, actor, {
      organizationId: membership.organizationId,
      action: 'membership.accept',
      target: { type: 'organization-memberships', id, name: membership.email },
    });
  });
}

/**
 * Ends a membership, and with it the teams it is in; an invited person nobody else knows is forgotten.
 * Throws `invalid` when no owner would be left.
 */
export async function remove(db: Database, actor: Actor, membership: Membership): Promise<void> {
  const { id, organizationId, userId, email } = membership;
  await db.transaction(async (tx) => {
    const [owners] = await tx.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM team WHERE organization_id = ${organizationId} AND is_owners FOR UPDATE`;
    await tx.prisma.membership.deleteMany({ where: { id } });
    if (membership.isOwner && owners) await requireOwner(tx, owners.id);
    await tx.prisma.user.deleteMany({ where: { id: userId, confirmed: false, memberships: { none: {} } } });
    await recordChange(tx, actor, {
      organizationId,
      action: 'membership.delete',
      target: { type: 'organization-memberships', id, name: email },
      before: { email, status: membership.status },
    });
  });
}
