import { choice, flag, hasMany, hasOne, instant, text, timestamps, toMany, toOne } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { abilities, type Policy, permissions, policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { readBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import {
  type Call,
  endpoints,
  includable,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import { enforcementLevels, taskStages } from '../../workspaces/run-tasks/run-task';
import { bodyOf } from '../agents/wire';
import { organizationsOf, readsRun, runPolicy } from '../runs/policy';
import { find as findRun, type Run } from '../runs/run';
import { Remark, type Remarked } from '../runs/schema';
import { overrideStage } from '../runs/stages/settle';
import { Callback, requireAsked, requireOpen, requireToken, takeResult } from './callback';
import {
  findOutcome,
  findResults,
  findStages,
  outcomesOf,
  stagesOfRun,
  type TaskOutcome,
  type TaskResult,
  type TaskStage,
} from './task-stage';

const stagePolicy = policy<TaskStage>()({
  'can-override-tasks': runPolicy['can-override-tasks'],
  'can-override-policy': runPolicy['can-override-policy-check'],
  // A caller who overrides a stage must be allowed to override everything that failed the run.
  'can-override': (access, stage) =>
    (!stage.against.tasks || runPolicy['can-override-tasks'](access, stage)) &&
    (!stage.against.policies || runPolicy['can-override-policy-check'](access, stage)) &&
    (runPolicy['can-override-tasks'](access, stage) || runPolicy['can-override-policy-check'](access, stage)),
});

const stageSerializer = serializerOf<TaskStage>()({
  type: 'task-stages',
  shape: {
    stage: choice(taskStages),
    status: choice([
      'pending',
      'running',
      'passed',
      'failed',
      'awaiting_override',
      'canceled',
      'errored',
      'unreachable',
    ]),
    'status-timestamps': timestamps,
    'created-at': instant,
    'updated-at': instant,
    permissions: permissions(stagePolicy),
    actions: z.object({ 'is-overridable': flag }),
  },
  relations: {
    run: hasOne('runs'),
    'task-results': hasMany('task-results'),
    'policy-evaluations': hasMany('policy-evaluations'),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/task-stages/${id}`,
  attributes: (stage, { access }) => ({
    stage: stage.stage,
    status: stage.status,
    'status-timestamps': stage.timestamps,
    'created-at': stage.createdAt,
    'updated-at': stage.updatedAt,
    permissions: abilities(stagePolicy, access, stage),
    actions: { 'is-overridable': stage.status === 'awaiting_override' },
  }),
  relationships: ({ runId, resultIds, evaluationIds }) => ({
    run: toOne('runs', runId),
    'task-results': toMany('task-results', resultIds),
    'policy-evaluations': toMany('policy-evaluations', evaluationIds),
  }),
});

const tags = z.record(z.string(), z.array(z.object({ label: text, level: text.optional() })));
const resultSerializer = serializerOf<TaskResult>()({
  type: 'task-results',
  shape: {
    status: choice(['pending', 'running', 'passed', 'failed', 'errored', 'unreachable', 'canceled']),
    message: text,
    url: text,
    stage: choice(taskStages),
    'status-timestamps': timestamps,
    'created-at': instant,
    'updated-at': instant,
    'task-id': text,
    'task-name': text,
    'task-url': text,
    'workspace-task-id': text.nullable(),
    'workspace-task-enforcement-level': choice(enforcementLevels),
    outcomes: z.array(
      z.object({
        'outcome-id': text.nullish(),
        description: text.nullish(),
        body: text.nullish(),
        url: text.nullish(),
        tags: tags.nullish(),
      }),
    ),
  },
  relations: { 'task-stage': hasOne('task-stages'), 'task-result-outcomes': hasMany('task-result-outcomes') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/task-results/${id}`,
  attributes: (result) => ({
    status: result.status,
    message: result.message,
    url: result.url,
    stage: result.stageName,
    'status-timestamps': result.timestamps,
    'created-at': result.createdAt,
    'updated-at': result.updatedAt,
    'task-id': result.runTaskId,
    'task-name': result.taskName,
    'task-url': result.taskUrl,
    'workspace-task-id': result.workspaceTaskId,
    'workspace-task-enforcement-level': result.enforcementLevel,
    outcomes: result.outcomes,
  }),
  relationships: (result) => ({
    'task-stage': toOne('task-stages', result.taskStageId),
    'task-result-outcomes': toMany(
      'task-result-outcomes',
      outcomesOf(result).map(({ id }) => id),
      `/api/v2/task-results/${result.id}/outcomes`,
    ),
  }),
});

const outcomeSerializer = serializerOf<TaskOutcome>()({
  type: 'task-result-outcomes',
  shape: {
    'outcome-id': text.nullable(),
    description: text.nullable(),
    body: text.nullable(),
    url: text.nullable(),
    tags: z.array(z.object({ label: text, value: z.array(z.object({ label: text, level: text.optional() })) })),
    'created-at': instant,
  },
  relations: { 'task-result': hasOne('task-results') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/task-result-outcomes/${id}`,
  attributes: ({ finding, createdAt }) => ({
    'outcome-id': finding['outcome-id'] ?? null,
    description: finding.description ?? null,
    body: finding.body ?? null,
    url: finding.url ?? null,
    tags: Object.entries(finding.tags ?? {}).map(([label, value]) => ({ label, value: [...value] })),
    'created-at': createdAt,
  }),
  relationships: ({ taskResultId }) => ({ 'task-result': toOne('task-results', taskResultId) }),
});

const ofRun = endpoints(runPolicy, stageSerializer, { visible: readsRun, organizationsOf });
const ofStage = endpoints(stagePolicy, stageSerializer, { visible: readsRun, organizationsOf });
const ofResult = endpoints({} as Policy<TaskResult>, resultSerializer, { visible: readsRun, organizationsOf });
const { raw } = endpoints({} as Policy<undefined>, undefined, { organizationsOf: () => [] });

const include = ['task_results', 'policy_evaluations', 'run'];
const stagePath = '/task-stages/:task_stage_id';
const resultPath = '/task-results/:task_result_id';
const loadStage = async ({ db, params }: LookupBy<'task_stage_id'>) =>
  (await findStages(db, [params.task_stage_id]))[0];
const resultAt = async (db: Database, id: string) => (await findResults(db, [id]))[0];
const loadResult = ({ db, params }: LookupBy<'task_result_id'>) => resultAt(db, params.task_result_id);

const listStages = ofRun.list('/runs/:run_id/task-stages', {
  summary: 'List the task stages of a run.',
  paging: 'none',
  include,
  load: ({ db, env, params }) => findRun(db, env.keyring, params.run_id),
  run: async ({ db, target }: Call<string, undefined, Run>) => ({ items: await stagesOfRun(db, target.id) }),
});

const showStage = ofStage.get(stagePath, {
  summary: 'Show a task stage of a run.',
  include,
  load: loadStage,
  run: async ({ target }) => target,
});

const override = ofStage.action(`${stagePath}/actions/override`, {
  summary: 'Override a task stage, so that the run continues although mandatory tasks or policies failed.',
  tokens: ['user', 'team'],
  requires: 'can-override',
  body: Remark,
  load: loadStage,
  run: async ({ db, env, target, body, ...call }: Call<string, Remarked, TaskStage>) => {
    await overrideStage(db, env.keyring, { actor: actorOf(call), comment: body.comment || null }, target);
    return (await findStages(db, [target.id]))[0]!;
  },
});

const showResult = ofResult.get(resultPath, {
  summary: 'Show the task result in a run.',
  include: ['task_stage'],
  load: loadResult,
  run: async ({ target }) => target,
});

const ofOutcomes = endpoints({} as Policy<TaskResult>, outcomeSerializer, { visible: readsRun, organizationsOf });
const listOutcomes = ofOutcomes.list(`${resultPath}/outcomes`, {
  summary: 'List the outcomes of a task result.',
  load: loadResult,
  run: async ({ target, page }: Call<string, undefined, TaskResult>) => {
    const all = outcomesOf(target);
    return { items: all.slice(page!.offset, page!.offset + page!.size), total: all.length };
  },
});

const showOutcome = endpoints({} as Policy<TaskOutcome>, outcomeSerializer, { visible: readsRun, organizationsOf }).get(
  '/task-result-outcomes/:task_result_outcome_id',
  {
    summary: 'Show an outcome of a task result.',
    load: ({ db, params }: LookupBy<'task_result_outcome_id'>) => findOutcome(db, params.task_result_outcome_id),
    run: async ({ target }) => target,
  },
);

const callback = raw('PATCH')(`${resultPath}/callback`, {
  summary: 'Report the progress or the final result of a task, with the access token from the task’s request.',
  answers: { 200: { description: 'Taken.' } },
  refuses: [401, 409],
  auth: 'none',
  turns: false,
  body: bodyOf(Callback),
  load: loadResult,
  run: async ({ db, env, target, body, request }) => {
    requireToken(env.keyring, target as TaskResult, request.headers.authorization);
    await takeResult(db, env.keyring, target as TaskResult, body);
    return { status: 200, headers: {}, body: '' };
  },
});

/**
 * The options of endpoints with data of a run. A task may read them with the token of its request, until it has
 * answered.
 */
const reading = {
  auth: 'none',
  refuses: [401, 409],
  load: loadResult,
} as const;

const planJson = raw('GET')(`${resultPath}/plan-json`, {
  ...reading,
  summary: 'Download the plan in JSON for a task, with the access token from the task’s request.',
  answers: { 200: { description: 'The plan.', type: 'application/json', schema: { type: 'object' } } },
  run: async ({ db, env, target, request }) => {
    const { runId } = await requireReader(db, env.keyring, target as TaskResult, request.headers.authorization);
    const plan = await db.prisma.runPhase.findFirst({ where: { runId, kind: 'plan' }, select: { jsonBlobId: true } });
    const body = plan?.jsonBlobId ? await readBlob(db, env.keyring, plan.jsonBlobId) : undefined;
    if (!body) throw notFound();
    return { status: 200, headers: { 'Content-Type': 'application/json' }, body };
  },
});

const octets = 'application/octet-stream';
const configuration = raw('GET')(`${resultPath}/configuration`, {
  ...reading,
  summary: 'Download the configuration of a run for a task, with the access token from the task’s request.',
  answers: { 200: { description: 'The archive.', type: octets, schema: { type: 'string', format: 'binary' } } },
  run: async ({ db, env, target, request }) => {
    const { runId } = await requireReader(db, env.keyring, target as TaskResult, request.headers.authorization);
    const [found] = await db.prisma.$queryRaw<{ blob_id: string | null }[]>`
      SELECT c.blob_id FROM run r JOIN configuration_version c ON c.id = r.configuration_version_id WHERE r.id = ${runId}`;
    const body = found?.blob_id ? await readBlob(db, env.keyring, found.blob_id) : undefined;
    if (!body) throw notFound();
    return { status: 200, headers: { 'Content-Type': octets }, body };
  },
});

async function requireReader(
  db: Database,
  ...[keyring, result, authorization]: Parameters<typeof requireToken>
): Promise<TaskResult> {
  requireToken(keyring, result, authorization);
  await requireAsked(db, result);
  // Only a request that was sent, or is about to be sent, can be answered.
  if (result.endsAt === null) throw new Refusal('transition', 'the task has not started');
  requireOpen(result);
  return result;
}

/** Stages of runs at which other services check them, with their outcome. */
export const taskStageResource: Resource = {
  name: 'task-stages',
  endpoints: [
    listStages,
    showStage,
    override,
    showResult,
    listOutcomes,
    showOutcome,
    callback,
    planJson,
    configuration,
  ],
  includable: {
    'task-stages': includable<TaskStage>({
      serializer: stageSerializer,
      load: findStages,
      visible: readsRun,
      organizationsOf,
    }),
    'task-results': includable<TaskResult>({
      serializer: resultSerializer,
      load: findResults,
      visible: readsRun,
      organizationsOf,
    }),
  },
};
