import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import type { Database } from '../../../kernel/database/database';
import { inOrder } from '../../../kernel/database/in-order';
import { seesSecretTeams, teamPolicy } from '../teams/policy';
import * as teams from '../teams/service';
import { type Token, toToken, withTeam } from './service';

const columns = {
  'team-name': Prisma.sql`lower(t.name)`,
  'created-by': Prisma.sql`k.created_by_id`,
  'expired-at': Prisma.sql`k.expires_at`,
  'last-used-at': Prisma.sql`k.last_used_at`,
} as const;

/** What a list of team tokens can be sorted by. */
export const teamTokenSorts = Object.keys(columns);

/** The tokens of the teams whose tokens the caller may manage. It repeats the team rule `can-view-api-token`. */
export async function listTeamTokens(
  db: Database,
  access: Access,
  organizationId: string,
  options: {
    q?: string;
    sort: readonly { key: string; descending: boolean }[];
    page?: { offset: number; size: number };
  },
): Promise<{ items: Token[]; total: number }> {
  const q = options.q?.toLowerCase() ?? null;
  const where = Prisma.sql`k.kind = 'team' AND t.organization_id = ${organizationId}
    AND ${await managed(db, access, organizationId)} AND (${q}::text IS NULL OR position(${q} IN lower(t.name)) > 0)`;
  const order = [
    ...options.sort.map(({ key, descending }) => {
      const column = columns[key as keyof typeof columns];
      return descending ? Prisma.sql`${column} DESC NULLS LAST` : Prisma.sql`${column} ASC NULLS LAST`;
    }),
    Prisma.sql`lower(t.name), k.id`,
  ];
  const ids = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT k.id FROM token k JOIN team t ON t.id = k.team_id WHERE ${where}
    ORDER BY ${Prisma.join(order)} LIMIT ${options.page?.size ?? null} OFFSET ${options.page?.offset ?? 0}`;
  const [count] = await db.prisma.$queryRaw<{ total: bigint }[]>`
    SELECT count(*) AS total FROM token k JOIN team t ON t.id = k.team_id WHERE ${where}`;
  const items = await inOrder(ids, async (some) => {
    const rows = await db.prisma.token.findMany({ where: { id: { in: some } }, include: withTeam });
    return rows.map(toToken);
  });
  return { items, total: Number(count?.total ?? 0) };
}

async function managed(db: Database, access: Access, organizationId: string): Promise<Prisma.Sql> {
  if (access.isOwner(organizationId)) return Prisma.sql`TRUE`;
  const own = Prisma.sql`t.id = ANY(${access.teamIds(organizationId)})`;
  const asMember = Prisma.sql`(${own} AND t.allow_member_token_management)`;
  if (!access.can(organizationId, 'manage-teams')) return asMember;
  const visible = seesSecretTeams(access, organizationId)
    ? Prisma.sql`TRUE`
    : Prisma.sql`(t.visibility = 'organization' OR ${own})`;
  const within = access.can(organizationId, 'manage-organization-access')
    ? Prisma.sql`TRUE`
    : Prisma.sql`t.id = ANY(${await teamsWithin(db, access, organizationId)})`;
  return Prisma.sql`(NOT t.is_owners AND (${asMember} OR (${visible} AND ${within})))`;
}

/**
 * The teams with tokens that have no more permissions than the caller. Permissions are compared one by one, which SQL
 * cannot do.
 */
async function teamsWithin(db: Database, access: Access, organizationId: string): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT t.id FROM token k JOIN team t ON t.id = k.team_id WHERE t.organization_id = ${organizationId}`;
  const found = await teams.findMany(
    db,
    rows.map(({ id }) => id),
  );
  return found.filter((team) => teamPolicy['can-view-api-token'](access, team)).map(({ id }) => id);
}
