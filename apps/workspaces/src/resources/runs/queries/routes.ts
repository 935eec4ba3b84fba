import {
  choice,
  document,
  flag,
  hasOne,
  instant,
  MissingPermission,
  one,
  requiredOne,
  text,
  timestamps,
  toOne,
} from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { z } from 'zod';
import { policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { signedPathUrl } from '../../../kernel/blobs/signed-urls';
import type { Database } from '../../../kernel/database/database';
import {
  type Call,
  endpoints,
  includable,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { requireVersion, resolveVersion } from '../../workspaces/workspaces/infra-version';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import * as workspaces from '../../workspaces/workspaces/workspace';
import { requireConfiguration } from '../runs/configuration';
import { requireSense } from '../runs/create';
import { logsAt } from '../runs/phase-endpoints';
import { organizationsOf, type RunTarget, readsRun } from '../runs/policy';
import { runVariables } from '../runs/schema';
import { accountOf } from '../runs/serializer';
import { create as queue } from '../runs/tool-runs/create';
import { stopping } from '../runs/tool-runs/end';
import { find, findMany, list, type ToolRun } from '../runs/tool-runs/tool-run';

/** A query with the address of its log. */
interface QueryRun extends ToolRun {
  readonly workspace: RunTarget['workspace'];
  readonly logUrl: string;
}

const queryPolicy = policy<RunTarget>()({
  'can-cancel': (access, { workspace }) => access.has(workspace, 'runs:plan'),
});

/** The times of a query under the names that its clients use. */
const timesOf = ({ 'queued-at': queued, 'started-at': started, ...others }: ToolRun['timestamps']) => ({
  ...(queued === undefined ? {} : { 'queuing-at': queued }),
  ...(started === undefined ? {} : { 'running-at': started }),
  ...others,
});

const querySerializer = serializerOf<QueryRun>()({
  type: 'queries',
  shape: {
    status: choice(['queued', 'running', 'errored', 'canceled', 'finished']),
    'status-timestamps': timestamps,
    'error-message': text.nullable(),
    'log-read-url': text,
    'created-at': instant,
    source: text,
    'infra-version': text.nullable(),
    'generate-config-out': flag,
  },
  relations: {
    workspace: hasOne('workspaces'),
    'configuration-version': hasOne('configuration-versions'),
    'created-by': hasOne('users'),
    'canceled-by': hasOne('users'),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/queries/${id}`,
  aliases: { 'infra-version': 'terraform-version' },
  attributes: (run) => ({
    status: run.status,
    'status-timestamps': timesOf(run.timestamps),
    'error-message': run.errorMessage,
    'log-read-url': run.logUrl,
    'created-at': run.createdAt,
    source: run.source,
    'infra-version': run.infraVersion,
    'generate-config-out': run.settings.generateConfig === true,
  }),
  relationships: (run) => ({
    workspace: toOne('workspaces', run.workspaceId),
    'configuration-version': toOne('configuration-versions', run.configurationVersionId),
    'created-by': accountOf(run.createdByType, run.createdById),
    'canceled-by': accountOf(run.canceledByType, run.canceledById),
  }),
});

const CreateQuery = document('queries', {
  attributes: {
    'infra-version': z.string().max(100).nullish(),
    'generate-config-out': z.boolean().nullish(),
    variables: runVariables,
  },
  aliases: { 'infra-version': 'terraform-version' },
  relationships: { workspace: requiredOne('workspaces'), 'configuration-version': one('configuration-versions') },
});

/** Some clients spell `created_by` with a dash. */
const include = ['created_by', 'created-by', 'configuration_version', 'workspace'];
const onQuery = endpoints(queryPolicy, querySerializer, { visible: readsRun, organizationsOf });
const onWorkspace = endpoints(workspacePolicy, querySerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf,
});

const shown = (env: Environment, run: ToolRun): QueryRun => ({
  ...run,
  workspace: run.workspace!,
  logUrl: signedPathUrl(env, `/queries/${run.id}/logs`),
});
const findQuery = async (db: Database, id: string) => {
  const run = await find(db, 'query', id);
  return run?.workspace && { ...run, workspace: run.workspace };
};
const load = async ({ db, env, params }: LookupBy<'query_id'>) => {
  const run = await findQuery(db, params.query_id);
  return run && shown(env, run);
};

/** The workspace of a new query, if the caller may plan there. Throws `missing`. */
async function workspaceFor(db: Database, id: string, accessTo: QueryCall['accessTo']): Promise<Workspace> {
  const workspace = await workspaces.find(db, id);
  const access = workspace && (await accessTo([workspace.organizationId]));
  if (!workspace || !access || !workspacePolicy['can-read-settings'](access, workspace)) throw notFound();
  if (!workspacePolicy['can-queue-run'](access, workspace)) throw new MissingPermission('can-queue-run');
  return workspace;
}

type QueryCall = Call<string, undefined, QueryRun>;

const create = onQuery.post('/queries', {
  summary: 'Queue a query of a workspace, which lists resources to import. The tool version must support queries.',
  tokens: ['user', 'team'],
  body: CreateQuery,
  run: async ({ db, env, body, accessTo, ...call }) => {
    const workspace = await workspaceFor(db, body.workspace, accessTo);
    const { infraVersion: version, variables } = body;
    requireSense(workspace, { variables });
    const configuration = await requireConfiguration(db, workspace, body.configurationVersion);
    const requested = version ? await requireVersion(db, version, workspace) : workspace.infraVersion;
    const infraVersion = await resolveVersion(db, requested);
    const { id: workspaceId, organizationId, name } = workspace;
    const query = await db.transaction((tx) =>
      queue(tx, env.keyring, actorOf(call), {
        owner: { workspaceId },
        organizationId,
        name,
        files: { configurationVersionId: configuration.id },
        settings: { generateConfig: body.generateConfigOut !== false },
        variables: variables ?? [],
        infraVersion,
        source: 'tfe-api',
      }),
    );
    return shown(env, query);
  },
});

const index = onWorkspace.list('/workspaces/:workspace_id/queries', {
  summary: 'List the queries of a workspace, newest first. The newest 100 are kept.',
  include,
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
  run: async ({ db, env, target, page }) => {
    const { items, total } = await list(db, { workspaceId: target.id }, page!);
    return { items: items.map((run) => shown(env, run)), total };
  },
});

const show = onQuery.get('/queries/:query_id', {
  summary: 'Show a query.',
  include,
  load,
  run: async ({ target }: QueryCall) => target,
});

const stops = stopping('a query', (verb, options) =>
  onQuery.command('POST')(`/queries/:query_id/actions/${verb}`, { ...options, requires: 'can-cancel', load }),
);

const logs = logsAt<ToolRun & RunTarget>('queries', 'a query', {
  load: ({ db, params }) => findQuery(db, params.id),
  visible: readsRun,
});

/** Queries, in which the tool looks for resources that are in no state. */
export const queryResource: Resource = {
  name: 'queries',
  endpoints: [create, index, show, ...stops, ...logs],
  includable: {
    queries: includable<QueryRun>({
      serializer: querySerializer,
      load: async (db, ids, env) => (await findMany(db, ids)).map((run) => shown(env, run)),
      visible: readsRun,
      organizationsOf,
    }),
  },
};
