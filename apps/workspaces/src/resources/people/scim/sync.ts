import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import { findByName } from '../../organizations/organizations/service';
import { fillSiteAdmins, fillTeams, type GroupSource, type UserLimit, type Wanted } from '../sign-in-providers/filling';

/** The directory as the source of the memberships that it granted. */
export const directory: GroupSource = { id: 'scim', name: 'SCIM' };

/** How many people a plan allows. */
export const userLimitOf =
  (env: Environment): UserLimit =>
  async (tx, name) =>
    (await findByName(tx, env, name))?.entitlements.userLimit ?? null;

/**
 * Adds users to the teams linked with their groups, and removes them from teams that are no longer linked. Does the
 * same for site administration. A team whose link is paused keeps its members. Call it in a transaction.
 */
export async function syncPeople(
  tx: Database,
  actor: Actor,
  userIds: readonly string[],
  userLimit: UserLimit,
): Promise<void> {
  if (userIds.length === 0) return;
  const people = [...userIds];
  const administrators = await tx.prisma.$queryRaw<{ userId: string }[]>`
    SELECT s.user_id AS "userId"
      FROM scim_setting d JOIN scim_group_member m ON m.group_id = d.site_admin_group_id
      JOIN scim_user s ON s.id = m.scim_user_id
     WHERE s.user_id = ANY(${people}) AND s.removed_at IS NULL`;
  await fillSiteAdmins(tx, actor, directory, people, new Set(administrators.map(({ userId }) => userId)));
  const assignments = await tx.prisma.$queryRaw<Wanted[]>`
    SELECT s.user_id AS "userId", t.team_id AS "teamId"
      FROM scim_user s JOIN scim_group_member m ON m.scim_user_id = s.id
      JOIN team_scim_group t ON t.group_id = m.group_id AND NOT t.paused
     WHERE s.user_id = ANY(${people}) AND s.removed_at IS NULL
    UNION
    SELECT p.user_id, tm.team_id
      FROM membership p JOIN team_member tm ON tm.membership_id = p.id AND tm.provider_id = ${directory.id}
      JOIN team_scim_group t ON t.team_id = tm.team_id AND t.paused
     WHERE p.user_id = ANY(${people})`;
  await fillTeams(tx, actor, directory, people, assignments, userLimit);
}

/** Updates the teams and site administration of all users of the directory. */
export async function syncAll(tx: Database, actor: Actor, userLimit: UserLimit): Promise<void> {
  const rows = await tx.prisma.scimUser.findMany({ select: { userId: true } });
  await syncPeople(
    tx,
    actor,
    rows.map(({ userId }) => userId),
    userLimit,
  );
}

/** The accounts of a group's members. */
export async function accountsIn(tx: Database, groupId: string): Promise<string[]> {
  const rows = await tx.prisma.$queryRaw<{ userId: string }[]>`
    SELECT s.user_id AS "userId" FROM scim_group_member m JOIN scim_user s ON s.id = m.scim_user_id
     WHERE m.group_id = ${groupId}`;
  return rows.map(({ userId }) => userId);
}

/** The accounts that the directory has added to a team. */
export async function accountsPutInto(tx: Database, teamId: string): Promise<string[]> {
  const rows = await tx.prisma.$queryRaw<{ userId: string }[]>`
    SELECT p.user_id AS "userId" FROM team_member tm JOIN membership p ON p.id = tm.membership_id
     WHERE tm.team_id = ${teamId} AND tm.provider_id = ${directory.id}`;
  return rows.map(({ userId }) => userId);
}
