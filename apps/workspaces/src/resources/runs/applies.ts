import { choice, hasMany, text, timestamps, toMany, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Policy } from '../../kernel/access/policy';
import { both, type Call, endpoints, includable, type Resource, serializerOf } from '../../kernel/endpoints/endpoint';
import { dataOf, loadPhase, loadPhaseOfRun, logsOf, resultOf } from './runs/phase-endpoints';
import { findMany, type Phase } from './runs/phases';
import { organizationsOf, readsRun } from './runs/policy';
import { phaseStatuses } from './runs/statuses';

/** The apply of a run. */
const applySerializer = serializerOf<Phase>()({
  type: 'applies',
  shape: {
    status: choice(phaseStatuses),
    'status-timestamps': timestamps,
    'resource-additions': whole.nullable(),
    'resource-changes': whole.nullable(),
    'resource-destructions': whole.nullable(),
    'resource-imports': whole.nullable(),
    'error-message': text.nullable(),
    'execution-details': z.object({
      mode: text,
    }),
    'log-read-url': text,
  },
  relations: { 'state-versions': hasMany('state-versions') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/applies/${id}`,
  attributes: (apply) => ({
    status: apply.status,
    'status-timestamps': apply.timestamps,
    'resource-additions': apply.additions,
    'resource-changes': apply.changes,
    'resource-destructions': apply.destructions,
    'resource-imports': apply.imports,
    'error-message': apply.errorMessage,
    'execution-details': { mode: apply.executionMode },
    'log-read-url': apply.logUrl,
  }),
  relationships: ({ stateVersionIds }) => ({ 'state-versions': toMany('state-versions', stateVersionIds) }),
});

const { get } = endpoints({} as Policy<Phase>, applySerializer, { visible: readsRun, organizationsOf });

const show = both(
  get,
  { '/applies/:id': loadPhase('applies'), '/runs/:run_id/apply': loadPhaseOfRun('applies') },
  {
    summary: 'Show the apply of a run.',
    run: async ({ target }: Call<string, undefined, Phase>) => target,
  },
);

/** Applies, their logs, and states that could not be saved. */
export const applyResource: Resource = {
  name: 'applies',
  endpoints: [
    ...show,
    ...logsOf('applies'),
    ...dataOf('applies'),
    ...resultOf({
      path: 'applies',
      name: 'errored-state',
      summary: 'Redirect to the state that an apply could not save (errored state).',
      mayRead: (access, { workspace }) => access.has(workspace, 'state:read'),
      blobOf: ({ stateBlobId }) => stateBlobId,
      absent: 404,
    }),
  ],
  includable: {
    applies: includable<Phase>({
      serializer: applySerializer,
      load: (db, ids, env) => findMany(db, env, 'applies', { id: { in: [...ids] } }),
      visible: readsRun,
      organizationsOf,
    }),
  },
};
