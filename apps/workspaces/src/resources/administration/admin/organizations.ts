import { document, flag, hasMany, instant, references, text, toMany, whole } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { z } from 'zod';
import { Prisma } from '../../../generated/prisma/client';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { containing } from '../../../kernel/database/like';
import { type Endpoint, endpoints, type LookupBy, serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { timeout } from '../../../kernel/installation/run-timeouts';
import type { Organization } from '../../organizations/organizations/organization';
import * as organizations from '../../organizations/organizations/service';
import { shownTimeouts, timeoutAliases, timeoutsOf, withOneName } from './timeouts';

/** An organization as site administrators see it. */
interface AdminOrganization extends Organization {
  readonly ownerIds: readonly string[];
}

const adminSerializer = serializerOf<AdminOrganization>()({
  type: 'organizations',
  shape: {
    name: text,
    'external-id': text,
    'notification-email': text,
    'created-at': instant,
    'access-beta-tools': flag,
    'global-module-sharing': flag.nullable(),
    'global-provider-sharing': flag.nullable(),
    'is-disabled': flag,
    'sso-enabled': flag,
    ...timeoutsOf(text.nullable()),
    'worker-sudo-enabled': flag,
    'workspace-limit': whole.nullable(),
  },
  relations: { owners: hasMany('users') },
  id: ({ name }) => name,
  self: ({ name }) => `/api/v2/admin/organizations/${name}`,
  aliases: { ...timeoutAliases, 'worker-sudo-enabled': 'terraform-worker-sudo-enabled' },
  attributes: (org) => ({
    name: org.name,
    'external-id': org.id,
    'notification-email': org.email,
    'created-at': org.createdAt,
    'access-beta-tools': org.accessBetaTools,
    'global-module-sharing': org.globalModuleSharing,
    'global-provider-sharing': org.globalProviderSharing,
    'is-disabled': org.isDisabled,
    'sso-enabled': false,
    ...shownTimeouts(org.planTimeout, org.applyTimeout),
    'worker-sudo-enabled': org.workerSudoEnabled,
    'workspace-limit': org.workspaceLimit,
  }),
  relationships: ({ ownerIds }) => ({ owners: toMany('users', ownerIds) }),
});

const UpdateOrganization = document('organizations', {
  untyped: true,
  attributes: {
    'access-beta-tools': z.boolean().optional(),
    'global-module-sharing': z.boolean().nullable().optional(),
    'global-provider-sharing': z.boolean().nullable().optional(),
    'is-disabled': z.boolean().optional(),
    ...timeoutsOf(timeout.nullable().optional()),
    'worker-sudo-enabled': z.boolean().optional(),
    'workspace-limit': z.int().min(0).max(1_000_000).nullable().optional(),
  },
  aliases: { ...timeoutAliases, 'worker-sudo-enabled': 'terraform-worker-sudo-enabled' },
});

async function withOwners(db: Database, found: readonly Organization[]): Promise<AdminOrganization[]> {
  const members = await db.prisma.teamMember.findMany({
    where: { team: { isOwners: true, organizationId: { in: found.map(({ id }) => id) } } },
    select: { team: { select: { organizationId: true } }, membership: { select: { userId: true } } },
    orderBy: { membershipId: 'asc' },
  });
  return found.map((organization) => ({
    ...organization,
    ownerIds: members
      .filter(({ team }) => team.organizationId === organization.id)
      .map(({ membership }) => membership.userId),
  }));
}

async function reread(db: Database, env: Environment, id: string): Promise<AdminOrganization> {
  const found = await organizations.find(db, env, id);
  if (found === undefined) throw notFound();
  return (await withOwners(db, [found]))[0]!;
}

const { get, list, patch, remove, command } = endpoints({} as Policy<undefined>, adminSerializer, {
  organizationsOf: () => [],
});
const admin = { siteAdmin: true, edition: 'self-hosted' } as const;
const path = '/admin/organizations/:organization_name';
const consumersPath = `${path}/relationships/module-consumers` as const;
const load = ({ db, env, params }: LookupBy<'organization_name'>) =>
  organizations.findByName(db, env, params.organization_name);

const index = list('/admin/organizations', {
  ...admin,
  summary: 'List every organization of the installation.',
  query: { q: 'Part of the name or email address.' },
  include: ['owners'],
  async run({ db, env, query, page }) {
    const text = containing(query.get('q') ?? '');
    const where = Prisma.sql`(o.name ILIKE ${text} OR o.email ILIKE ${text})`;
    const { items, total } = await organizations.select(db, env, where, page);
    return { items: await withOwners(db, items), total };
  },
});

const show = get(path, {
  ...admin,
  summary: 'Show an organization, with the settings for site administrators.',
  include: ['owners'],
  load,
  run: ({ db, env, target }) => reread(db, env, target.id),
});

const update = patch(path, {
  ...admin,
  summary: 'Change the settings of an organization that only site administrators may change.',
  include: ['owners'],
  body: UpdateOrganization,
  load,
  async run({ db, env, target, body, ...call }) {
    const changes = withOneName(body);
    const data = { ...changes, updatedAt: new Date() };
    const sent = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    await db.transaction(async (tx) => {
      await tx.prisma.organization.update({ where: { id: target.id }, data });
      await recordChange(tx, actorOf(call), {
        organizationId: target.id,
        action: 'organization.administer',
        target: { type: 'organizations', id: target.id, name: target.name },
        before: Object.fromEntries(Object.keys(sent).map((key) => [key, target[key as keyof Organization]])),
        after: sent,
      });
    });
    return reread(db, env, target.id);
  },
});

const destroy = remove(path, {
  ...admin,
  summary: 'Delete any organization.',
  stepUp: true,
  load,
  run: ({ db, target, ...call }) => organizations.remove(db, actorOf(call), target),
});

const consumers = list(consumersPath, {
  ...admin,
  summary: 'List the organizations that may use the modules of an organization.',
  load,
  async run({ db, env, target, page }) {
    const where = Prisma.sql`o.id IN (SELECT consumer_id FROM module_consumer WHERE producer_id = ${target.id})`;
    const { items, total } = await organizations.select(db, env, where, page);
    return { items: await withOwners(db, items), total };
  },
});

const setConsumers = command('PATCH')(consumersPath, {
  ...admin,
  summary:
    'Set the organizations that may use the modules of an organization. Sharing with all organizations is turned off.',
  body: references('organizations'),
  load,
  async run({ db, env, target, body, ...call }) {
    const names = [...new Set(body.map(({ id }) => id ?? ''))];
    const found = await organizations.findMany(db, env, names);
    if (found.length < names.length) throw notFound();
    const chosen = found.filter(({ id }) => id !== target.id);
    await db.transaction(async (tx) => {
      await tx.prisma.moduleConsumer.deleteMany({ where: { producerId: target.id } });
      await tx.prisma.moduleConsumer.createMany({
        data: chosen.map(({ id }) => ({ producerId: target.id, consumerId: id })),
      });
      await tx.prisma.organization.update({ where: { id: target.id }, data: { globalModuleSharing: false } });
      await recordChange(tx, actorOf(call), {
        organizationId: target.id,
        action: 'organization.set-module-consumers',
        target: { type: 'organizations', id: target.id, name: target.name },
        after: { consumers: chosen.map(({ name }) => name) },
      });
    });
  },
});

/** Site administration of organizations. */
export const organizationEndpoints: readonly Endpoint[] = [index, show, update, destroy, consumers, setConsumers];
