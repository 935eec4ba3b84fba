import { invalid, MissingPermission } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import type { Access, GivenGrants } from '../../../kernel/access/access';
import { hasRight, organizationRights } from '../../../kernel/access/capabilities';
import type { Policy } from '../../../kernel/access/policy';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { inOrder } from '../../../kernel/database/in-order';
import { lockRow, requireRevision } from '../../../kernel/database/lock-row';
import { teamAttributes } from './attributes';
import { teamPolicy } from './policy';
import { updateRights } from './rights-update';
import type { TeamInput } from './schema';
import type { Team } from './team';
import { visibleTeams } from './visible';

const { initial, plain, stored } = teamAttributes;

const withMembers = {
  organization: { select: { name: true } },
  scimGroup: { select: { paused: true, group: { select: { displayName: true, updatedAt: true } } } },
  members: {
    select: { membershipId: true, membership: { select: { userId: true, status: true } } },
    orderBy: { membershipId: 'asc' },
  },
} as const;

/** Teams by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<Team[]> {
  const rows = await db.prisma.team.findMany({ where: { id: { in: [...ids] } }, include: withMembers });
  const grants = await Promise.all(rows.map((row) => grantsOf(db, row)));
  return rows.map(({ organization, members, scimGroup: link, ...row }, index) => ({
    ...row,
    grants: grants[index]!,
    scimGroup: link && { name: link.group.displayName, updatedAt: link.group.updatedAt, paused: link.paused },
    organizationName: organization.name,
    userIds: members.filter(({ membership }) => membership.status === 'active').map((m) => m.membership.userId),
    membershipIds: members.map((member) => member.membershipId),
  }));
}

/**
 * The permissions of a team. Every response about a team shows whether the caller may grant them, so they are cached
 * until the revision of the team changes.
 */
export function grantsOf(db: Database, team: { id: string; grantsRevision: bigint }): Promise<GivenGrants> {
  return db.remembered(`grants ${team.id}`, `${team.grantsRevision}`, async () => {
    const [workspaces, projects] = [
      await db.prisma.$queryRaw<GivenGrants['workspaces'][number][]>`
        SELECT w.id, w.project_id AS "projectId", g.capabilities AS mask
          FROM team_workspace g JOIN workspace w ON w.id = g.workspace_id WHERE g.team_id = ${team.id}`,
      await db.prisma.$queryRaw<GivenGrants['projects'][number][]>`
        SELECT project_id AS id, capabilities AS mask FROM team_project WHERE team_id = ${team.id}`,
    ];
    return { workspaces, projects };
  });
}

/** One team. */
export async function find(db: Database, id: string): Promise<Team | undefined> {
  return (await findMany(db, [id]))[0];
}

/**
 * The teams of an organization that the caller sees, by name; `q` filters by part of a name, `names` by whole names.
 */
export async function list(
  db: Database,
  access: Access,
  organizationId: string,
  filter: { q?: string; names?: readonly string[]; page?: { offset: number; size: number } },
): Promise<{ items: Team[]; total: number }> {
  const q = filter.q === undefined ? null : filter.q.toLowerCase();
  const names = filter.names?.length ? [...filter.names] : null;
  const where = Prisma.sql`t.organization_id = ${organizationId} AND ${visibleTeams(access, organizationId)}
    AND (${q}::text IS NULL OR position(${q} IN lower(t.name)) > 0)
    AND (${names}::text[] IS NULL OR t.name = ANY(${names}::text[]))`;
  const ids = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT t.id FROM team t WHERE ${where} ORDER BY lower(t.name), t.id
    LIMIT ${filter.page?.size ?? null} OFFSET ${filter.page?.offset ?? 0}`;
  const [{ total } = { total: 0n }] = await db.prisma.$queryRaw<{ total: bigint }[]>`
    SELECT count(*) AS total FROM team t WHERE ${where}`;
  return { items: await inOrder(ids, (some) => findMany(db, some)), total: Number(total) };
}

/** Creates a team without members. */
export async function create(db: Database, actor: Actor, organizationId: string, input: TeamInput): Promise<Team> {
  return db.transaction(async (tx) => {
    const { id } = await tx.prisma.team.create({
      data: {
        id: newId('team'),
        organizationId,
        ...initial,
        ...plain(input),
        rights: updateRights(0, input.organizationAccess ?? {}),
      },
    });
    const team = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(team, 'create'), after: shown(team) });
    return team;
  });
}

/**
 * Throws `missing` if the caller may not grant the permissions of a new team. The rules are the same as for an existing
 * team.
 */
export function requireMayGive(access: Access, organizationId: string, { organizationAccess }: TeamInput): void {
  const gives = updateRights(0, organizationAccess ?? {}) !== 0;
  if (gives && !access.can(organizationId, 'manage-organization-access')) {
    throw new MissingPermission('can-update-organization-access');
  }
}

const neededFor = {
  name: 'can-update-name',
  visibility: 'can-update-visibility',
  ssoTeamId: 'can-update-sso-team-id',
  allowMemberTokenManagement: 'can-update-member-token-management',
  rights: 'can-update-organization-access',
} as const;

/**
 * Changes the settings in a request; each setting requires its own permission. Throws `missing` for a setting the
 * caller may not change, `invalid` for fixed settings of the owners team.
 */
export async function update(
  db: Database,
  actor: Actor,
  access: Access,
  id: string,
  input: TeamInput,
  ifMatch?: bigint,
): Promise<Team> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'team', id);
    const before = still(await find(tx, id));
    requireRevision(before, ifMatch);
    const { organizationAccess } = input;
    const requested = {
      ...plain(input),
      ...(organizationAccess ? { rights: updateRights(before.rights, organizationAccess) } : {}),
    };
    const data = Object.fromEntries(
      Object.entries(requested).filter(([key, value]) => value !== undefined && value !== before[key as keyof Team]),
    );
    for (const key of Object.keys(data) as (keyof typeof neededFor)[]) requireMay(access, before, key);
    await tx.prisma.team.update({ where: { id }, data });
    const after = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(after, 'update'), before: shown(before), after: shown(after) });
    return after;
  });
}

function requireMay(access: Access, team: Team, key: keyof typeof neededFor): void {
  const rules: Policy<Team> = teamPolicy;
  if (rules[neededFor[key]]!(access, team)) return;
  if (team.isOwners && access.isOwner(team.organizationId)) {
    throw invalid(key === 'rights' ? 'organizationAccess' : key, 'cannot be changed for the owners team');
  }
  throw new MissingPermission(neededFor[key]);
}

/** Deletes a team with its grants and its token. */
export async function remove(db: Database, actor: Actor, team: Team): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.team.deleteMany({ where: { id: team.id } });
    await recordChange(tx, actor, { ...changeOf(team, 'delete'), before: shown(team) });
  });
}

/** An audit event about a change of the team. */
export function changeOf(team: Team, verb: string) {
  const target = { type: 'teams', id: team.id, name: team.name };
  return { organizationId: team.organizationId, action: `team.${verb}`, target };
}

function shown(team: Team) {
  const organizationAccess = organizationRights.filter((right) => hasRight(team.rights, right));
  return { ...stored(team), organizationAccess };
}
