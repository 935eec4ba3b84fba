import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { addMembers, requireOwner } from '../teams/members';
import { findMany as findTeams } from '../teams/service';
import type { Team } from '../teams/team';
import { createLink } from '../users/links';
import * as users from '../users/service';

/** A user in an organization. `inviteSecret` opens the invitation; only the response to its creation contains it. */
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

/** The limits that an organization and its plan set for invitations. */
export interface Inviting {
  readonly organizationId: string;
  /** The number of users that the plan allows; null means no limit. */
  readonly userLimit: number | null;
  /** Whether the inviter may add people to a team. */
  readonly mayGive: (team: Team) => boolean;
  readonly keyring: Keyring;
  readonly now: number;
}

/**
 * Invites the user who gets the link, optionally into teams. The invitation contains an email address and no account,
 * because an account may have an unverified address. If a second inviter may add users to every team of a pending
 * invitation, a new invitation replaces it, and only the new link works. Throws `invalid` for any other second
 * invitation, and `malformed` if the plan allows no more users.
 */
export async function invite(
  db: Database,
  actor: Actor,
  { organizationId, userLimit, mayGive, keyring, now }: Inviting,
  email: string,
  teams: readonly Team[],
): Promise<Membership> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', organizationId);
    const [existing] = await tx.prisma.$queryRaw<{ id: string; userId: string; status: string }[]>`
      SELECT m.id, m.user_id AS "userId", m.status FROM membership m JOIN user_account u ON u.id = m.user_id
       WHERE m.organization_id = ${organizationId} AND lower(u.email) = lower(${email}) ORDER BY m.status LIMIT 1`;
    if (existing?.status === 'active') throw invalid('email', 'User is already a member');
    if (existing && !(await mayReplace(tx, actor, existing.id, mayGive, now))) {
      throw invalid('email', 'User has already been invited');
    }
    const { id, userId } = existing ?? (await addInvited(tx, organizationId, userLimit, email));
    for (const team of teams) await addMembers(tx, actor, team, [id]);
    const link = { kind: 'invitation', userId, membershipId: id, inviter: actor } as const;
    const inviteSecret = await createLink(tx, keyring, link, now);
    await recordChange(tx, actor, {
      organizationId,
      action: existing ? 'membership.invite-again' : 'membership.create',
      target: { type: 'organization-memberships', id, name: email },
      after: { email, teams: teams.map(({ name }) => name) },
    });
    return { ...still(await find(tx, id)), inviteSecret };
  });
}

/**
 * Whether this inviter may replace the earlier one: they must not have a valid link already, and must be allowed to
 * grant everything in the invitation.
 */
async function mayReplace(
  tx: Database,
  actor: Actor,
  membershipId: string,
  mayGive: (team: Team) => boolean,
  now: number,
): Promise<boolean> {
  if (!(await lockRow(tx, 'membership', membershipId))) return false;
  const own = { membershipId, createdByType: actor.type, createdById: actor.id, expiresAt: { gt: new Date(now) } };
  if ((await tx.prisma.oneTimeLink.count({ where: own })) > 0) return false;
  const before = await tx.prisma.teamMember.findMany({ where: { membershipId }, select: { teamId: true } });
  const found = await findTeams(
    tx,
    before.map(({ teamId }) => teamId),
  );
  return found.every(mayGive);
}

/**
 * The placeholder for an invited user: an account that contains only the email address, until the invitation is
 * accepted.
 */
async function addInvited(tx: Database, organizationId: string, userLimit: number | null, email: string) {
  if ((await roomIn(tx, organizationId, userLimit)) === 0) {
    throw new Refusal('malformed', `The plan of this organization allows ${userLimit} users`);
  }
  const { id: userId } = await users.create(tx, { username: newId('invited'), email });
  return tx.prisma.membership.create({ data: { id: newId('ou'), organizationId, userId } });
}

/**
 * The number of additional users that the plan of an organization allows, valid until the transaction ends; null means
 * no limit.
 */
export async function roomIn(tx: Database, organizationId: string, limit: number | null): Promise<number> {
  if (limit === null) return Number.POSITIVE_INFINITY;
  await lockRow(tx, 'organization', organizationId);
  return Math.max(0, limit - (await tx.prisma.membership.count({ where: { organizationId } })));
}

/**
 * Gives an account the membership and the teams of an invitation. If the account is already a member, the teams are
 * added to its membership.
 */
export async function accept(tx: Database, actor: Actor, id: string, userId: string): Promise<void> {
  const { organizationId, userId: place, email } = still(await find(tx, id));
  const own = await tx.prisma.membership.findFirst({ where: { organizationId, userId } });
  if (own && own.id !== id) {
    await tx.prisma.$executeRaw`
      INSERT INTO team_member (team_id, membership_id)
      SELECT team_id, ${own.id} FROM team_member WHERE membership_id = ${id}
      ON CONFLICT (team_id, membership_id) DO UPDATE SET provider_id = NULL`;
    await tx.prisma.membership.delete({ where: { id } });
  } else {
    await tx.prisma.membership.update({ where: { id }, data: { status: 'active', userId } });
  }
  await tx.prisma.oneTimeLink.deleteMany({ where: { membershipId: id } });
  if (place !== userId) {
    // Moves the notifications for the invited user to their account.
    await tx.prisma.$executeRaw`
      UPDATE notification_configuration SET user_ids = array_replace(user_ids, ${place}, ${userId})
       WHERE ${place} = ANY(user_ids)`;
    await tx.prisma.user.deleteMany({ where: { id: place, confirmed: false } });
  }
  await recordChange(tx, actor, {
    organizationId,
    action: 'membership.accept',
    target: { type: 'organization-memberships', id: own?.id ?? id, name: email },
    after: { userId },
  });
}

/**
 * Ends a membership and its memberships in teams. An invited person who is in no other organization is deleted. Throws
 * `invalid` if no owner would be left.
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
