import { MissingPermission, whole } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { actorOf } from '../../../kernel/audit/audit';
import { streamAnswers } from '../../../kernel/endpoints/answer-stream';
import {
  type Call,
  endpoints,
  includable,
  type Lookup,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import type { Organization } from '../../organizations/organizations/organization';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import * as workspaces from '../../workspaces/workspaces/workspace';
import * as actions from './actions';
import type { Configuration } from './configuration';
import { newestCommit } from './configuration';
import * as runs from './create';
import { organizationsOf, readsRun, runPolicy } from './policy';
import {
  capacityOf,
  countsOf,
  listOfOrganization,
  listOfWorkspace,
  listParameters,
  listQueue,
  organizationParameters,
  runKey,
} from './reads';
import { find, findMany, type Run } from './run';
import { CreateRun, Remark, type Remarked } from './schema';
import { runSerializer } from './serializer';
import { streamList } from './streams/list-stream';
import { streamRun } from './streams/run-stream';

const ofRun = endpoints(runPolicy, runSerializer, { visible: readsRun, organizationsOf });
const ofWorkspace = endpoints(workspacePolicy, runSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf,
});
const ofOrganization = endpoints(organizationPolicy, runSerializer, {
  visible: organizationPolicy['can-traverse'],
  organizationsOf: (item: { id: string; organizationId?: string }) => [item.organizationId ?? item.id],
});

const spec = 'Workspace (type `workspaces`; id of the form `ws-<id>`)';
const include = [
  'plan',
  'apply',
  'created_by',
  'cost_estimate',
  'configuration_version',
  'configuration_version.ingress_attributes',
  'workspace',
  'task_stages',
  'run_events',
  'comments',
  'confirmed_by',
  'canceled_by',
];

const param = ({ params }: Lookup<string>, name: string) => (params as Record<string, string>)[name] ?? '';
const load = (lookup: Lookup<string>) => find(lookup.db, lookup.env.keyring, param(lookup, 'run_id'));
const loadOrganization = (lookup: Lookup<string>) =>
  organizations.findByName(lookup.db, lookup.env, param(lookup, 'organization_name'));

/** The source of a run, from headers that the tool sends. One header shows whether the tool has a cloud block. */
function sourceOf(headers: NodeJS.Dict<string | string[]>): string {
  if (headers['x-terraform-integration'] === 'cloud') return 'terraform+cloud';
  return headers['terraform-version'] === undefined ? 'tfe-api' : 'terraform';
}

/** The properties of a new run that its permission depends on. */
interface RunKind {
  readonly workspace: string;
  readonly isDestroy?: boolean | null;
  readonly planOnly?: boolean | null;
}

/** The workspace of a new run, and its commit if that has to be fetched. */
interface Wanted {
  readonly workspace: Workspace;
  readonly applies: boolean;
  readonly commit: Configuration | undefined;
}

/** The workspace of a new run, if the caller may plan there. Throws `missing`. */
async function workspaceFor(call: Call<string, RunKind, never>) {
  const workspace = await workspaces.find(call.db, call.body.workspace);
  const access = workspace && (await call.accessTo([workspace.organizationId]));
  if (!workspace || !access || !workspacePolicy['can-read-settings'](access, workspace)) throw notFound();
  if (!workspacePolicy['can-queue-run'](access, workspace)) throw new MissingPermission('can-queue-run');
  const destroys = call.body.isDestroy === true && call.body.planOnly !== true;
  if (destroys && !workspacePolicy['can-queue-destroy'](access, workspace)) {
    throw new MissingPermission('can-queue-destroy');
  }
  return { workspace, applies: workspacePolicy['can-queue-apply'](access, workspace) };
}

const create = ofRun.post('/runs', {
  summary: 'Create a run: a plan, and an apply if requested.',
  spec,
  tokens: ['user', 'team'],
  body: CreateRun,
  stepUp: ({ isDestroy, planOnly }) => isDestroy === true && planOnly !== true,
  asks: async (call): Promise<Wanted> => {
    const { workspace, applies } = await workspaceFor(call as never);
    const { db, env, body } = call;
    const { keyring, publicUrl, vcsReach: reach } = env;
    runs.requireSense(workspace, body);
    // Without a configuration in the request, the newest configuration is used.
    const commit =
      reach === undefined || body.configurationVersion
        ? undefined
        : await newestCommit({ db, keyring, publicUrl, reach }, actorOf(call), workspace);
    return { workspace, applies, commit };
  },
  run: ({ db, env, body, answer, ...call }) => {
    const { workspace, applies, commit } = answer as Wanted;
    const starter = { actor: actorOf(call), applies, source: sourceOf(call.request.headers) };
    return runs.create(db, env.keyring, starter, workspace, body, commit);
  },
});

const show = ofRun.get('/runs/:run_id', {
  summary: 'Show a run.',
  spec,
  include,
  load,
  run: async ({ target }) => target as Run,
});

const ofOneWorkspace = {
  summary: 'List the runs of a workspace, newest first.',
  spec,
  cursorKey: runKey,
  include,
  run: ({ db, env, target, query, page }: Call<string, undefined, Workspace>) =>
    listOfWorkspace(db, env.keyring, target.id, query, page!),
};
const listInWorkspace = ofWorkspace.list('/workspaces/:workspace_id/runs', {
  ...ofOneWorkspace,
  query: listParameters,
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
});
const listByQuery = ofWorkspace.list('/runs', {
  ...ofOneWorkspace,
  query: {
    ...listParameters,
    workspace_id: 'The workspace; its runs are listed.',
    organization_name: 'The organization of the workspace. For another organization, the answer is 404.',
  },
  load: async ({ db, env, query }) => {
    const name = query.get('organization_name');
    const workspace = await workspaces.find(db, query.get('workspace_id') ?? '');
    if (name === undefined) return workspace;
    return (await organizations.findByName(db, env, name))?.id === workspace?.organizationId ? workspace : undefined;
  },
});

const listInOrganization = ofOrganization.list('/organizations/:organization_name/runs', {
  summary: 'List the runs of an organization that the caller can see, newest first. The response contains no total.',
  uncounted: true,
  query: organizationParameters,
  cursorKey: runKey,
  include,
  load: loadOrganization,
  run: async ({ db, env, access, target, query, page }: Call<string, undefined, Organization>) => {
    const { items, more } = await listOfOrganization(db, env.keyring, access, target.id, query, page!);
    if (page!.after !== undefined) return { items, more };
    const pagination = {
      'current-page': page!.number,
      'page-size': page!.size,
      'prev-page': page!.number > 1 ? page!.number - 1 : null,
      'next-page': more ? page!.number + 1 : null,
    };
    return { items, meta: { pagination } };
  },
});

const queue = ofOrganization.list('/organizations/:organization_name/runs/queue', {
  summary: 'List the queued and active runs of an organization, in the order of the queue.',
  include,
  load: loadOrganization,
  run: ({ db, env, access, target, page }: Call<string, undefined, Organization>) =>
    listQueue(db, env.keyring, access, target.id, page!),
});

const howLong =
  'The stream continues while `Accept` names text/event-stream. Otherwise it ends after the current status.';

const streamOfRun = ofRun.raw('GET')('/runs/:run_id/stream', {
  summary: `Follow a run as server-sent events. ${howLong}`,
  answers: streamAnswers(
    '`run`: its attributes, `phases` and the numbers of its `events` and `comments`, whenever one of them changes. `log`: ' +
      '`text` of a `phase`, `bytes` long, that begins at byte `offset`. `end`: the run has ended. `gone`: the run was deleted. A ' +
      'client that sends the id of an event as `Last-Event-ID` gets the later events.',
  ),
  load,
  run: async (call: Call<string, undefined, Run>) => streamRun(call),
});

const listAnswers = streamAnswers(
  '`ready`: later changes are sent from now on. `run`: a run has changed, with `run-id`, `workspace-id`, `status` and ' +
    '`action`. `reset`: the events after `Last-Event-ID` are no longer known. An event may be sent twice.',
);

const streamOfWorkspace = ofWorkspace.raw('GET')('/workspaces/:workspace_id/runs/stream', {
  summary: `Follow the runs of a workspace as server-sent events. ${howLong}`,
  answers: listAnswers,
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
  run: async (call: Call<string, undefined, Workspace>) =>
    streamList(call as never, { organizationId: call.target.organizationId, workspaceId: call.target.id }),
});

const streamOfOrganization = ofOrganization.raw('GET')('/organizations/:organization_name/runs/stream', {
  summary: `Follow the runs of an organization that the caller can see as server-sent events. ${howLong}`,
  answers: listAnswers,
  load: loadOrganization,
  run: async (call: Call<string, undefined, Organization>) =>
    streamList(call as never, { organizationId: call.target.id }),
});

/** The load of an organization. */
interface Capacity {
  readonly id: string;
  readonly organizationId: string;
  readonly pending: number;
  readonly running: number;
}

const capacitySerializer = serializerOf<Capacity>()({
  type: 'organization-capacity',
  shape: {
    pending: whole,
    running: whole,
  },
  id: ({ id }) => id,
  attributes: ({ pending, running }) => ({ pending, running }),
});

const capacity = endpoints(organizationPolicy, capacitySerializer, {
  visible: (access, { id }) => access.isMember(id) || access.principal.siteAdmin,
  organizationsOf: (item: { id: string; organizationId?: string }) => [item.organizationId ?? item.id],
}).get('/organizations/:organization_name/capacity', {
  summary: 'Show how many runs of an organization are queued, and how many are in progress.',
  load: loadOrganization,
  run: async ({ db, target }: Call<string, undefined, Organization>) => ({
    id: target.name,
    organizationId: target.id,
    ...(await capacityOf(db, target.id)),
  }),
});

/** The numbers of runs that wait for people and for workers. */
interface Counts {
  readonly id: string;
  readonly organizationId: string;
  readonly needsConfirmation: number;
  readonly queued: number;
  readonly running: number;
}

const countSerializer = serializerOf<Counts>()({
  type: 'run-counts',
  shape: { 'needs-confirmation': whole, queued: whole, running: whole },
  id: ({ id }) => id,
  attributes: ({ needsConfirmation, queued, running }) => ({
    'needs-confirmation': needsConfirmation,
    queued,
    running,
  }),
});

const counts = endpoints(organizationPolicy, countSerializer, {
  visible: (access, { id }) => access.isMember(id) || access.principal.siteAdmin,
  organizationsOf: (item: { id: string; organizationId?: string }) => [item.organizationId ?? item.id],
}).get('/organizations/:organization_name/run-counts', {
  summary: 'Show how many of the runs that the caller can see wait for confirmation, are queued, and are in progress.',
  load: loadOrganization,
  run: async ({ db, access, target }: Call<string, undefined, Organization>) => ({
    id: target.name,
    organizationId: target.id,
    ...(await countsOf(db, access, target.id)),
  }),
});

const verbs = {
  apply: { does: actions.apply, requires: 'can-apply', summary: 'Apply a run: confirm its plan.' },
  discard: { does: actions.discard, requires: 'can-discard', summary: 'Discard a run that waits for confirmation.' },
  cancel: { does: actions.cancel, requires: 'can-cancel', summary: 'Cancel a run.' },
  'force-cancel': {
    does: actions.forceCancel,
    requires: 'can-force-cancel',
    summary: 'Force-cancel a run that did not stop after it was canceled.',
  },
  'force-execute': {
    does: actions.forceExecute,
    requires: 'can-force-execute',
    summary: 'Start a pending run and discard the run that waits for confirmation.',
  },
} as const;

const acting = Object.entries(verbs).map(([verb, { does, requires, summary }]) =>
  ofRun.command('POST')(`/runs/:run_id/actions/${verb}`, {
    summary,
    spec,
    status: 202,
    tokens: ['user', 'team'],
    requires,
    body: Remark,
    load,
    run: ({ db, env, target, body, ...call }: Call<string, Remarked, Run>) =>
      does(db, env.keyring, target.id, { actor: actorOf(call), comment: body.comment || null }),
  }),
);

/** Runs, their queue, and their actions. */
export const runResource: Resource = {
  name: 'runs',
  endpoints: [
    create,
    show,
    listInWorkspace,
    listByQuery,
    listInOrganization,
    queue,
    capacity,
    counts,
    streamOfRun,
    streamOfWorkspace,
    streamOfOrganization,
    ...acting,
  ],
  includable: {
    runs: includable<Run>({
      serializer: runSerializer,
      load: (db, ids, env) => findMany(db, env.keyring, ids),
      visible: readsRun,
      organizationsOf,
    }),
  },
};
