import { hasOne, instant, text, toOne, whole } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import type { Access, WorkspaceTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { backingDataActions } from '../../../kernel/blobs/backing-data';
import { BlobTooLarge, readBlob } from '../../../kernel/blobs/blobs';
import { endpoints, includable, type LookupBy, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import * as workspaces from '../../workspaces/workspaces/workspace';
import * as outputs from './outputs';
import * as quarantine from './quarantine';
import { shownSerial } from './scanner/parse-state';
import { CreateStateVersion, inlineLimitBytes, largeBody, Rollback, serialNumber } from './schema';
import {
  type Form,
  outputSerializer,
  type ShownStateVersion,
  stateVersionSerializer,
  withLinks,
  withUploadLinks,
  workspaceOutputSerializer,
} from './serializers';
import * as states from './service';
import { changeContent } from './service';
import { find, findCurrent, findMany, list as listVersions, type StateVersion, stateVersionKey } from './state-version';
import { uploadJson, uploadRaw } from './upload';

/** An object that has the rights of a workspace. */
interface StateTarget {
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget;
}
type WorkspaceAction<T extends keyof typeof workspacePolicy> = T;
const rule =
  <T extends keyof typeof workspacePolicy>(name: WorkspaceAction<T>) =>
  (access: Access, { workspace }: StateTarget): boolean =>
    workspacePolicy[name](access, workspace);
const statePolicy = policy<StateTarget>()({
  'can-read-state-versions': rule('can-read-state-versions'),
  'can-read-state-outputs': rule('can-read-state-outputs'),
  'can-create-state-versions': rule('can-create-state-versions'),
  'can-manage-backing-data': (access, { organizationId }) => access.isOwner(organizationId),
});

const organizationsOf = (item: { organizationId?: string }): string[] =>
  item.organizationId ? [item.organizationId] : [];
const ofWorkspace = endpoints(workspacePolicy, stateVersionSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf,
});
const ofState = endpoints(statePolicy, stateVersionSerializer, {
  visible: statePolicy['can-read-state-versions'],
  organizationsOf,
});
const ofOutput = endpoints(statePolicy, outputSerializer, {
  visible: statePolicy['can-read-state-outputs'],
  organizationsOf,
});

const spec = 'Workspace (type `workspaces`; id of the form `ws-<id>`)';
const inWorkspace = '/workspaces/:workspace_id/state-versions';
const byId = '/state-versions/:state_version_id';
const include = ['outputs', 'run', 'created_by', 'run.created_by', 'run.configuration_version'];
/** The largest state that can be uploaded. */
const uploadLimitBytes = 1024 * 1024 * 1024;

const loadWorkspace = ({ db, params }: LookupBy<'workspace_id'>) => workspaces.find(db, params.workspace_id);
const load = ({ db, params }: LookupBy<'state_version_id'>) => find(db, params.state_version_id);

const create = ofWorkspace.post(inWorkspace, {
  summary: 'Create a state version in a locked workspace, with its content or for a later upload.',
  spec,
  requires: 'can-create-state-versions',
  keepsAccess: true,
  body: CreateStateVersion,
  largeBody,
  load: loadWorkspace,
  run: async ({ db, env, target, body, ...call }) =>
    withLinks(env, await states.create(db, env, actorOf(call), target, body)),
  adds: withUploadLinks,
});

const rollback = ofWorkspace.patch(inWorkspace, {
  summary: 'Roll back to an earlier state version. Creates a new state version.',
  spec,
  status: 201,
  requires: 'can-create-state-versions',
  body: Rollback,
  load: loadWorkspace,
  run: async ({ db, env, target, body, ...call }) =>
    withLinks(env, await states.rollback(db, env, actorOf(call), target, body.rollbackStateVersion)),
});

const current = ofWorkspace.get('/workspaces/:workspace_id/current-state-version', {
  summary: 'Show the current state version of a workspace.',
  spec,
  requires: 'can-read-state-versions',
  include,
  load: loadWorkspace,
  run: async ({ db, env, target }) => {
    const found = await findCurrent(db, target.id);
    if (!found) throw notFound();
    return withLinks(env, found);
  },
});

const currentOutputs = endpoints(workspacePolicy, outputSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf,
}).list('/workspaces/:workspace_id/current-state-version-outputs', {
  summary: 'List the outputs of the current state version of a workspace. Sensitive values are omitted.',
  spec,
  paging: 'none',
  requires: 'can-read-state-outputs',
  load: loadWorkspace,
  run: async ({ db, env, target }) => {
    const found = await findCurrent(db, target.id);
    if (!found) throw notFound();
    if (!found.resourcesProcessed && !found.outputsGiven) {
      throw new Refusal(
        'unavailable',
        'service unavailable: the state is still being processed, please try again later',
      );
    }
    const { items } = await outputs.list(db, env.keyring, found.id, { sensitive: false });
    return { items };
  },
});

const index = ofState.list('/state-versions', {
  summary: 'List the state versions of the workspace in the filters, newest first.',
  spec,
  query: {
    'filter[organization][name]': 'The organization; required.',
    'filter[workspace][name]': 'The workspace; required.',
    'filter[status]': 'Only versions of this status.',
  },
  cursorKey: stateVersionKey,
  include,
  run: async ({ db, env, query, page, accessTo }) => {
    const organization = query.get('filter[organization][name]') ?? '';
    const workspace = await workspaces.findByName(db, organization, query.get('filter[workspace][name]') ?? '');
    const access = workspace && (await accessTo([workspace.organizationId]));
    if (!workspace || !access || !workspacePolicy['can-read-state-versions'](access, workspace)) throw notFound();
    const { items, ...rest } = await listVersions(db, workspace.id, query.get('filter[status]'), page!);
    return { items: items.map((item) => withLinks(env, item)), ...rest };
  },
});

const show = ofState.get(byId, {
  summary: 'Show a state version.',
  spec,
  requires: 'can-read-state-versions',
  include,
  load,
  run: async ({ env, target }) => withLinks(env, target as StateVersion),
});

const versionOutputs = ofOutput.list(`${byId}/outputs`, {
  summary:
    'List the outputs of a state version. Sensitive values are shown only to callers who may read the whole state.',
  requires: 'can-read-state-outputs',
  discloses: {
    action: 'state-version.read-sensitive-outputs',
    when: ({ items }) => items.some(({ sensitive, value }) => sensitive && value !== null),
  },
  load,
  run: ({ db, env, access, target, page }) => {
    const sensitive = statePolicy['can-read-state-versions'](access, target as StateVersion);
    return outputs.list(db, env.keyring, (target as StateVersion).id, { page, sensitive });
  },
});

const showOutput = ofOutput.get('/state-version-outputs/:output_id', {
  summary: 'Show a state version output, including its value.',
  requires: 'can-read-state-outputs',
  discloses: { action: 'state-version-output.read', when: (output) => output?.sensitive === true },
  load: async ({ db, env, params }) => (await outputs.findMany(db, env.keyring, [params.output_id]))[0],
  run: async ({ target }) => target as outputs.StateOutput,
});

const contentOf = (form: Form) => {
  const at = `${byId}/content/${form}` as const;
  const download = ofState.raw('GET')(at, {
    summary: `Download a state version ${form === 'raw' ? 'exactly as it was uploaded' : 'as the tool’s JSON, exactly as it was uploaded'}.`,
    answers: { 200: { description: 'The state.', type: 'application/json', schema: { type: 'object' } } },
    link: 'or-token',
    requires: 'can-read-state-versions',
    discloses: { action: 'state-version.download' },
    load,
    run: async ({ db, env, target }) => {
      const blobId = form === 'raw' ? target.rawBlobId : target.jsonBlobId;
      const body = target.status === 'finalized' && blobId ? await readBlob(db, env.keyring, blobId) : undefined;
      if (!body) throw notFound();
      return { status: 200, headers: { 'Content-Type': 'application/json' }, body };
    },
  });
  const upload = ofState.raw('PUT')(at, {
    summary: 'Upload the content of a state version. The URL accepts one upload.',
    answers: { 200: { description: 'Taken.' } },
    takes: 'application/json',
    refuses: [413, 422],
    link: 'only',
    requires: 'can-create-state-versions',
    streams: true,
    acceptsLate: true,
    load,
    run: async ({ db, env, target, request }) => {
      const source = request.stream!;
      const take = form === 'raw' ? uploadRaw : uploadJson;
      const announced = Number(request.headers['content-length'] ?? uploadLimitBytes);
      if (announced > uploadLimitBytes) tooLarge(new BlobTooLarge(`more than ${uploadLimitBytes} bytes`));
      const work = () => take(db, env, target, source, uploadLimitBytes).catch(tooLarge);
      await (announced > inlineLimitBytes ? env.largeUploads.run<unknown>(work, target.workspaceId) : work());
      return { status: 200, headers: {}, body: '' };
    },
  });
  return [download, upload];
};

function tooLarge(error: unknown): never {
  if (error instanceof BlobTooLarge) throw new Refusal('too-large', error.message);
  if ((error as NodeJS.ErrnoException)?.code === 'ECONNRESET') throw new Refusal('malformed', 'the upload ended early');
  throw error;
}

const backingData = backingDataActions.map((name) =>
  ofState.command('POST')(`${byId}/actions/${name}`, {
    summary: `${name.replace(/_/g, ' ')} of a state version.`.replace(/^./, (letter) => letter.toUpperCase()),
    edition: 'self-hosted',
    requires: 'can-manage-backing-data',
    load,
    run: async ({ db, target, ...call }) => changeContent(db, actorOf(call), target as StateVersion, name),
  }),
);

interface KeptState extends quarantine.QuarantinedState, StateTarget {}

const quarantineSerializer = serializerOf<KeptState>()({
  type: 'quarantined-states',
  shape: {
    serial: serialNumber,
    lineage: text.nullable(),
    md5: text,
    size: whole,
    reason: text,
    'created-at': instant,
  },
  relations: { workspace: hasOne('workspaces') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/quarantined-states/${id}`,
  attributes: ({ serial, lineage, md5, size, reason, createdAt }) => ({
    serial: shownSerial(serial),
    lineage,
    md5,
    size: Number(size),
    reason,
    'created-at': createdAt.toISOString(),
  }),
  relationships: ({ workspaceId }) => ({ workspace: toOne('workspaces', workspaceId) }),
});

const listKept = endpoints(workspacePolicy, quarantineSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf,
}).list('/workspaces/:workspace_id/quarantined-states', {
  summary: 'List the state uploads that were refused, newest first.',
  paging: 'none',
  requires: 'can-read-state-versions',
  load: loadWorkspace,
  run: async ({ db, target }) => ({
    items: (await quarantine.list(db, target.id)).map((state) => ({
      ...state,
      organizationId: target.organizationId,
      workspace: target,
    })),
  }),
});

const promote = ofState.action('/quarantined-states/:quarantined_id/actions/promote', {
  summary: 'Make a refused upload the current state version of its locked workspace.',
  status: 201,
  // A repeated request no longer finds the promoted version.
  idempotent: false,
  requires: 'can-create-state-versions',
  load: async ({ db, params }) => {
    const quarantined = await quarantine.find(db, params.quarantined_id);
    const workspace = quarantined && (await workspaces.find(db, quarantined.workspaceId));
    return workspace && { ...quarantined, organizationId: workspace.organizationId, workspace };
  },
  run: async ({ db, env, target, ...call }) => {
    const quarantined = target as unknown as KeptState;
    const workspace = await workspaces.requireWorkspace(db, quarantined.workspaceId);
    return withLinks(env, await states.promote(db, env, actorOf(call), workspace, quarantined));
  },
});

/** State versions, their outputs and content. */
export const stateVersionResource: Resource = {
  name: 'state-versions',
  endpoints: [
    create,
    rollback,
    current,
    currentOutputs,
    index,
    show,
    versionOutputs,
    showOutput,
    ...contentOf('raw'),
    ...contentOf('json'),
    ...backingData,
    listKept,
    promote,
  ],
  includable: {
    'state-versions': includable<ShownStateVersion>({
      serializer: stateVersionSerializer,
      load: async (db, ids, env) => (await findMany(db, ids)).map((version) => withLinks(env, version)),
      visible: statePolicy['can-read-state-versions'],
      organizationsOf,
    }),
    'workspace-outputs': includable<outputs.StateOutput>({
      serializer: workspaceOutputSerializer,
      load: (db, ids, env) => outputs.findMany(db, env.keyring, ids),
      visible: statePolicy['can-read-state-outputs'],
      organizationsOf,
    }),
    'state-version-outputs': includable<outputs.StateOutput>({
      serializer: outputSerializer,
      load: async (db, ids, env) =>
        (await outputs.findMany(db, env.keyring, ids)).map((o) => (o.sensitive ? { ...o, value: null } : o)),
      visible: statePolicy['can-read-state-outputs'],
      organizationsOf,
    }),
  },
};
