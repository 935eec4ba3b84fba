import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import * as memberships from '../memberships/service';
import { addMembers, removeMembers } from '../teams/members';
import * as teams from '../teams/service';
import type { SignInProvider } from './provider';

/** How many people a plan allows, by organization; null is no limit. */
export type UserLimit = (db: Database, organizationName: string) => Promise<number | null>;

interface Wanted {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
}

/**
 * Lets a person's groups at a provider decide which teams they are in: into those that name one of the groups, and out of
 * those that the provider had put them into. What somebody gave by hand stays. Call it in a transaction.
 */
export async function followGroups(
  tx: Database,
  actor: Actor,
  provider: SignInProvider,
  groups: readonly string[],
  userLimit: UserLimit,
): Promise<void> {
  await lockRow(tx, 'user_account', actor.id);
  await followSiteAdmin(tx, actor, provider, groups);
  const wanted = await teamsOf(tx, provider.id, groups);
  const given = await tx.prisma.teamMember.findMany({
    where: { providerId: provider.id, membership: { userId: actor.id } },
    select: { teamId: true, membershipId: true },
  });
  const wantedIds = new Set(wanted.map(({ id }) => id));
  for (const { teamId, membershipId } of given) {
    if (!wantedIds.has(teamId)) await takeOut(tx, actor, teamId, membershipId);
  }
  for (const team of wanted) {
    const membershipId = await memberOf(tx, actor, provider, team, userLimit);
    if (membershipId !== undefined) await putInto(tx, actor, provider, team.id, membershipId);
  }
  await leaveOrganizations(tx, actor, provider);
}

async function teamsOf(tx: Database, providerId: string, groups: readonly string[]): Promise<Wanted[]> {
  return tx.prisma.$queryRaw<Wanted[]>`
    SELECT t.id, t.organization_id AS "organizationId", o.name AS "organizationName"
      FROM team t JOIN organization o ON o.id = t.organization_id
     WHERE t.sso_team_id = ANY(${[...groups]}::text[]) AND o.removed_at IS NULL
       AND (NOT EXISTS (SELECT 1 FROM sign_in_provider_organization p WHERE p.provider_id = ${providerId})
         OR EXISTS (SELECT 1 FROM sign_in_provider_organization p
                     WHERE p.provider_id = ${providerId} AND p.organization_id = o.id))
     ORDER BY t.id`;
}

async function takeOut(tx: Database, actor: Actor, teamId: string, membershipId: string): Promise<void> {
  await lockRow(tx, 'team', teamId);
  const team = await teams.find(tx, teamId);
  if (team === undefined) return;
  // An organization without an owner could never be changed again: the last one stays, as if put there by hand.
  if (team.isOwners && team.userIds.every((id) => id === actor.id)) return;
  await removeMembers(tx, actor, team, [membershipId]);
}

async function putInto(tx: Database, actor: Actor, provider: SignInProvider, teamId: string, membershipId: string) {
  const known = await tx.prisma.teamMember.count({ where: { teamId, membershipId } });
  const team = known > 0 ? undefined : await teams.find(tx, teamId);
  if (team === undefined) return;
  await addMembers(tx, actor, team, [membershipId]);
  await tx.prisma.teamMember.updateMany({ where: { teamId, membershipId }, data: { providerId: provider.id } });
}

/** The person's membership of a team's organization; a new one where there is room, else undefined. */
async function memberOf(
  tx: Database,
  actor: Actor,
  provider: SignInProvider,
  { organizationId, organizationName }: Wanted,
  userLimit: UserLimit,
): Promise<string | undefined> {
  const known = await tx.prisma.membership.findUnique({
    where: { organizationId_userId: { organizationId, userId: actor.id } },
    select: { id: true, status: true },
  });
  if (known?.status === 'active') return known.id;
  if (known) {
    await memberships.activate(tx, actor, known.id);
    return known.id;
  }
  const limit = await userLimit(tx, organizationName);
  if (limit !== null) {
    await lockRow(tx, 'organization', organizationId);
    if ((await tx.prisma.membership.count({ where: { organizationId } })) >= limit) return undefined;
  }
  const id = newId('ou');
  const row = { id, organizationId, userId: actor.id, status: 'active', providerId: provider.id };
  await tx.prisma.membership.create({ data: row });
  await recordChange(tx, actor, {
    organizationId,
    action: 'membership.create',
    target: { type: 'organization-memberships', id, name: actor.name },
    after: { provider: provider.name },
  });
  return id;
}

/** Memberships that came with a group end with the last team that did. */
async function leaveOrganizations(tx: Database, actor: Actor, provider: SignInProvider): Promise<void> {
  const over = await tx.prisma.membership.findMany({
    where: { userId: actor.id, providerId: provider.id, teams: { none: {} } },
    select: { id: true, organizationId: true },
  });
  for (const { id, organizationId } of over) {
    await tx.prisma.membership.deleteMany({ where: { id } });
    await recordChange(tx, actor, {
      organizationId,
      action: 'membership.delete',
      target: { type: 'organization-memberships', id, name: actor.name },
      before: { provider: provider.name },
    });
  }
}

/** Site administration that a group gave goes with it, except from the last administrator there is. */
async function followSiteAdmin(tx: Database, actor: Actor, provider: SignInProvider, groups: readonly string[]) {
  const { id, siteAdminGroup } = provider;
  const user = await tx.prisma.user.findUniqueOrThrow({ where: { id: actor.id } });
  const belongs = siteAdminGroup !== null && groups.includes(siteAdminGroup);
  const grants = belongs && !user.siteAdmin;
  const revokes = !belongs && user.siteAdmin && user.siteAdminBy === id;
  if (!grants && !revokes) return;
  const others = { siteAdmin: true, suspendedAt: null, id: { not: actor.id } };
  if (revokes && (await tx.prisma.user.count({ where: others })) === 0) return;
  await tx.prisma.user.update({
    where: { id: actor.id },
    data: { siteAdmin: grants, siteAdminBy: grants ? id : null },
  });
  await recordChange(tx, actor, {
    organizationId: null,
    action: `user.${grants ? 'grant' : 'revoke'}-admin`,
    target: { type: 'users', id: actor.id, name: user.username },
    after: { provider: provider.name },
  });
}
