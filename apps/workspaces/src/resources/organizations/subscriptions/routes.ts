import {
  document,
  flag,
  hasOne,
  instant,
  invalid,
  requiredOne,
  sentInstant,
  text,
  toOne,
  whole,
} from '@keystead/jsonapi';
import { z } from 'zod';
import type { Subscription } from '../../../generated/prisma/client';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type LookupBy, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import { entitlementAttributes, entitlementShape } from '../../../kernel/installation/entitlements';
import { type FeatureSet, featureSets, requireFeatureSet } from '../../../kernel/installation/feature-sets';
import type { Organization, PlanEnvironment } from '../organizations/organization';
import { organizationPolicy } from '../organizations/policy';
import * as organizations from '../organizations/service';

/** A subscription, its plan, and the name of its organization. */
interface OrganizationPlan extends Subscription {
  readonly organization: string;
}

const subscriptionSerializer = serializerOf<OrganizationPlan>()({
  type: 'subscriptions',
  shape: {
    'start-at': instant,
    'end-at': instant.nullable(),
    'is-active': flag,
    'is-public-free-tier': flag,
    'is-self-serve-trial': flag,
    'runs-ceiling': whole,
    'agents-ceiling': whole,
    'contract-start-at': instant.nullable(),
    'contract-user-limit': whole.nullable(),
    'contract-apply-limit': whole.nullable(),
    'run-task-limit': whole.nullable(),
    'run-task-workspace-limit': whole.nullable(),
    'run-task-mandatory-enforcement-limit': whole.nullable(),
    'policy-set-limit': whole.nullable(),
    'policy-limit': whole.nullable(),
    'policy-mandatory-enforcement-limit': whole.nullable(),
    'versioned-policy-set-limit': whole.nullable(),
  },
  relations: {
    organization: hasOne('organizations'),
    'billing-account': hasOne('billing-accounts'),
    'feature-set': hasOne('feature-sets'),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/subscriptions/${id}`,
  attributes: (subscription) => {
    const plan = requireFeatureSet(subscription.featureSet);
    return {
      'start-at': subscription.startAt,
      'end-at': subscription.endAt,
      'is-active': subscription.endAt === null || subscription.endAt.getTime() > Date.now(),
      'is-public-free-tier': plan.isFreeTier,
      'is-self-serve-trial': plan.identifier === 'trial',
      'runs-ceiling': subscription.runsCeiling ?? plan.runsCeiling,
      'agents-ceiling': subscription.agentsCeiling ?? plan.agentsCeiling,
      'contract-start-at': subscription.contractStartAt,
      'contract-user-limit': subscription.contractUserLimit,
      'contract-apply-limit': subscription.contractApplyLimit,
      'run-task-limit': plan.entitlements.runTaskLimit,
      'run-task-workspace-limit': plan.entitlements.runTaskWorkspaceLimit,
      'run-task-mandatory-enforcement-limit': plan.entitlements.runTaskMandatoryEnforcementLimit,
      'policy-set-limit': plan.entitlements.policySetLimit,
      'policy-limit': plan.entitlements.policyLimit,
      'policy-mandatory-enforcement-limit': plan.entitlements.policyMandatoryEnforcementLimit,
      'versioned-policy-set-limit': plan.entitlements.versionedPolicySetLimit,
    };
  },
  relationships: ({ organization, featureSet }) => ({
    organization: toOne('organizations', organization),
    'billing-account': { data: null },
    'feature-set': toOne('feature-sets', requireFeatureSet(featureSet).id),
  }),
});

/** A plan, and whether it is the organization's current plan. */
type ShownPlan = FeatureSet & { readonly isCurrent: boolean };

const featureSetSerializer = serializerOf<ShownPlan>()({
  type: 'feature-sets',
  shape: {
    name: text,
    identifier: text,
    cost: whole,
    'is-current': flag,
    'is-free-tier': flag,
    'default-runs-ceiling': whole,
    'default-agents-ceiling': whole,
    ...entitlementShape,
  },
  id: ({ id }) => id,
  attributes: (plan) => ({
    name: plan.name,
    identifier: plan.identifier,
    cost: plan.cost,
    'is-current': plan.isCurrent,
    'is-free-tier': plan.isFreeTier,
    'default-runs-ceiling': plan.runsCeiling,
    'default-agents-ceiling': plan.agentsCeiling,
    ...entitlementAttributes(plan.entitlements),
  }),
  aliases: { polengine: 'sentinel' },
});

async function findPlan(db: Database, organization: Organization): Promise<OrganizationPlan> {
  const stored = await db.prisma.subscription.findUniqueOrThrow({ where: { organizationId: organization.id } });
  return { ...stored, organization: organization.name };
}

async function findById(db: Database, env: PlanEnvironment, id: string): Promise<OrganizationPlan | undefined> {
  const stored = await db.prisma.subscription.findUnique({ where: { id } });
  const organization = stored && (await organizations.find(db, env, stored.organizationId));
  return stored && organization ? { ...stored, organization: organization.name } : undefined;
}

/** Plans whose name or identifier contains a string; one page, or all. */
function searchPlans(
  text: string | undefined,
  page: { size: number; offset: number } | undefined,
  current?: string,
): { items: ShownPlan[]; total?: number } {
  // Clients use a longer name for one of the plans: `Standard (entitlement)`.
  const term = (text ?? '').toLowerCase().replace(/ \(.*\)$/, '');
  const found = featureSets
    .filter(({ name, identifier }) => `${name} ${identifier}`.toLowerCase().includes(term))
    .map((plan) => ({ ...plan, isCurrent: plan.identifier === current }));
  return page === undefined
    ? { items: found }
    : { items: found.slice(page.offset, page.offset + page.size), total: found.length };
}

const ceiling = z.int().min(0).max(1_000_000_000).nullable().optional();
const moment = sentInstant('must be an ISO 8601 timestamp').nullable().optional();

const ChangePlan = document('subscription', {
  attributes: {
    'runs-ceiling': ceiling,
    'agents-ceiling': ceiling,
    'contract-start-at': moment,
    'contract-user-limit': ceiling,
    'contract-apply-limit': ceiling,
    'end-at': moment,
  },
  relationships: { 'feature-set': requiredOne('feature-sets') },
  otherTypes: ['subscriptions'],
});

const visible = organizationPolicy['can-traverse'];
const path = '/organizations/:organization_name';
const load = ({ db, env, params }: LookupBy<'organization_name'>) =>
  organizations.findByName(db, env, params.organization_name);

const plans = endpoints(organizationPolicy, subscriptionSerializer, { visible });
const sets = endpoints({} as Policy<undefined>, featureSetSerializer);

const ofOrganization = plans.get(`${path}/subscription`, {
  summary: 'Show the subscription of an organization.',
  edition: 'hosted',
  load,
  run: ({ db, target }) => findPlan(db, target),
});

const byId = plans.get('/subscriptions/:id', {
  summary: 'Show a subscription.',
  edition: 'hosted',
  visible: (access, { organizationId }: OrganizationPlan) => access.canTraverse(organizationId),
  load: ({ db, env, params }) => findById(db, env, params.id),
  run: async ({ target }) => target,
});

const allSets = sets.list('/feature-sets', {
  summary: 'List all plans.',
  edition: 'hosted',
  paging: 'optional',
  run: async ({ query, page }) => searchPlans(query.get('q'), page),
});

const setsOfOrganization = sets.list(`${path}/feature-sets`, {
  summary: 'List the plans that an organization can use.',
  edition: 'hosted',
  paging: 'optional',
  visible,
  load,
  run: async ({ query, page, target }) => searchPlans(query.get('q'), page, target.featureSet),
});

const adminSets = sets.list('/admin/feature-sets', {
  summary: 'Search all plans.',
  edition: 'hosted',
  siteAdmin: true,
  paging: 'optional',
  query: { q: 'Part of the name.' },
  run: async ({ query, page }) => searchPlans(query.get('q'), page),
});

const change = plans.post('/admin/organizations/:organization_name/subscription', {
  summary: 'Change the plan of an organization.',
  edition: 'hosted',
  siteAdmin: true,
  body: ChangePlan,
  load,
  async run({ db, env, target, body, ...call }) {
    const { featureSet: id, ...limits } = body;
    const plan = featureSets.find((set) => set.id === id);
    if (plan === undefined) throw invalid('featureSet', 'was not found');
    await db.transaction(async (tx) => {
      const data = { ...limits, featureSet: plan.identifier };
      await tx.prisma.subscription.update({ where: { organizationId: target.id }, data });
      await recordChange(tx, actorOf(call), {
        organizationId: target.id,
        action: 'subscription.update',
        target: { type: 'subscriptions', id: target.subscriptionId ?? '', name: target.name },
        before: { featureSet: target.featureSet },
        after: { featureSet: plan.identifier },
      });
    });
    return findPlan(db, target);
  },
});

/** Subscriptions and the plans they are for. Hosted edition only. */
export const subscriptionResource: Resource = {
  name: 'subscriptions',
  endpoints: [ofOrganization, byId, allSets, setsOfOrganization, adminSets, change],
  includable: {
    subscriptions: includable({
      serializer: subscriptionSerializer,
      load: async (db, ids, env) =>
        (await Promise.all(ids.map((id) => findById(db, env, id)))).filter((found) => found !== undefined),
      visible: (access, { organizationId }) => access.canTraverse(organizationId),
      organizationsOf: ({ organizationId }) => [organizationId],
    }),
  },
};
