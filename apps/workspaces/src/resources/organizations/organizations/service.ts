import { invalid, type Page } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import { Prisma } from '../../../generated/prisma/client';
import type { Principal } from '../../../kernel/access/principal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { containing } from '../../../kernel/database/like';
import { lockRow } from '../../../kernel/database/lock-row';
import { reclaimName } from '../../../kernel/database/released-names';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import { maxLifeOf } from '../../../kernel/installation/token-lives';
import { organizationAttributes } from './attributes';
import {
  type Organization,
  organizationOf,
  type PlanEnvironment,
  readById,
  readByName,
  selectOrganizations,
} from './organization';
import type { NewOrganization, OrganizationChanges } from './schema';
import { settingsAfter } from './settings';

/** The organization of a row, mapped only once for all readers of the same revision. */
function mapped(db: Database, env: PlanEnvironment, row: Record<string, unknown>): Promise<Organization> {
  const revision = `${row.revision} ${row.epoch} ${row.two_factor_conformant}`;
  return db.remembered(`organization ${row.id}`, revision, async () => organizationOf(row, env));
}

/** The organization with a name, ignoring case. */
export async function findByName(db: Database, env: PlanEnvironment, name: string): Promise<Organization | undefined> {
  const row = await db.readOne(readByName, name.toLowerCase());
  return row && mapped(db, env, row);
}

/** The organization with an `org-…` id. */
export async function find(db: Database, env: PlanEnvironment, id: string): Promise<Organization | undefined> {
  const row = await db.readOne(readById, id);
  return row && mapped(db, env, row);
}

/** Organizations by name or id, in no particular order; unknown names and ids are left out. */
export async function findMany(db: Database, env: PlanEnvironment, keys: readonly string[]): Promise<Organization[]> {
  const found = await Promise.all(keys.map((key) => findByName(db, env, key)));
  return found.filter((organization) => organization !== undefined);
}

/** The organization with an id. Throws `missing` if it does not exist. */
export async function requireOrganization(db: Database, env: PlanEnvironment, id: string): Promise<Organization> {
  const found = await find(db, env, id);
  if (found === undefined) throw notFound();
  return found;
}

/** The filters of a list; each matches a part of the text, ignoring case. */
export interface OrganizationSearch {
  /** Part of the name or the address. Replaces the other filters. */
  any?: string;
  name?: string;
  email?: string;
}

function matching({ any, name, email }: OrganizationSearch): Prisma.Sql {
  if (any !== undefined) return Prisma.sql`(o.name ILIKE ${containing(any)} OR o.email ILIKE ${containing(any)})`;
  const byName = name === undefined ? Prisma.sql`TRUE` : Prisma.sql`o.name ILIKE ${containing(name)}`;
  const byEmail = email === undefined ? Prisma.sql`TRUE` : Prisma.sql`o.email ILIKE ${containing(email)}`;
  return Prisma.sql`(${byName} AND ${byEmail})`;
}

/** SQL: whether the caller belongs to the organization in row `o`. */
export function belonging({ kind, id, organizationId }: Principal): Prisma.Sql {
  return kind === 'user'
    ? Prisma.sql`o.id IN (SELECT organization_id FROM membership WHERE user_id = ${id} AND status = 'active')`
    : Prisma.sql`o.id = ${organizationId ?? ''}`;
}

/** A page of the organizations that `where` selects, by name. */
export async function select(
  db: Database,
  env: PlanEnvironment,
  where: Prisma.Sql,
  page: Page | undefined,
): Promise<{ items: Organization[]; total?: number }> {
  const limit = page === undefined ? Prisma.empty : Prisma.sql`LIMIT ${page.size} OFFSET ${page.offset}`;
  const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`
    ${Prisma.raw(selectOrganizations)} WHERE o.removed_at IS NULL AND ${where}
    ORDER BY o.name COLLATE "C", o.id ${limit}`;
  const items = rows.map((row) => organizationOf(row, env));
  if (page === undefined) return { items };
  const [count] = await db.prisma.$queryRaw<[{ total: number }]>`
    SELECT count(*)::int AS total FROM organization o WHERE o.removed_at IS NULL AND ${where}`;
  return { items, total: count.total };
}

/** A page of the caller's organizations, or all of them. Spec: Organizations */
export async function list(
  db: Database,
  env: PlanEnvironment,
  principal: Principal,
  search: OrganizationSearch,
  page: Page | undefined,
): Promise<{ items: Organization[]; total?: number }> {
  return select(db, env, Prisma.sql`${belonging(principal)} AND ${matching(search)}`, page);
}

async function requireRoom(db: Database, settings: SiteSettings, userId: string): Promise<void> {
  if (!settings.limitOrganizationsPerUser) return;
  // Simultaneous requests count the organizations one after the other.
  await lockRow(db, 'user_account', userId);
  const owned = await db.prisma.team.count({
    where: { isOwners: true, members: { some: { membership: { userId } } }, organization: { removedAt: null } },
  });
  if (owned >= settings.defaultOrganizationsPerUserCeiling) {
    throw new Refusal('invalid', `you own ${owned} organizations, the maximum in this installation`);
  }
}

function requireOwnFactor(principal: Principal, policy: string | undefined): void {
  if (policy === 'two_factor_mandatory' && principal.kind === 'user' && !principal.twoFactor) {
    throw invalid('collaboratorAuthPolicy', 'can only require two-factor authentication if your own account uses it');
  }
}

async function requirePool(db: Database, organizationId: string, poolId: string | null, named: string): Promise<void> {
  if (poolId === null) return;
  const pool = await db.prisma.agentPool.findFirst({
    where: { id: poolId, organizationId },
    select: { organizationScoped: true },
  });
  if (pool === null) throw invalid(named, 'was not found');
  if (!pool.organizationScoped) throw invalid(named, 'is not open to the whole organization');
}

/** The data about an organization in audit events. */
const described = (org: Record<string, unknown>): Record<string, unknown> => {
  const { revision: _revision, updatedAt: _updatedAt, ...rest } = org;
  return rest;
};

/**
 * Creates an organization with its owners team containing the creator, its default project and its subscription. Throws
 * `missing` if a site setting forbids it, `invalid` for taken names and broken rules. Spec: Organizations
 */
export async function create(
  db: Database,
  env: PlanEnvironment,
  caller: { principal: Principal; actor: Actor; settings: SiteSettings },
  body: NewOrganization,
): Promise<Organization> {
  const { principal, settings } = caller;
  if (settings.limitUserOrganizationCreation && !principal.siteAdmin) throw notFound();
  requireOwnFactor(principal, body.collaboratorAuthPolicy);
  const after = settingsAfter(organizationAttributes.initial, body, env.edition);
  const id = newId('org');
  await requirePool(db, id, after.defaultAgentPoolId, 'defaultAgentPool');
  return db.transaction(async (tx) => {
    await requireRoom(tx, settings, principal.id);
    const [projectId, teamId, membershipId] = [newId('prj'), newId('team'), newId('ou')];
    await reclaimName(tx, 'organization', 'name', after.name, { userId: principal.id, siteAdmin: principal.siteAdmin });
    await tx.prisma.organization.create({ data: { ...after, id, defaultProjectId: projectId } });
    await tx.prisma.project.create({ data: { id: projectId, organizationId: id, name: 'Default Project' } });
    await tx.prisma.membership.create({
      data: { id: membershipId, organizationId: id, userId: principal.id, status: 'active' },
    });
    await tx.prisma.team.create({ data: { id: teamId, organizationId: id, name: 'owners', isOwners: true } });
    await tx.prisma.teamMember.create({ data: { teamId, membershipId } });
    await tx.prisma.subscription.create({
      data: { id: newId('sub'), organizationId: id, featureSet: env.defaultFeatureSet },
    });
    await recordChange(tx, caller.actor, {
      organizationId: id,
      action: 'organization.create',
      target: { type: 'organizations', id, name: after.name },
      after: described({ ...after }),
    });
    return requireOrganization(tx, env, id);
  });
}

/** Changes the settings in a request; throws `invalid` for taken names and broken rules. Spec: Organizations */
export async function update(
  db: Database,
  env: PlanEnvironment,
  caller: { principal: Principal; actor: Actor },
  organization: Organization,
  changes: OrganizationChanges,
): Promise<Organization> {
  if (changes.collaboratorAuthPolicy !== organization.collaboratorAuthPolicy) {
    requireOwnFactor(caller.principal, changes.collaboratorAuthPolicy);
  }
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', organization.id);
    const current = await requireOrganization(tx, env, organization.id);
    const { id } = current;
    const before = organizationAttributes.stored(current);
    const after = settingsAfter(before, changes, env.edition);
    await requirePool(tx, id, after.defaultAgentPoolId, 'defaultAgentPool');
    if (JSON.stringify(before) === JSON.stringify(after)) return current;
    if (after.name !== before.name) {
      const { id: userId, siteAdmin } = caller.principal;
      await reclaimName(tx, 'organization', 'name', after.name, { id, userId, siteAdmin });
    }
    await tx.prisma.organization.update({ where: { id }, data: { ...after, updatedAt: new Date() } });
    if (after.maxTtlEnabled && !before.maxTtlEnabled) await shortenTokens(tx, id, caller.principal);
    await recordChange(tx, caller.actor, {
      organizationId: id,
      action: 'organization.update',
      target: { type: 'organizations', id, name: after.name },
      before: described({ ...before }),
      after: described({ ...after }),
    });
    return requireOrganization(tx, env, id);
  });
}

/**
 * Shortens the lifetimes of an organization's and its teams' tokens to its limit. User tokens are not changed; instead,
 * user tokens with a longer lifetime are refused. The caller holds the lock of the organization, so new tokens wait.
 * Throws `invalid` if the token of the request itself would be refused.
 */
export async function shortenTokens(tx: Database, id: string, by: Principal): Promise<void> {
  const [own] = await tx.prisma.$queryRaw<{ max: number | null }[]>`
    SELECT ${Prisma.raw(maxLifeOf("'user'"))} AS max FROM organization o WHERE o.id = ${id}`;
  const { kind, session, tokenLifeMs = Number.POSITIVE_INFINITY } = by;
  if (kind === 'user' && session === undefined && tokenLifeMs > (own?.max ?? Number.POSITIVE_INFINITY)) {
    throw invalid(
      'maxTtlEnabled',
      'would lock out your own token: its lifetime is longer than the new maximum for user API tokens',
    );
  }
  const limit = Prisma.sql`k.created_at + ${Prisma.raw(maxLifeOf("replace(k.kind, '-', '_')"))} * interval '1 millisecond'`;
  await tx.prisma.$executeRaw`
    UPDATE token k SET expires_at = ${limit} FROM organization o
     WHERE o.id = ${id} AND o.max_ttl_enabled AND k.kind IN ('organization', 'team', 'audit-trails')
       AND (k.organization_id = o.id OR k.team_id IN (SELECT id FROM team WHERE organization_id = o.id))
       AND (k.expires_at IS NULL OR k.expires_at > ${limit})`;
}

/** Marks an organization as removed, which hides it immediately. A worker deletes the rest. */
export async function remove(db: Database, actor: Actor, organization: Organization): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.organization.updateMany({
      where: { id: organization.id, removedAt: null },
      data: { removedAt: new Date() },
    });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, {
      organizationId: organization.id,
      action: 'organization.delete',
      target: { type: 'organizations', id: organization.id, name: organization.name },
      before: described({ name: organization.name, email: organization.email }),
    });
  });
}
