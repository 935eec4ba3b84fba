import { invalid } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { isIdOf } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { changeOf } from './service';
import type { Team } from './team';

/**
 * The memberships of users in an organization. Clients name users by id or by user name; text with the form of an id is
 * never a name. Throws `missing` if a user does not exist or is not in the organization.
 */
export async function membershipsOfUsers(
  db: Database,
  organizationId: string,
  named: readonly (string | undefined)[],
): Promise<string[]> {
  const ids = [...new Set(named.map((name) => requireId(name)))];
  const names = ids.filter((id) => !isIdOf('user', id));
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT m.id
      FROM user_account u JOIN membership m ON m.user_id = u.id AND m.organization_id = ${organizationId}
     WHERE u.id = ANY(${ids})
     UNION ALL
    SELECT m.id
      FROM unnest(${names}::text[]) AS n(name)
      JOIN user_account u ON lower(u.username) = lower(n.name)
      JOIN membership m ON m.user_id = u.id AND m.organization_id = ${organizationId}`;
  if (rows.length < ids.length) throw notFound();
  return rows.map(({ id }) => id);
}

/** The named memberships, if all belong to the organization; otherwise throws `missing`. */
export async function membershipsOf(
  db: Database,
  organizationId: string,
  named: readonly (string | undefined)[],
): Promise<string[]> {
  const ids = [...new Set(named.map((name) => requireId(name)))];
  const rows = await db.prisma.membership.findMany({
    where: { id: { in: ids }, organizationId },
    select: { id: true },
  });
  if (rows.length < ids.length) throw notFound();
  return rows.map(({ id }) => id);
}

function requireId(id: string | undefined): string {
  if (id === undefined || id === '') {
    throw new Refusal('invalid', '', [{ path: ['data'], message: 'every member needs an ID' }]);
  }
  return id;
}

/** Adds users to a team. Existing members are kept. */
export async function addMembers(db: Database, actor: Actor, team: Team, membershipIds: string[]): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.teamMember.createMany({
      data: membershipIds.map((membershipId) => ({ teamId: team.id, membershipId })),
      skipDuplicates: true,
    });
    await recordChange(tx, actor, { ...changeOf(team, 'add-members'), after: { memberships: membershipIds } });
  });
}

/** Removes people from a team. Throws `invalid` if that would leave an organization without owners. */
export async function removeMembers(db: Database, actor: Actor, team: Team, membershipIds: string[]): Promise<void> {
  await db.transaction(async (tx) => {
    if (team.isOwners) await lockRow(tx, 'team', team.id);
    await tx.prisma.teamMember.deleteMany({ where: { teamId: team.id, membershipId: { in: membershipIds } } });
    if (team.isOwners) await requireOwner(tx, team.id);
    await recordChange(tx, actor, { ...changeOf(team, 'remove-members'), before: { memberships: membershipIds } });
  });
}

/** Throws if the organization would have no active owner, because it could never be changed again. */
export async function requireOwner(tx: Database, ownersTeamId: string): Promise<void> {
  const ownerCount = await tx.prisma.teamMember.count({
    where: { teamId: ownersTeamId, membership: { status: 'active' } },
  });
  if (ownerCount === 0) throw invalid(['data'], 'The owners team must keep at least one member');
}
