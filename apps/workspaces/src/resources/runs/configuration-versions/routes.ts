import { document } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { z } from 'zod';
import type { Access } from '../../../kernel/access/access';
import { type Policy, policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { backingDataActions } from '../../../kernel/blobs/backing-data';
import { readBlob } from '../../../kernel/blobs/blobs';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import {
  both,
  type Call,
  endpoints,
  includable,
  type LookupBy,
  type Resource,
} from '../../../kernel/endpoints/endpoint';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import * as workspaces from '../../workspaces/workspaces/workspace';
import { organizationsOf, type RunTarget, readsRun } from '../runs/policy';
import {
  type AnyConfiguration,
  type ConfigurationVersion,
  find,
  findMany,
  findOfModule,
  findOfRun,
  list as listConfigurations,
} from './configuration-version';
import { findIngress, type Ingress, ingressIncluded, ingressSerializer } from './ingress';
import { testsModules, uploadOfModule } from './module-configurations';
import { readmeIncluded } from './readme';
import { configurationVersionSerializer } from './serializer';
import { archive, changeContent, create as createConfiguration, noteRead } from './service';
import { upload as uploadArchive } from './upload';

const configurationPolicy = policy<RunTarget>()({
  'can-archive': (access, { workspace }) => access.has(workspace, 'runs:apply'),
  'can-queue-run': (access, { workspace }) => workspacePolicy['can-queue-run'](access, workspace),
  'can-manage-backing-data': (access, { organizationId }) => access.isOwner(organizationId),
});

/** Whether the caller may see a configuration of either kind. */
const readsAny = (access: Access, one: AnyConfiguration): boolean =>
  one.workspaceId === null ? testsModules(access, one) : readsRun(access, one);
const uploadsAny = (access: Access, one: AnyConfiguration): boolean =>
  one.workspaceId === null ? testsModules(access, one) : configurationPolicy['can-queue-run'](access, one);
const ofAny = endpoints({} as Policy<AnyConfiguration>, configurationVersionSerializer, {
  visible: readsAny,
  organizationsOf,
});

const ofWorkspace = endpoints(workspacePolicy, configurationVersionSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf,
});
const ofConfiguration = endpoints(configurationPolicy, configurationVersionSerializer, {
  visible: readsRun,
  organizationsOf,
});

const spec = 'Workspace (type `workspaces`; id of the form `ws-<id>`)';
const inWorkspace = '/workspaces/:workspace_id/configuration-versions';
const byId = '/configuration-versions/:configuration_version_id';
/** The path of a configuration's archive. */
export const contentPath = (id: string): string => `/configuration-versions/${id}/content`;
const include = ['ingress_attributes', 'run', 'workspace'];

const loadWorkspace = ({ db, params }: LookupBy<'workspace_id'>) => workspaces.find(db, params.workspace_id);
const load = ({ db, params }: LookupBy<'configuration_version_id'>) => find(db, params.configuration_version_id);
const loadAny = async (lookup: LookupBy<'configuration_version_id'>) =>
  (await load(lookup)) ?? findOfModule(lookup.db, lookup.params.configuration_version_id);
/** A configuration by its id, and by the id of a run that works on it. */
const places = (below: string) => ({
  [`${byId}${below}`]: load,
  [`/runs/:run_id/configuration-version${below}`]: ({ db, params }: LookupBy<'run_id'>) => findOfRun(db, params.run_id),
});

const flag = z.boolean().nullish();
const CreateConfiguration = document('configuration-versions', {
  attributes: { 'auto-queue-runs': flag, speculative: flag, provisional: flag },
  optional: true,
});

const create = ofWorkspace.post(inWorkspace, {
  summary: 'Create a configuration version. The response contains the upload URL.',
  spec,
  tokens: ['user', 'team'],
  requires: 'can-queue-run',
  body: CreateConfiguration,
  load: loadWorkspace,
  run: ({ db, access, target, body, ...call }) => {
    const by = { actor: actorOf(call), applies: workspacePolicy['can-queue-apply'](access, target), source: 'tfe-api' };
    return createConfiguration(db, by, target, body);
  },
  adds: (version, env) =>
    version.status === 'pending' ? { ...version, uploadUrl: signedUrl(env, 'PUT', contentPath(version.id)) } : version,
});

const index = ofWorkspace.list(inWorkspace, {
  summary: 'List the configuration versions of a workspace, newest first.',
  spec,
  include,
  load: loadWorkspace,
  run: ({ db, target, page }: Call<string, undefined, Workspace>) => listConfigurations(db, target.id, page!),
});

type ConfigurationCall = Call<string, undefined, ConfigurationVersion>;

const show = both(
  ofAny.get,
  { ...places(''), [byId]: loadAny },
  {
    summary: 'Show a configuration version.',
    spec,
    include,
    run: async ({ target }: Call<string, undefined, AnyConfiguration>) => target,
  },
);

const download = both(ofConfiguration.raw('GET'), places('/download'), {
  summary: 'Redirect to the archive of a configuration version.',
  answers: { 302: { description: 'Redirect to the archive.' } },
  discloses: { action: 'configuration-version.download' },
  run: async ({ env, target: { id, status } }: ConfigurationCall) => {
    if (status !== 'uploaded') throw notFound();
    return { status: 302, headers: { Location: signedUrl(env, 'GET', contentPath(id)) }, body: '' };
  },
});

const ingress = endpoints({} as Policy<Ingress>, ingressSerializer, { visible: readsRun, organizationsOf }).get(
  `${byId}/ingress-attributes`,
  {
    summary: 'Show the commit of a configuration version. Uploaded ones have none.',
    load: ({ db, params }: LookupBy<'configuration_version_id'>) => findIngress(db, params.configuration_version_id),
    run: async ({ target }) => target,
  },
);

const content = ofConfiguration.raw('GET')(`${byId}/content`, {
  summary: 'Download the archive of a configuration version with a signed URL.',
  answers: {
    200: {
      description: 'The archive.',
      type: 'application/octet-stream',
      schema: { type: 'string', format: 'binary' },
    },
  },
  link: 'only',
  load,
  run: async ({ db, env, target, ...call }) => {
    const { status, blobId } = target as ConfigurationVersion;
    await noteRead(db, target as ConfigurationVersion, actorOf(call));
    const body = status === 'uploaded' && blobId ? await readBlob(db, env.keyring, blobId) : undefined;
    if (!body) throw notFound();
    return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, body };
  },
});

const upload = ofAny.raw('PUT')(`${byId}/content`, {
  summary:
    'Upload the archive of a configuration version (.tar.gz). It can be uploaded again until a run uses it or users other than the uploader read it.',
  answers: { 200: { description: 'Taken.' } },
  takes: 'application/octet-stream',
  refuses: [413, 422],
  link: 'only',
  requires: uploadsAny,
  streams: true,
  load: loadAny,
  run: async ({ db, env, target, request }) => {
    if (target.workspaceId === null) await uploadOfModule(db, env, target, request.stream!);
    else await uploadArchive(db, env, target, request.stream!);
    return { status: 200, headers: {}, body: '' };
  },
});

const archiving = ofConfiguration.command('POST')(`${byId}/actions/archive`, {
  summary: 'Delete the files of a configuration version that is not current.',
  spec,
  status: 202,
  tokens: ['user', 'team'],
  requires: 'can-archive',
  load,
  run: ({ db, target, ...call }) => archive(db, actorOf(call), target as ConfigurationVersion),
});

const backingData = backingDataActions.map((name) =>
  ofConfiguration.action(`${byId}/actions/${name}`, {
    summary: `${name.replace(/_/g, ' ')} of a configuration.`.replace(/^./, (letter) => letter.toUpperCase()),
    edition: 'self-hosted',
    requires: 'can-manage-backing-data',
    load,
    run: ({ db, target, ...call }) => changeContent(db, actorOf(call), target as ConfigurationVersion, name),
  }),
);

/** Configurations that runs work on. */
export const configurationVersionResource: Resource = {
  name: 'configuration-versions',
  endpoints: [create, index, ...show, ...download, ingress, content, upload, archiving, ...backingData],
  includable: {
    'configuration-versions': includable<ConfigurationVersion>({
      serializer: configurationVersionSerializer,
      load: findMany,
      visible: readsRun,
      organizationsOf,
    }),
    'ingress-attributes': ingressIncluded,
    'workspace-readme': readmeIncluded,
  },
};
