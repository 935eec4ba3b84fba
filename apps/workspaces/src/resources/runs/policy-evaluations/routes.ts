import { choice, flag, hasOne, instant, text, timestamps, toOne, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import type {
  PolicyEvaluation as EvaluationRow,
  PolicySetOutcome as OutcomeRow,
} from '../../../generated/prisma/client';
import type { Policy } from '../../../kernel/access/policy';
import type { Database } from '../../../kernel/database/database';
import {
  type Call,
  endpoints,
  includable,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import { organizationsOf, type RunTarget, readsRun } from '../runs/policy';
import { countsOf, type PolicyOutcome, policyKinds } from '../runs/stages/policies';
import { findStages, type TaskStage } from '../task-stages/task-stage';

/** The outcomes of policies of one kind for a run. */
interface Evaluation extends Omit<EvaluationRow, 'organizationId'>, RunTarget {
  readonly organizationId: string;
  readonly counts: ReturnType<typeof countsOf>;
}

/** The outcome of one set. */
interface SetOutcome extends Omit<OutcomeRow, 'outcomes' | 'policies'>, RunTarget {
  readonly outcomes: readonly PolicyOutcome[];
}

const counts = { 'advisory-failed': whole, 'mandatory-failed': whole, passed: whole, errored: whole };

const evaluationSerializer = serializerOf<Evaluation>()({
  type: 'policy-evaluations',
  shape: {
    status: choice(['pending', 'running', 'passed', 'failed', 'errored', 'overridden', 'canceled', 'unreachable']),
    'policy-kind': choice(policyKinds),
    'status-timestamps': timestamps,
    'result-count': z.object(counts),
    'created-at': instant,
    'updated-at': instant,
  },
  relations: { 'policy-attachable': hasOne('task-stages') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/policy-evaluations/${id}`,
  attributes: (evaluation) => ({
    status: evaluation.status,
    'policy-kind': evaluation.kind,
    'status-timestamps': evaluation.timestamps,
    'result-count': evaluation.counts,
    'created-at': evaluation.createdAt,
    'updated-at': evaluation.updatedAt,
  }),
  links: ({ id }) => ({ 'policy-set-outcomes': `/api/v2/policy-evaluations/${id}/policy-set-outcomes` }),
  relationships: ({ taskStageId }) => ({ 'policy-attachable': toOne('task-stages', taskStageId) }),
});

const outcome = z.object({
  policy_name: text,
  query: text,
  enforcement_level: text,
  description: text,
  digest: text,
  status: choice(['passed', 'failed', 'errored']),
  output: z.array(z.object({ print: text })),
});
const outcomeSerializer = serializerOf<SetOutcome>()({
  type: 'policy-set-outcomes',
  shape: {
    outcomes: z.array(outcome),
    error: text,
    overridable: flag,
    'policy-set-name': text,
    'policy-set-description': text,
    'policy-set-version-id': text.nullable(),
    'policy-tool-version': text.optional(),
    result_count: z.object(counts),
  },
  relations: { 'policy-evaluation': hasOne('policy-evaluations') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/policy-set-outcomes/${id}`,
  attributes: (set) => ({
    outcomes: set.outcomes,
    error: set.error,
    overridable: set.overridable,
    'policy-set-name': set.policySetName,
    'policy-set-description': set.policySetDescription,
    'policy-set-version-id': set.policySetVersionId,
    ...(set.toolVersion === null ? {} : { 'policy-tool-version': set.toolVersion }),
    result_count: countsOf([set]),
  }),
  relationships: ({ policyEvaluationId }) => ({ 'policy-evaluation': toOne('policy-evaluations', policyEvaluationId) }),
});

const stage = {
  select: { run: { select: { workspace: { select: { id: true, projectId: true, organizationId: true } } } } },
} as const;
const alive = { run: { workspace: { organization: { removedAt: null } } } };

async function evaluationsWhere(db: Database, where: object): Promise<Evaluation[]> {
  const rows = await db.prisma.policyEvaluation.findMany({
    where: { ...where, stage: alive },
    include: { stage, setOutcomes: { select: { outcomes: true } } },
    orderBy: { kind: 'asc' },
  });
  return rows.flatMap(({ stage: of, taskStageId, setOutcomes, ...row }) =>
    of === null || taskStageId === null
      ? []
      : { ...row, taskStageId, workspace: of.run.workspace, counts: countsOf(setOutcomes) },
  );
}

const findEvaluations = (db: Database, ids: readonly string[]) => evaluationsWhere(db, { id: { in: [...ids] } });

async function outcomesWhere(db: Database, where: object): Promise<SetOutcome[]> {
  const rows = await db.prisma.policySetOutcome.findMany({
    where: { ...where, evaluation: { stage: alive } },
    omit: { policies: true },
    include: { evaluation: { select: { organizationId: true, stage } } },
    orderBy: [{ policySetName: 'asc' }, { id: 'asc' }],
  });
  return rows.flatMap(({ evaluation: { organizationId, stage: of }, ...row }) => {
    const outcomes = row.outcomes as unknown as readonly PolicyOutcome[];
    return of === null ? [] : { ...row, outcomes, organizationId, workspace: of.run.workspace };
  });
}

const shared = { visible: readsRun, organizationsOf };
const ofStage = endpoints({} as Policy<TaskStage>, evaluationSerializer, shared);
const evaluations = endpoints({} as Policy<Evaluation>, evaluationSerializer, shared);
const ofEvaluation = endpoints({} as Policy<Evaluation>, outcomeSerializer, shared);
const ofOutcome = endpoints({} as Policy<SetOutcome>, outcomeSerializer, shared);

const listEvaluations = ofStage.list('/task-stages/:task_stage_id/policy-evaluations', {
  summary: 'List the policy evaluations in a task stage of a run.',
  load: async ({ db, params }: LookupBy<'task_stage_id'>) => (await findStages(db, [params.task_stage_id]))[0],
  run: async ({ db, target, page }: Call<string, undefined, TaskStage>) => {
    const items = await evaluationsWhere(db, { taskStageId: target.id });
    return { items: items.slice(page!.offset, page!.offset + page!.size), total: items.length };
  },
});

const byId = '/policy-evaluations/:policy_evaluation_id';
const loadEvaluation = async ({ db, params }: LookupBy<'policy_evaluation_id'>) =>
  (await findEvaluations(db, [params.policy_evaluation_id]))[0];

const showEvaluation = evaluations.get(byId, {
  summary: 'Show a policy evaluation.',
  load: loadEvaluation,
  run: async ({ target }) => target,
});

/**
 * The filter of sets in a query. A set matches if one of its policies has the status and the level of one of the
 * numbered pairs.
 */
function filterOf(entries: Iterable<readonly [string, string]>): (set: SetOutcome) => boolean {
  const pairs = new Map<string, { status?: string; enforcement_level?: string }>();
  for (const [name, value] of entries) {
    const [, at = '', key] = /^filter\[(\d+)\]\[(status|enforcement_level)\]$/.exec(name) ?? [];
    if (key) pairs.set(at, { ...pairs.get(at), [key]: value });
  }
  const fits = (one: PolicyOutcome) =>
    [...pairs.values()].some(
      ({ status = one.status, enforcement_level: level = one.enforcement_level }) =>
        status === one.status && level === one.enforcement_level,
    );
  return ({ outcomes }) => pairs.size === 0 || outcomes.some(fits);
}

const listOutcomes = ofEvaluation.list(`${byId}/policy-set-outcomes`, {
  summary: 'List the policy set outcomes of an evaluation.',
  query: {
    'filter[i][status]': 'passed, failed or errored: the status of at least one policy. i counts from 0.',
    'filter[i][enforcement_level]': 'Its level.',
  },
  load: loadEvaluation,
  run: async ({ db, target, query, page }) => {
    const { id: policyEvaluationId } = target as Evaluation;
    const items = (await outcomesWhere(db, { policyEvaluationId })).filter(filterOf(query.entries));
    return { items: items.slice(page!.offset, page!.offset + page!.size), total: items.length };
  },
});

const showOutcome = ofOutcome.get('/policy-set-outcomes/:policy_set_outcome_id', {
  summary: 'Show a policy set outcome.',
  load: async ({ db, params }: LookupBy<'policy_set_outcome_id'>) =>
    (await outcomesWhere(db, { id: params.policy_set_outcome_id }))[0],
  run: async ({ target }) => target,
});

/** The evaluations of runs by policies, with their outcome. */
export const policyEvaluationResource: Resource = {
  name: 'policy-evaluations',
  endpoints: [listEvaluations, showEvaluation, listOutcomes, showOutcome],
  includable: {
    'policy-evaluations': includable<Evaluation>({
      serializer: evaluationSerializer,
      load: findEvaluations,
      visible: readsRun,
      organizationsOf,
    }),
  },
};
