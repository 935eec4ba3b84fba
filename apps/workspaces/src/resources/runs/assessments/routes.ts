import { exactJson, parseExact } from '@keystead/envelope';
import { flag, instant, text, whole } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { readBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { endpoints, type LookupBy, type Raw, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import { workspaceSerializer } from '../../workspaces/workspaces/serializer';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import * as workspaces from '../../workspaces/workspaces/workspace';
import { readRange } from '../runs/jobs/logs';
import { changePhaseData, dataActions, dataPolicy, summaryOfData } from '../runs/phase-data';
import { administers, organizationsOf, readsRun } from '../runs/policy';
import { allChecksSucceeded } from '../runs/record-assessment';
import { type AssessmentResult, find } from './result';
import { assessNow } from './schedule';

const path = (id: string): string => `/api/v2/assessment-results/${id}`;

const resultSerializer = serializerOf<AssessmentResult>()({
  type: 'assessment-results',
  shape: {
    drifted: flag,
    succeeded: flag,
    'error-msg': text.nullable(),
    'all-checks-succeeded': flag,
    'resources-drifted': whole,
    'resources-undrifted': whole,
    'checks-passed': whole,
    'checks-failed': whole,
    'checks-errored': whole,
    'checks-unknown': whole,
    'created-at': instant,
  },
  // Assessments have no relationships in this service.
  relations: {} as Record<string, never>,
  id: ({ id }) => id,
  self: ({ id }) => path(id),
  links: ({ id }) => ({
    'json-output': `${path(id)}/json-output`,
    'json-schema': `${path(id)}/json-schema`,
    'sanitized-plan': `${path(id)}/sanitized-plan`,
    'log-output': `${path(id)}/log-output`,
  }),
  attributes: (result) => ({
    drifted: result.drifted,
    succeeded: result.succeeded,
    'error-msg': result.errorMessage,
    'all-checks-succeeded': allChecksSucceeded(result),
    'resources-drifted': result.resourcesDrifted,
    'resources-undrifted': result.resourcesUndrifted,
    'checks-passed': result.checksPassed,
    'checks-failed': result.checksFailed,
    'checks-errored': result.checksErrored,
    'checks-unknown': result.checksUnknown,
    'created-at': result.createdAt,
  }),
  relationships: () => ({}),
});

const ofResult = endpoints({} as Policy<AssessmentResult>, resultSerializer, { visible: readsRun, organizationsOf });
const ofWorkspace = endpoints(workspacePolicy, resultSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf,
});
const load = ({ db, params }: LookupBy<'assessment_result_id'>) => find(db, params.assessment_result_id);
const byId = '/assessment-results/:assessment_result_id';

const current = ofWorkspace.get('/workspaces/:workspace_id/current-assessment-result', {
  summary: 'Show the newest assessment result of a workspace.',
  requires: 'can-read-assessment-result',
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
  run: async ({ db, target }) => {
    const { currentAssessmentResultId: id } = target;
    const found = id === null ? undefined : await find(db, id);
    if (!found) throw notFound();
    return found;
  },
});

const show = ofResult.get(byId, {
  summary: 'Show an assessment result.',
  load,
  run: async ({ target }) => target as AssessmentResult,
});

type ContentReader = (db: Database, env: Environment, result: AssessmentResult) => Promise<Raw['body'] | undefined>;

/** A file of an assessment. It contains sensitive values, as the plan of a run does. */
const contentEndpoint = (name: string, summary: string, type: string, content: ContentReader) =>
  ofResult.raw('GET')(`${byId}/${name}`, {
    summary: `${summary} For administrators of the workspace.`,
    tokens: ['user', 'team'],
    requires: administers,
    discloses: { action: `assessment-result.read-${name}` },
    answers: { 200: { description: 'It.', type, schema: { type: type === 'text/plain' ? 'string' : 'object' } } },
    load,
    run: async ({ db, env, target }) => {
      const body = await content(db, env, target as AssessmentResult);
      if (body === undefined) throw notFound();
      return { status: 200, headers: { 'Content-Type': type }, body };
    },
  });

const blob = (db: Database, env: Environment, id: string | null) =>
  id === null ? Promise.resolve(undefined) : readBlob(db, env.keyring, id);

const jsonOutput = contentEndpoint(
  'json-output',
  'Read the plan of an assessment in JSON.',
  'application/json',
  (db, env, { plan }) => blob(db, env, plan.jsonBlobId),
);

const jsonSchema = contentEndpoint(
  'json-schema',
  'Read the schemas of the resources that have drifted.',
  'application/json',
  async (db, env, { plan }) => {
    const stored = await blob(db, env, plan.redactedBlobId);
    if (!stored) return undefined;
    const pieces: Buffer[] = [];
    for await (const piece of stored) pieces.push(piece as Buffer);
    const { provider_format_version: version, provider_schemas: schemas } = parseExact(
      Buffer.concat(pieces).toString('utf8'),
    ) as Record<string, unknown>;
    return exactJson({ format_version: version, provider_schemas: schemas ?? {} });
  },
);

/** Data that callers with read access to runs may see, as with the plan of a run. */
const sanitized = ofResult.raw('GET')(`${byId}/sanitized-plan`, {
  summary: 'Read the plan of an assessment as the tool renders it, without sensitive values.',
  answers: { 200: { description: 'It.', type: 'application/json', schema: { type: 'object' } } },
  load,
  run: async ({ db, env, target }) => {
    const body = await blob(db, env, (target as AssessmentResult).plan.redactedBlobId);
    if (body === undefined) throw notFound();
    return { status: 200, headers: { 'Content-Type': 'application/json' }, body };
  },
});

const logOutput = contentEndpoint(
  'log-output',
  'Read the log of an assessment.',
  'text/plain',
  async (db, env, { plan }) => {
    const bytes = await readRange(db, env.keyring, plan.id, { from: 0, to: Number(plan.logSize) });
    return bytes;
  },
);

const assess = ofWorkspace.action<string, undefined, Workspace, Workspace>('/workspaces/:workspace_id/actions/assess', {
  summary: 'Start an assessment of a workspace now.',
  tokens: ['user', 'team'],
  requires: 'can-manage-assessments',
  serializer: workspaceSerializer,
  load: ({ db, params }) => workspaces.find(db, (params as Record<string, string>).workspace_id ?? ''),
  run: ({ db, target, ...call }) => assessNow(db, actorOf(call), target),
});

const data = dataActions.map(({ action, name }) =>
  endpoints(dataPolicy, undefined, { visible: readsRun, organizationsOf }).command('POST')(
    `/assessments/:assessment_result_id/actions/${name}`,
    {
      edition: 'self-hosted',
      summary: summaryOfData(action, 'an assessment'),
      requires: 'can-manage-backing-data',
      load,
      run: ({ db, target, ...call }) => {
        const { id, organizationId, plan, runId } = target as AssessmentResult;
        const owner = { type: 'assessment-results', id, organizationId, phaseId: plan.id, runId } as const;
        return changePhaseData(db, actorOf(call), owner, action);
      },
    },
  ),
);

/** Endpoints that start assessments, and that show the results of all assessments. */
export const assessmentResource: Resource = {
  name: 'assessment-results',
  endpoints: [assess, current, show, jsonOutput, sanitized, jsonSchema, logOutput, ...data],
};
