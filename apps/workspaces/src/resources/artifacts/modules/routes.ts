import { flag, text } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import {
  both,
  type Call,
  endpoints,
  includable,
  type Lookup,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { Organization } from '../../organizations/organizations/organization';
import { organizationPolicy } from '../../organizations/organizations/policy';
import { bindingsOf } from '../../workspaces/projects/tag-bindings';
import { bindingSerializer } from '../../workspaces/tags/routes';
import { askForChange, askForFollower, changeModule, createFollower, type NewFollower, resync } from './git-modules';
import {
  find,
  findMany,
  findNamed,
  findVersion,
  findVersions,
  type ModuleVersion,
  type RegistryModule,
} from './module';
import {
  byName,
  byProvider,
  inOrganization,
  loadAnywhere,
  loadModule,
  loadOrganization,
  loadPrivate,
  type Naming,
} from './named-modules';
import { artifactName, moduleProvider } from './names';
import { modulePolicy, organizationsOf, readsArtifact } from './policy';
import { archivePath, early, moduleProtocol } from './protocol';
import { type FoundArchive, findArchive } from './reads';
import { ChangeModule, CreateFromGit, CreateModule, CreateModuleVersion, DeprecateVersion } from './schema';
import { moduleSerializer, moduleVersionSerializer } from './serializer';
import * as modules from './service';
import { handOut, upload as uploadArchive } from './upload';
import { usageIndex } from './usages';

const onOrganization = endpoints(organizationPolicy, moduleSerializer, {
  visible: (access, { id }) => access.isMember(id),
  organizationsOf: (item) => ('readers' in item ? organizationsOf(item) : [item.id]),
});
const onModule = endpoints(modulePolicy, moduleSerializer, { visible: readsArtifact, organizationsOf });

const mayUpload = (access: Access, { module, source }: ModuleVersion): boolean =>
  source === 'tfe-api' && modulePolicy['can-delete'](access, module);
const mayDeprecate = (access: Access, { module }: ModuleVersion): boolean => modulePolicy['can-delete'](access, module);
const onVersion = endpoints({ 'can-upload': mayUpload, 'can-deprecate': mayDeprecate }, moduleVersionSerializer, {
  visible: readsArtifact,
  organizationsOf,
});

const index = onOrganization.list(inOrganization, {
  summary: 'List the modules of an organization by name.',
  query: {
    q: 'Part of the name, the provider or the namespace.',
    'filter[provider]': 'Modules for this provider.',
    'filter[registry_name]': 'private or public.',
    'filter[organization_name]': 'Modules of this organization.',
  },
  include: ['no-code-modules'],
  load: loadOrganization,
  run: ({ db, target, query, page }) => {
    const [any, provider, registryName, organizationName] = [
      query.get('q'),
      query.get('filter[provider]'),
      query.get('filter[registry_name]'),
      query.get('filter[organization_name]'),
    ];
    return modules.list(db, target, { any, provider, registryName, organizationName }, page!);
  },
});

/** A name that a new module might have. */
interface WantedName {
  readonly name: string;
  readonly provider: string;
  readonly organizationId: string;
  readonly isFree: boolean;
}

const wantedSerializer = serializerOf<WantedName>()({
  type: 'registry-module-address-validations',
  shape: { 'module-name': text, 'provider-name': text, valid: flag },
  id: ({ name, provider }) => `${name}/${provider}`,
  attributes: ({ name, provider, isFree }) => ({ 'module-name': name, 'provider-name': provider, valid: isFree }),
});

const validation = endpoints(organizationPolicy, wantedSerializer, {
  visible: (access, { id }) => access.isMember(id),
  organizationsOf: (item: { id?: string; organizationId?: string }) => [item.organizationId ?? item.id ?? ''],
}).get(`${inOrganization}/validation`, {
  summary: 'Check whether a name for a private module is valid and available.',
  query: { name: 'The name.', provider: 'The provider.' },
  load: loadOrganization,
  run: async ({ db, principal, target, query }) => {
    const organization = target as Organization;
    const requested = { name: query.get('name') ?? '', provider: query.get('provider') ?? '' };
    const isFormed =
      artifactName.safeParse(requested.name).success && moduleProvider.safeParse(requested.provider).success;
    const place = { ...requested, registryName: 'private', namespace: organization.name };
    const isFree = isFormed && (await findNamed(db, principal, organization, place)).length === 0;
    return { ...requested, organizationId: organization.id, isFree };
  },
});

const create = onOrganization.post(inOrganization, {
  summary: 'Create a module whose versions are uploaded.',
  requires: (access, { id }) => access.can(id, 'manage-modules') || access.can(id, 'manage-public-modules'),
  body: CreateModule,
  load: loadOrganization,
  run: ({ db, access, target, body, ...call }) => modules.create(db, actorOf(call), access, target, body),
});

const vcsForm = `${inOrganization}/vcs` as const;

const follow = onOrganization.post(vcsForm, {
  idempotent: false,
  summary: 'Create a module whose versions come from the tags or a branch of a repository.',
  requires: (access, { id }) => access.can(id, 'manage-modules'),
  body: CreateFromGit,
  load: loadOrganization,
  asks: ({ target, body, ...call }) => askForFollower(call, target as Organization, body),
  run: ({ db, env, answer, ...call }) => createFollower(db, env, actorOf(call), answer as NewFollower),
});

const followOlder = onModule.post('/registry-modules', {
  idempotent: false,
  summary:
    'Create a module whose versions come from a repository, in the organization of the VCS connection (older form).',
  body: CreateFromGit,
  asks: ({ body, ...call }) => askForFollower(call, undefined, body),
  run: ({ db, env, answer, ...call }) => createFollower(db, env, actorOf(call), answer as NewFollower),
});

const show = both(
  onModule.get,
  {
    [byProvider]: loadModule,
    '/registry-modules/:registry_module_id': ({ db, principal, params }: LookupBy<'registry_module_id'>) =>
      find(db, principal, params.registry_module_id),
  },
  { summary: 'Show a module.', run: async ({ target }: Call<string, undefined, RegistryModule>) => target },
);

/** The objects that a caller with one right may delete together. */
interface ModuleSet extends Pick<RegistryModule, 'organizationId' | 'registryName' | 'readers'> {
  readonly id: string;
  readonly name: string;
  readonly modules: readonly RegistryModule[];
  readonly version: ModuleVersion | undefined;
}

async function loadSet(lookup: Naming): Promise<ModuleSet | undefined> {
  const found = await loadAnywhere(lookup);
  const [first] = found;
  const { module_version: text } = lookup.params;
  const version = text === undefined ? undefined : await findVersion(lookup.db, first, text);
  if (!first || (text !== undefined && !version)) return undefined;
  const { organizationId, registryName, readers, id, name } = first;
  return { organizationId, registryName, readers, id, name, modules: found, version };
}

const onSet = endpoints(modulePolicy, moduleSerializer, { visible: readsArtifact, organizationsOf });
const deletion = {
  requires: 'can-delete',
  run: ({ db, target, ...call }: Lookup<string> & { target: ModuleSet; request: { id: string } }) =>
    modules.remove(db, actorOf(call), target.modules, target.version),
} as const;
const oldForm = '/registry-modules/actions/delete/:organization_name/:module_name' as const;

const destroy = [
  ...both(
    onSet.remove,
    { [byName]: loadSet, [byProvider]: loadSet, [`${byProvider}/:module_version`]: loadSet },
    { ...deletion, summary: 'Delete a module for all providers or for one provider, or delete one version.' },
  ),
  ...both(
    onSet.command('POST'),
    {
      [oldForm]: loadSet,
      [`${oldForm}/:module_provider`]: loadSet,
      [`${oldForm}/:module_provider/:module_version`]: loadSet,
    },
    {
      ...deletion,
      summary: 'Delete a module for all providers or for one provider, or delete one version (older form).',
    },
  ),
];

/** Shows where to upload a version that can still change. */
const withUpload = (env: Environment, version: ModuleVersion): ModuleVersion =>
  version.readAt || version.source !== 'tfe-api'
    ? version
    : { ...version, uploadUrl: signedUrl(env, 'PUT', archivePath(version.id)) };

const change = onModule.patch(byProvider, {
  summary: 'Change the tag pattern or branch of a module, its tests, its tags, and whether it is a no-code module.',
  requires: 'can-delete',
  body: ChangeModule,
  load: loadModule,
  asks: ({ target, body, ...call }) => askForChange(call, target, body),
  run: ({ db, target, body, answer, ...call }) =>
    changeModule(db, actorOf(call), target, answer as Parameters<typeof changeModule>[3], body),
});

const tags = endpoints(modulePolicy, bindingSerializer, {
  visible: readsArtifact,
  organizationsOf: (item) => ('readers' in item ? organizationsOf(item) : [item.organizationId]),
}).list('/registry-modules/:registry_module_id/tag-bindings', {
  summary: 'List the key-value tags of a module.',
  paging: 'none',
  load: ({ db, principal, params }) => find(db, principal, params.registry_module_id),
  run: async ({ db, target: { id, organizationId } }) => ({
    items: await bindingsOf(db, { moduleId: id }, organizationId),
  }),
});

const again = onModule.command('POST')('/registry-modules/:registry_module_id/actions/resync', {
  summary: 'Poll the repository of a module now, and retry failed versions.',
  requires: 'can-resync',
  load: ({ db, principal, params }) => find(db, principal, params.registry_module_id),
  run: ({ db, target, ...call }) => resync(db, actorOf(call), target),
});

const createVersion = endpoints(modulePolicy, moduleVersionSerializer, {
  visible: readsArtifact,
  organizationsOf,
}).post('/registry-modules/:organization_name/:module_name/:module_provider/versions', {
  summary: 'Create a version of a module. The response contains the upload URL.',
  requires: 'can-delete',
  body: CreateModuleVersion,
  load: loadPrivate,
  run: ({ db, target, body, ...call }) => modules.createVersion(db, actorOf(call), target, body),
  adds: (version, env) => withUpload(env, version),
});

const showVersion = onVersion.get(`${byProvider}/version`, {
  summary: 'Show a version of a module.',
  query: { module_version: 'The version; required.' },
  load: async (lookup) => findVersion(lookup.db, await loadPrivate(lookup), lookup.query.get('module_version') ?? ''),
  run: async ({ env, access, target }) => (mayUpload(access, target) ? withUpload(env, target) : target),
});

const deprecation = onVersion.patch(`${byProvider}/:module_version`, {
  summary: 'Deprecate a version, or undo the deprecation.',
  requires: 'can-deprecate',
  body: DeprecateVersion,
  load: async (lookup) => findVersion(lookup.db, await loadPrivate(lookup), lookup.params.module_version),
  run: ({ db, target, body, ...call }) => modules.deprecate(db, actorOf(call), target, body),
});

const byLink = '/registry-module-versions/:module_version_id/object/module.tar.gz' as const;
const loadLinked = async ({ db, principal, params }: LookupBy<'module_version_id'>) =>
  (await findVersions(db, [params.module_version_id], principal))[0];
const archive = { type: 'application/gzip', schema: { type: 'string', format: 'binary' } };

const upload = onVersion.raw('PUT')(byLink, {
  summary: 'Upload the archive of a version (.tar.gz).',
  answers: { 200: { description: 'The version is published.' } },
  takes: 'application/octet-stream',
  refuses: [413, 422],
  link: 'only',
  requires: 'can-upload',
  streams: true,
  load: loadLinked,
  run: async ({ db, env, target, request, ...call }) => {
    await uploadArchive(db, env, actorOf({ ...call, request }), target, request.stream!);
    return { status: 200, headers: {}, body: '' };
  },
});

const onArchive = endpoints({} as Policy<FoundArchive>, undefined, { visible: readsArtifact, organizationsOf });

const content = onArchive.raw('GET')(byLink, {
  summary: 'Download the archive of a version with a signed URL.',
  answers: { 200: { description: 'The archive.', ...archive } },
  link: 'only',
  ...early,
  load: ({ db, params }) => findArchive(db, params.module_version_id),
  run: async ({ db, env, target }) => {
    const blobId = await handOut(db, target);
    const body = blobId ? await env.keptBlobs.read(blobId) : undefined;
    if (!body) throw notFound();
    return { status: 200, headers: { 'Content-Type': archive.type }, body };
  },
});

/** Modules that organizations share: uploads, and the protocol that the tools use to fetch them. */
export const moduleResource: Resource = {
  name: 'registry-modules',
  endpoints: [
    index,
    validation,
    create,
    follow,
    followOlder,
    ...show,
    change,
    tags,
    again,
    ...destroy,
    createVersion,
    showVersion,
    deprecation,
    usageIndex,
    upload,
    content,
    ...moduleProtocol,
  ],
  includable: {
    'registry-modules': includable<RegistryModule>({
      serializer: moduleSerializer,
      load: (db, ids) => findMany(db, ids),
      visible: readsArtifact,
      organizationsOf,
    }),
    'registry-module-versions': includable<ModuleVersion>({
      serializer: moduleVersionSerializer,
      load: (db, ids) => findVersions(db, ids),
      visible: readsArtifact,
      organizationsOf,
    }),
  },
};
