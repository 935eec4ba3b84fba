import { badParameter, choice, document, flag, hasOne, instant, many, text, toOne, whole } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import {
  type Call,
  endpoints,
  includable,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import type { Organization } from '../../organizations/organizations/organization';
import * as organizations from '../../organizations/organizations/service';
import { endDryRun } from '../../runs/policy-evaluations/dry-run';
import { accountOf } from '../../runs/runs/serializer';
import { policyPolicy, readsPolicies } from '../policies/policy';
import { create as createDryRun, type DryRun, type DryRunResult, findMany, list, mostRuns, results } from './service';

const dryRunSerializer = serializerOf<DryRun>()({
  type: 'policy-dry-runs',
  shape: {
    status: choice(['running', 'finished', 'canceled', 'errored']),
    reason: text.nullable(),
    runs: whole,
    passed: whole,
    failed: whole,
    errored: whole,
    skipped: whole,
    'would-stop': whole,
    'created-at': instant,
    'finished-at': instant.nullable(),
  },
  relations: { 'created-by': hasOne('users') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/policy-dry-runs/${id}`,
  attributes: (one) => ({
    status: one.status,
    reason: one.reason,
    runs: one.runs,
    passed: one.passed,
    failed: one.failed,
    errored: one.errored,
    skipped: one.skipped,
    'would-stop': one.stopped,
    'created-at': one.createdAt,
    'finished-at': one.finishedAt,
  }),
  relationships: (one) => ({ 'created-by': accountOf(one.createdByType, one.createdById) }),
});

const statuses = ['pending', 'passed', 'failed', 'errored', 'skipped'] as const;
const resultSerializer = serializerOf<DryRunResult>()({
  type: 'policy-dry-run-results',
  shape: {
    status: choice(statuses),
    'would-stop': flag,
    'workspace-name': text,
    outcomes: z.array(
      z.object({
        'policy-set-name': text,
        'policy-name': text,
        'enforcement-level': text,
        status: choice(['failed', 'errored']),
        output: z.array(text),
      }),
    ),
  },
  relations: { run: hasOne('runs'), workspace: hasOne('workspaces') },
  id: ({ id }) => id,
  attributes: (one) => ({
    status: one.status,
    'would-stop': one.wouldStop,
    'workspace-name': one.workspaceName,
    outcomes: one.outcomes.map(({ policySet, policy, enforcementLevel, status, output }) => ({
      'policy-set-name': policySet,
      'policy-name': policy,
      'enforcement-level': enforcementLevel,
      status,
      output: [...output],
    })),
  }),
  relationships: ({ runId, workspaceId }) => ({
    run: toOne('runs', runId),
    workspace: toOne('workspaces', workspaceId),
  }),
});

const CreateDryRun = document('policy-dry-runs', {
  attributes: { runs: z.number().int().min(1).max(mostRuns).nullish() },
  relationships: { policies: many('policies'), 'policy-sets': many('policy-sets'), workspaces: many('workspaces') },
});

const managesIn = policyPolicy['can-manage'];
const inOrganization = '/organizations/:organization_name/policy-dry-runs' as const;
const byId = '/policy-dry-runs/:policy_dry_run_id' as const;
const loadOrganization = ({ db, env, params }: LookupBy<'organization_name'>) =>
  organizations.findByName(db, env, params.organization_name);
const load = async ({ db, params }: LookupBy<'policy_dry_run_id'>) =>
  (await findMany(db, [params.policy_dry_run_id]))[0];

const onOrganization = endpoints({} as Policy<Organization>, dryRunSerializer, {
  visible: (access, { id }) => access.isMember(id),
  organizationsOf: (item: Organization | DryRun) => ['runs' in item ? item.organizationId : item.id],
});
const onDryRun = endpoints(policyPolicy, dryRunSerializer, {
  visible: readsPolicies,
  organizationsOf: ({ organizationId }) => [organizationId],
});
type DryRunCall = Call<string, undefined, DryRun>;
const most = 100;
const idsOf = (sent: readonly { readonly id?: string | null }[] | undefined, name: string): string[] => {
  const ids = [...new Set((sent ?? []).flatMap(({ id }) => id ?? []))];
  if (ids.length > most)
    throw new Refusal('invalid', '', [
      { path: ['data', 'relationships', name], message: `has too many members (maximum is ${most})` },
    ]);
  return ids;
};

const create = onOrganization.post(inOrganization, {
  summary:
    'Evaluate policies on the plans of earlier runs, to see which runs they would have stopped. Changes nothing.',
  requires: (access, { id }) => managesIn(access, { organizationId: id }),
  body: CreateDryRun,
  load: loadOrganization,
  run: ({ db, target, body, ...call }) =>
    createDryRun(db, actorOf(call), (target as Organization).id, {
      runs: body.runs ?? mostRuns,
      policies: idsOf(body.policies, 'policies'),
      policySets: idsOf(body.policySets, 'policy-sets'),
      workspaces: idsOf(body.workspaces, 'workspaces'),
    }),
});

const index = onOrganization.list(inOrganization, {
  summary: 'List the policy dry runs of an organization, newest first. The newest 20 are kept.',
  requires: (access, { id }) => managesIn(access, { organizationId: id }),
  load: loadOrganization,
  run: ({ db, target, page }) => list(db, (target as Organization).id, page!),
});

const show = onDryRun.get(byId, {
  summary: 'Show a policy dry run: how many runs passed so far, and how many would have been stopped.',
  requires: 'can-manage',
  load,
  run: async ({ target }: DryRunCall) => target,
});

const canceling = onDryRun.command('POST')(`${byId}/actions/cancel`, {
  summary: 'Cancel a policy dry run. The results so far are kept.',
  requires: 'can-manage',
  load,
  run: async ({ db, target, ...call }: DryRunCall) => {
    const ended = await db.transaction((tx) => endDryRun(tx, target.id, 'canceled', { actor: actorOf(call) }));
    if (!ended) throw new Refusal('transition', 'transition not allowed: the dry run has ended');
  },
});

const isStatus = (text: string): boolean => (statuses as readonly string[]).includes(text);

const resultIndex = endpoints(policyPolicy, resultSerializer, {
  visible: readsPolicies,
  organizationsOf: ({ organizationId }) => [organizationId],
}).list(`${byId}/results`, {
  summary: 'List the results for each run, newest run first.',
  query: {
    'filter[status]': `One of ${statuses.join(', ')}.`,
    'filter[would_stop]': 'true: runs that would have been stopped; false: the other evaluated ones.',
  },
  requires: 'can-manage',
  load,
  run: ({ db, target, query, page }) => {
    const status = query.get('filter[status]');
    const stop = query.get('filter[would_stop]');
    if (status !== undefined && !isStatus(status)) throw badParameter('filter[status]', 'Invalid filter parameter');
    if (stop !== undefined && !['true', 'false'].includes(stop)) {
      throw badParameter('filter[would_stop]', 'must be true or false');
    }
    const wouldStop = stop === undefined ? undefined : stop === 'true';
    return results(db, target as DryRun, { status, wouldStop }, page!);
  },
});

/** Dry runs: policies are evaluated for earlier plans without effect, to show which runs they would have stopped. */
export const policyDryRunResource: Resource = {
  name: 'policy-dry-runs',
  endpoints: [create, index, show, canceling, resultIndex],
  includable: {
    'policy-dry-runs': includable<DryRun>({ serializer: dryRunSerializer, load: findMany, visible: managesIn }),
  },
};
