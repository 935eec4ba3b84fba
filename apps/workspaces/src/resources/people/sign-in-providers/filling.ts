import { type Actor, type Change, recordChange, recordChanges } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow, lockRows } from '../../../kernel/database/lock-row';
import * as memberships from '../memberships/service';
import { addMembers, removeMembers } from '../teams/members';
import * as teams from '../teams/service';

/** The number of users that a plan allows, by organization; null means no limit. */
export type UserLimit = (db: Database, organizationName: string) => Promise<number | null>;

/**
 * A source of groups whose members join teams. The memberships that it adds are marked with its id, and only the source
 * removes them.
 */
export interface GroupSource {
  readonly id: string;
  readonly name: string;
}

/** A person who belongs in a team. */
export interface Wanted {
  readonly userId: string;
  readonly teamId: string;
}

/**
 * Adds users to the teams that a source names, and removes them from other teams to which the source had added them.
 * Memberships added by hand are kept. The number of statements depends on teams, not on users. Call it in a
 * transaction.
 */
export async function fillTeams(
  tx: Database,
  actor: Actor,
  source: GroupSource,
  userIds: readonly string[],
  assignments: readonly Wanted[],
  userLimit: UserLimit,
): Promise<void> {
  const ids = [...new Set(userIds)];
  await lockRows(tx, 'user_account', ids);
  await takeOut(tx, actor, source, ids, assignments);
  for (const [teamId, people] of byTeam(assignments)) await putInto(tx, actor, source, teamId, people, userLimit);
  await leaveOrganizations(tx, actor, source, ids);
}

function byTeam(assignments: readonly Wanted[]): [string, string[]][] {
  const teams = new Map<string, string[]>();
  for (const { teamId, userId } of assignments) {
    const people = teams.get(teamId);
    if (people) people.push(userId);
    else teams.set(teamId, [userId]);
  }
  return [...teams].sort(([one], [other]) => (one < other ? -1 : 1));
}

async function takeOut(
  tx: Database,
  actor: Actor,
  { id }: GroupSource,
  userIds: string[],
  assignments: readonly Wanted[],
): Promise<void> {
  const memberships = await tx.prisma.$queryRaw<{ teamId: string; membershipId: string; userId: string }[]>`
    SELECT tm.team_id AS "teamId", m.id AS "membershipId", m.user_id AS "userId"
      FROM team_member tm JOIN membership m ON m.id = tm.membership_id
     WHERE tm.provider_id = ${id} AND m.user_id = ANY(${userIds}) ORDER BY tm.team_id`;
  const stays = new Set(assignments.map(({ teamId, userId }) => `${teamId} ${userId}`));
  const surplus = memberships.filter(({ teamId, userId }) => !stays.has(`${teamId} ${userId}`));
  for (const teamId of new Set(surplus.map((one) => one.teamId))) {
    await lockRow(tx, 'team', teamId);
    const team = await teams.find(tx, teamId);
    if (team === undefined) continue;
    const leaving = surplus.filter((one) => one.teamId === teamId);
    // The last owner is kept, like a member added by hand, because an organization without an owner could never be
    // changed again.
    const goes = new Set(leaving.map(({ userId }) => userId));
    if (team.isOwners && team.userIds.every((userId) => goes.has(userId))) leaving.shift();
    if (leaving.length === 0) continue;
    await removeMembers(
      tx,
      actor,
      team,
      leaving.map(({ membershipId }) => membershipId),
    );
  }
}

async function putInto(
  tx: Database,
  actor: Actor,
  source: GroupSource,
  teamId: string,
  people: readonly string[],
  userLimit: UserLimit,
): Promise<void> {
  const [at] = await tx.prisma.$queryRaw<{ organizationId: string; organizationName: string }[]>`
    SELECT o.id AS "organizationId", o.name AS "organizationName"
      FROM team t JOIN organization o ON o.id = t.organization_id WHERE t.id = ${teamId} AND o.removed_at IS NULL`;
  if (!at) return;
  const membershipIds = await membersOf(tx, actor, source, at, people, userLimit);
  const members = await tx.prisma.teamMember.findMany({
    where: { teamId, membershipId: { in: membershipIds } },
    select: { membershipId: true },
  });
  const there = new Set(members.map(({ membershipId }) => membershipId));
  const added = membershipIds.filter((id) => !there.has(id));
  const team = added.length === 0 ? undefined : await teams.find(tx, teamId);
  if (team === undefined) return;
  await addMembers(tx, actor, team, added);
  await tx.prisma.$executeRaw`
    UPDATE team_member SET provider_id = ${source.id} WHERE team_id = ${teamId} AND membership_id = ANY(${added})`;
}

/**
 * The memberships of users in an organization. Missing memberships are created as long as the plan allows more members.
 */
async function membersOf(
  tx: Database,
  actor: Actor,
  source: GroupSource,
  { organizationId, organizationName }: { organizationId: string; organizationName: string },
  people: readonly string[],
  userLimit: UserLimit,
): Promise<string[]> {
  const existing = await tx.prisma.$queryRaw<{ id: string; userId: string }[]>`
    SELECT id, user_id AS "userId" FROM membership
     WHERE organization_id = ${organizationId} AND user_id = ANY(${[...people]})`;
  const there = new Set(existing.map(({ userId }) => userId));
  const missing = [...new Set(people)].filter((id) => !there.has(id));
  const room =
    missing.length === 0 ? 0 : await memberships.roomIn(tx, organizationId, await userLimit(tx, organizationName));
  const joining = missing.slice(0, room);
  const rows = joining.map((userId) => ({
    id: newId('ou'),
    organizationId,
    userId,
    status: 'active',
    providerId: source.id,
  }));
  if (rows.length > 0) {
    await tx.prisma.membership.createMany({ data: rows });
    const names = await namesOf(tx, joining);
    const change = changeOf(organizationId, 'create');
    await recordChanges(
      tx,
      actor,
      rows.map(({ id, userId }) => ({ ...change(id, names.get(userId)), after: { provider: source.name } })),
    );
  }
  return [...existing.map(({ id }) => id), ...rows.map(({ id }) => id)];
}

/** Ends the organization memberships that a source created for users who are no longer in any team. */
async function leaveOrganizations(tx: Database, actor: Actor, source: GroupSource, userIds: string[]): Promise<void> {
  const removed = await tx.prisma.$queryRaw<{ id: string; organizationId: string; userId: string }[]>`
    DELETE FROM membership m
     WHERE user_id = ANY(${userIds}) AND provider_id = ${source.id}
       AND NOT EXISTS (SELECT 1 FROM team_member tm WHERE tm.membership_id = m.id)
    RETURNING id, organization_id AS "organizationId", user_id AS "userId"`;
  const names = await namesOf(
    tx,
    removed.map(({ userId }) => userId),
  );
  await recordChanges(
    tx,
    actor,
    removed.map(({ id, organizationId, userId }) => ({
      ...changeOf(organizationId, 'delete')(id, names.get(userId)),
      before: { provider: source.name },
    })),
  );
}

async function namesOf(tx: Database, userIds: string[]): Promise<ReadonlyMap<string, string>> {
  if (userIds.length === 0) return new Map();
  const rows = await tx.prisma.$queryRaw<{ id: string; username: string }[]>`
    SELECT id, username FROM user_account WHERE id = ANY(${userIds})`;
  return new Map(rows.map(({ id, username }) => [id, username]));
}

const changeOf =
  (organizationId: string, verb: string) =>
  (id: string, name: string | undefined): Change => ({
    organizationId,
    action: `membership.${verb}`,
    target: { type: 'organization-memberships', id, name },
  });

/**
 * Sets which of the given users are site administrators, according to a source. It revokes only what the same source
 * granted, never permissions granted by hand, and never those of the last administrator.
 */
export async function fillSiteAdmins(
  tx: Database,
  actor: Actor,
  { id, name }: GroupSource,
  userIds: readonly string[],
  belonging: ReadonlySet<string>,
): Promise<void> {
  await lockRows(tx, 'user_account', userIds);
  const people = await tx.prisma.user.findMany({ where: { id: { in: [...userIds] } }, orderBy: { id: 'asc' } });
  for (const person of people) {
    const grants = belonging.has(person.id) && !person.siteAdmin;
    const revokes = !belonging.has(person.id) && person.siteAdmin && person.siteAdminBy === id;
    if (!grants && !revokes) continue;
    if (revokes && (await isLastSiteAdmin(tx, person.id))) continue;
    await tx.prisma.user.update({
      where: { id: person.id },
      data: { siteAdmin: grants, siteAdminBy: grants ? id : null },
    });
    await recordChange(tx, actor, {
      organizationId: null,
      action: `user.${grants ? 'grant' : 'revoke'}-admin`,
      target: { type: 'users', id: person.id, name: person.username },
      after: { provider: name },
    });
  }
}

/**
 * Whether no other user is a site administrator. Locks the rows of the others, so that they remain administrators in
 * the meantime.
 */
export async function isLastSiteAdmin(tx: Database, userId: string): Promise<boolean> {
  const others = await tx.prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM user_account WHERE site_admin AND suspended_at IS NULL AND id <> ${userId} ORDER BY id FOR UPDATE`;
  return others.length === 0;
}
