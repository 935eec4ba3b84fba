import { invalid } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import type { UserLimit } from '../sign-in-providers/filling';
import { accountsIn, accountsPutInto, syncPeople } from './sync';

/** A team that a group of the directory fills. */
export interface GroupLink extends LinkedTeam {
  readonly groupId: string;
  readonly groupName: string;
  readonly paused: boolean;
}

/** A team that can be linked with a group. */
export interface LinkedTeam {
  readonly teamId: string;
  readonly teamName: string;
  readonly organizationId: string;
}

/** A team. */
export async function findTeam(db: Database, teamId: string): Promise<LinkedTeam | undefined> {
  const row = await db.prisma.team.findUnique({
    where: { id: teamId, organization: { removedAt: null } },
    select: { name: true, organizationId: true },
  });
  return row === null ? undefined : { teamId, teamName: row.name, organizationId: row.organizationId };
}

/** The link of a team. */
export async function find(db: Database, teamId: string): Promise<GroupLink | undefined> {
  const team = await findTeam(db, teamId);
  const row = await db.prisma.teamScimGroup.findUnique({
    where: { teamId },
    include: { group: { select: { displayName: true } } },
  });
  if (team === undefined || row === null) return undefined;
  return { ...team, groupId: row.groupId, groupName: row.group.displayName, paused: row.paused };
}

/** The link of a team. Throws `conflict` for a team without one. */
export async function requireLink(db: Database, { teamId }: LinkedTeam): Promise<GroupLink> {
  const link = await find(db, teamId);
  if (link === undefined) throw new Refusal('conflict', 'Team is not linked to a SCIM group');
  return link;
}

/**
 * Links a team with a group: the group's members are added to the team. Throws `conflict` for a team that is already
 * linked, and `invalid` if the group does not exist.
 */
export async function create(
  db: Database,
  actor: Actor,
  team: LinkedTeam,
  groupId: string,
  userLimit: UserLimit,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockRow(tx, 'team', team.teamId);
    if (!(await lockRow(tx, 'scim_group', groupId))) throw invalid('scimGroupId', 'is not a group in the directory');
    if (await find(tx, team.teamId)) throw new Refusal('conflict', 'Team is already linked to a SCIM group');
    await tx.prisma.teamScimGroup.create({ data: { teamId: team.teamId, groupId } });
    await recordChange(tx, actor, { ...changeOf(team, 'link'), after: { group: groupId } });
    await syncPeople(tx, actor, await accountsIn(tx, groupId), userLimit);
  });
}

/** Pauses or resumes a link. When it is resumed, the team gets the members that it would have without the pause. */
export async function pause(
  db: Database,
  actor: Actor,
  link: GroupLink,
  paused: boolean,
  userLimit: UserLimit,
): Promise<void> {
  const { teamId, groupId } = link;
  await db.transaction(async (tx) => {
    await tx.prisma.teamScimGroup.update({ where: { teamId }, data: { paused } });
    await recordChange(tx, actor, {
      ...changeOf(link, 'link-update'),
      before: { paused: link.paused },
      after: { paused },
    });
    const people = [...(await accountsIn(tx, groupId)), ...(await accountsPutInto(tx, teamId))];
    if (!paused) await syncPeople(tx, actor, people, userLimit);
  });
}

/** Removes a link, and removes the members that it added from the team. */
export async function remove(db: Database, actor: Actor, link: GroupLink, userLimit: UserLimit): Promise<void> {
  await db.transaction(async (tx) => {
    const people = await accountsPutInto(tx, link.teamId);
    await tx.prisma.teamScimGroup.deleteMany({ where: { teamId: link.teamId } });
    await recordChange(tx, actor, { ...changeOf(link, 'unlink'), before: { group: link.groupId } });
    await syncPeople(tx, actor, people, userLimit);
  });
}

function changeOf({ teamId, teamName, organizationId }: LinkedTeam, verb: string) {
  return { organizationId, action: `team.scim-${verb}`, target: { type: 'teams', id: teamId, name: teamName } };
}
