import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { fillSiteAdmins, fillTeams, type UserLimit } from './filling';
import type { SignInProvider } from './provider';

export type { UserLimit };

/**
 * Adds a user to the teams that are linked with one of their groups at a provider, and removes them from other teams to
 * which the provider had added them. Memberships added by hand are kept. Call it in a transaction.
 */
export async function followGroups(
  tx: Database,
  actor: Actor,
  provider: Pick<SignInProvider, 'id' | 'name' | 'siteAdminGroup'>,
  groups: readonly string[],
  userLimit: UserLimit,
): Promise<void> {
  await followSiteAdmin(tx, actor, provider, groups);
  const teams = await teamsOf(tx, provider.id, groups);
  await fillTeams(
    tx,
    actor,
    provider,
    [actor.id],
    teams.map(({ id }) => ({ userId: actor.id, teamId: id })),
    userLimit,
  );
}

/** Like `followGroups`, but only for site administration. */
export async function followSiteAdmin(
  tx: Database,
  actor: Actor,
  provider: Pick<SignInProvider, 'id' | 'name' | 'siteAdminGroup'>,
  groups: readonly string[],
): Promise<void> {
  const { siteAdminGroup } = provider;
  const administers = siteAdminGroup !== null && groups.includes(siteAdminGroup);
  await fillSiteAdmins(tx, actor, provider, [actor.id], new Set(administers ? [actor.id] : []));
}

async function teamsOf(tx: Database, providerId: string, groups: readonly string[]): Promise<{ id: string }[]> {
  return tx.prisma.$queryRaw<{ id: string }[]>`
    SELECT t.id
      FROM team t JOIN organization o ON o.id = t.organization_id
     WHERE (t.sso_team_id = ANY(${[...groups]}::text[])
         OR (${providerId === 'saml'} AND t.is_owners AND o.owners_team_saml_role_id = ANY(${[...groups]}::text[])))
       AND o.removed_at IS NULL
       AND (NOT EXISTS (SELECT 1 FROM sign_in_provider_organization p WHERE p.provider_id = ${providerId})
         OR EXISTS (SELECT 1 FROM sign_in_provider_organization p
                     WHERE p.provider_id = ${providerId} AND p.organization_id = o.id))
     ORDER BY t.id`;
}
