import { exactJson, parseExact } from '@keystead/envelope';
import { choice, flag, hasMany, text, timestamps, toMany, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Policy } from '../../kernel/access/policy';
import { both, type Call, endpoints, includable, type Resource, serializerOf } from '../../kernel/endpoints/endpoint';
import { dataOf, loadPhase, loadPhaseOfRun, logsOf, resultOf } from './runs/phase-endpoints';
import { findMany, type Phase } from './runs/phases';
import { administers, organizationsOf, readsRun } from './runs/policy';
import { phaseStatuses } from './runs/statuses';

/** The plan of a run. */
const planSerializer = serializerOf<Phase>()({
  type: 'plans',
  shape: {
    status: choice(phaseStatuses),
    'status-timestamps': timestamps,
    'has-changes': flag,
    'resource-additions': whole.nullable(),
    'resource-changes': whole.nullable(),
    'resource-destructions': whole.nullable(),
    'resource-imports': whole.nullable(),
    'generated-configuration': flag,
    'error-message': text.nullable(),
    'execution-details': z.object({
      mode: text,
    }),
    'log-read-url': text,
  },
  relations: { exports: hasMany('plan-exports'), 'state-versions': hasMany('state-versions') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/plans/${id}`,
  links: ({ id }) => ({ 'json-output': `/api/v2/plans/${id}/json-output` }),
  attributes: (plan) => ({
    status: plan.status,
    'status-timestamps': plan.timestamps,
    'has-changes': plan.hasChanges === true,
    'resource-additions': plan.additions,
    'resource-changes': plan.changes,
    'resource-destructions': plan.destructions,
    'resource-imports': plan.imports,
    'generated-configuration': plan.generatedConfiguration,
    'error-message': plan.errorMessage,
    'execution-details': { mode: plan.executionMode },
    'log-read-url': plan.logUrl,
  }),
  relationships: ({ exportIds }) => ({
    exports: toMany('plan-exports', exportIds),
    'state-versions': toMany('state-versions', []),
  }),
});

const { get } = endpoints({} as Policy<Phase>, planSerializer, { visible: readsRun, organizationsOf });

const show = both(
  get,
  { '/plans/:id': loadPhase('plans'), '/runs/:run_id/plan': loadPhaseOfRun('plans') },
  {
    summary: 'Show the plan of a run.',
    run: async ({ target }: Call<string, undefined, Phase>) => target,
  },
);

/** The schemas that the tool needs to render a redacted plan, in the format in which it prints schemas. */
function schemasIn(redacted: string): string {
  const { provider_format_version, provider_schemas } = parseExact(redacted) as Record<string, unknown>;
  return exactJson({ format_version: provider_format_version, provider_schemas });
}

/** Plans, their logs and their results. */
export const planResource: Resource = {
  name: 'plans',
  endpoints: [
    ...show,
    ...logsOf('plans'),
    ...dataOf('plans'),
    ...resultOf({
      path: 'plans',
      name: 'json-output',
      summary: 'Redirect to a plan in JSON, including sensitive values. For administrators of the workspace.',
      mayRead: administers,
      blobOf: ({ jsonBlobId }) => jsonBlobId,
      absent: 204,
    }),
    ...resultOf({
      path: 'plans',
      name: 'json-output-redacted',
      summary: 'Redirect to a plan in JSON as the tool renders it, without sensitive values.',
      mayRead: readsRun,
      blobOf: ({ redactedBlobId }) => redactedBlobId,
      absent: 204,
    }),
    ...resultOf({
      path: 'plans',
      name: 'json-schema',
      summary: 'Redirect to the provider schemas of a plan.',
      mayRead: readsRun,
      blobOf: ({ redactedBlobId }) => redactedBlobId,
      absent: 204,
      partOf: schemasIn,
    }),
  ],
  includable: {
    plans: includable<Phase>({
      serializer: planSerializer,
      load: (db, ids, env) => findMany(db, env, 'plans', { id: { in: [...ids] } }),
      visible: readsRun,
      organizationsOf,
    }),
  },
};
