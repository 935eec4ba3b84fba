import { hasOne, toOne } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { actorOf } from '../../../kernel/audit/audit';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import {
  both,
  type Call,
  endpoints,
  includable,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { gather } from '../../runs/agents/wire';
import { bindingsOf } from '../../workspaces/projects/tag-bindings';
import { bindingSerializer } from '../../workspaces/tags/routes';
import { organizationsOf, readsArtifact } from '../modules/policy';
import {
  listUsages,
  type Usage,
  usageAttributes,
  usageList,
  usageRelations,
  usageShape,
  usedBy,
} from '../modules/usages';
import { mirrorProtocol } from './mirror';
import { providerPolicy, providerVersionPolicy } from './policy';
import { paths, providerProtocol } from './protocol';
import {
  find,
  findMany,
  findNamed,
  findPlatforms,
  findVersion,
  findVersions,
  type ProviderPlatform,
  type ProviderVersion,
  platformOf,
  platformsOf,
  type RegistryProvider,
} from './provider';
import { ChangeProvider, CreatePlatform, CreateProvider, CreateProviderVersion } from './schema';
import { platformSerializer, providerSerializer, providerVersionSerializer } from './serializers';
import * as providers from './service';
import { mostSums, signatureOf, sumsOf, uploadArchive, uploadPart } from './upload';

const shared = { visible: readsArtifact, organizationsOf } as const;
const onOrganization = endpoints(organizationPolicy, providerSerializer, {
  visible: (access, { id }) => access.isMember(id),
  organizationsOf: (item) => ('readers' in item ? organizationsOf(item) : [item.id]),
});
const onProvider = endpoints(providerPolicy, providerSerializer, shared);
const versionsOfProvider = endpoints(providerPolicy, providerVersionSerializer, shared);
const onVersion = endpoints(providerVersionPolicy, providerVersionSerializer, shared);
const onPlatform = endpoints(providerVersionPolicy, platformSerializer, shared);

const inOrganization = '/organizations/:organization_name/registry-providers' as const;
const byName = `${inOrganization}/:registry_name/:namespace/:provider_name` as const;
const inProvider = `${byName}/versions` as const;
const byVersion = `${inProvider}/:provider_version` as const;
const inVersion = `${byVersion}/platforms` as const;
const byPlatform = `${inVersion}/:os/:arch` as const;

const loadOrganization = ({ db, env, params }: LookupBy<'organization_name'>) =>
  organizations.findByName(db, env, params.organization_name);

type ProviderLookup = LookupBy<'organization_name' | 'registry_name' | 'namespace' | 'provider_name'>;
type VersionLookup = ProviderLookup & LookupBy<'provider_version'>;
type PlatformLookup = VersionLookup & LookupBy<'os' | 'arch'>;

const load = async (lookup: ProviderLookup): Promise<RegistryProvider | undefined> => {
  const { registry_name: registryName, namespace, provider_name: name } = lookup.params;
  const organization = await loadOrganization(lookup);
  return findNamed(lookup.db, lookup.principal, organization, { registryName, namespace, name });
};
const loadVersion = async (lookup: VersionLookup): Promise<ProviderVersion | undefined> =>
  findVersion(lookup.db, lookup.principal, await load(lookup), lookup.params.provider_version);
const loadPlatform = async (lookup: PlatformLookup): Promise<ProviderPlatform | undefined> =>
  platformOf(await loadVersion(lookup), lookup.params.os, lookup.params.arch);

const index = onOrganization.list(inOrganization, {
  summary: 'List the providers of an organization.',
  query: {
    q: 'Part of the name or the namespace.',
    'filter[registry_name]': 'private, public, or the host of a mirrored registry.',
    'filter[organization_name]': 'Providers of this organization.',
  },
  include: ['registry-provider-versions'],
  load: loadOrganization,
  run: async ({ db, target, query, page }) => {
    const registryName = query.get('filter[registry_name]');
    const organizationName = query.get('filter[organization_name]');
    const search = { any: query.get('q'), registryName, organizationName };
    return { ...(await providers.list(db, target, search, page!)), hasNoPageWhenEmpty: true };
  },
});

const create = onOrganization.post(inOrganization, {
  summary: 'Create a provider whose versions are uploaded.',
  requires: (access, { id }) => access.can(id, 'manage-providers') || access.can(id, 'manage-public-providers'),
  body: CreateProvider,
  load: loadOrganization,
  run: ({ db, env, access, target, body, ...call }) => providers.create(db, env, actorOf(call), access, target, body),
});

const show = both(
  onProvider.get,
  {
    [byName]: load,
    '/registry-providers/:registry_provider_id': ({ db, principal, params }: LookupBy<'registry_provider_id'>) =>
      find(db, principal, params.registry_provider_id),
  },
  {
    summary: 'Show a provider.',
    include: ['registry-provider-versions'],
    run: async ({ target }: Call<string, undefined, RegistryProvider>) => target,
  },
);

const change = onProvider.patch(byName, {
  summary: 'Replace the key-value tags of a provider.',
  requires: 'can-delete',
  body: ChangeProvider,
  load,
  run: ({ db, target, body, ...call }) => providers.change(db, actorOf(call), target as RegistryProvider, body),
});

const tags = endpoints(providerPolicy, bindingSerializer, {
  visible: readsArtifact,
  organizationsOf: (item) => ('readers' in item ? organizationsOf(item) : [item.organizationId]),
}).list('/registry-providers/:registry_provider_id/tag-bindings', {
  summary: 'List the key-value tags of a provider.',
  paging: 'none',
  load: ({ db, principal, params }) => find(db, principal, params.registry_provider_id),
  run: async ({ db, target: { id, organizationId } }) => ({
    items: await bindingsOf(db, { providerId: id }, organizationId),
  }),
});

const destroy = onProvider.remove(byName, {
  summary: 'Delete a provider with all its versions.',
  requires: 'can-delete',
  load,
  run: ({ db, target, ...call }) => providers.remove(db, actorOf(call), target as RegistryProvider),
});

const manages = providerVersionPolicy['can-upload-asset'];

/** A version with the links to its files and, until they are signed, the links for uploading them. */
function withFiles(env: Environment, one: ProviderVersion): ProviderVersion {
  const links: Record<string, string> = {};
  const add = (name: string, stored: unknown, path: string) => {
    if (stored !== null) links[`${name}-download`] = signedUrl(env, 'GET', path);
    if (one.signedBy === null) links[`${name}-upload`] = signedUrl(env, 'PUT', path);
  };
  add('shasums', one.sums, paths.sums(one.id));
  add('shasums-sig', one.signature, paths.signature(one.id));
  return { ...one, links };
}

function withArchive(env: Environment, one: ProviderPlatform): ProviderPlatform {
  const path = paths.archive(one.id);
  const links: Record<string, string> =
    one.blobId === null
      ? { 'provider-binary-upload': signedUrl(env, 'PUT', path) }
      : { 'provider-binary-download': signedUrl(env, 'GET', path) };
  return { ...one, links };
}

const pageOf = <T>(all: readonly T[], { offset, size }: { offset: number; size: number }) => ({
  items: all.slice(offset, offset + size),
  total: all.length,
});

const versionIndex = versionsOfProvider.list(inProvider, {
  summary: 'List the versions of a provider.',
  load,
  run: async ({ db, principal, target, page }) => {
    const { items, total } = pageOf((target as RegistryProvider).versionIds, page!);
    return { items: await findVersions(db, items, principal), total, hasNoPageWhenEmpty: true };
  },
});

const createVersion = versionsOfProvider.post(inProvider, {
  summary:
    'Create a version of a provider. The response contains the upload URLs of its checksums and their signature.',
  requires: 'can-delete',
  body: CreateProviderVersion,
  load,
  run: ({ db, target, body, ...call }) => providers.createVersion(db, actorOf(call), target as RegistryProvider, body),
  adds: (version, env) => withFiles(env, version),
});

const showVersion = onVersion.get(byVersion, {
  summary: 'Show a version of a provider.',
  load: loadVersion,
  run: async ({ env, access, target }) => (manages(access, target) ? withFiles(env, target) : target),
});

const destroyVersion = onVersion.remove(byVersion, {
  summary: 'Delete a version of a provider.',
  requires: 'can-delete',
  load: loadVersion,
  run: ({ db, target, ...call }) => providers.removeVersion(db, actorOf(call), target as ProviderVersion),
});

const platformIndex = onPlatform.list(inVersion, {
  summary: 'List the platforms of a version.',
  load: loadVersion,
  run: async ({ target, page }) => pageOf(platformsOf(target as ProviderVersion), page!),
});

const createPlatform = onPlatform.post(inVersion, {
  summary: 'Create a platform of a version. The response contains the upload URL of its archive.',
  requires: 'can-upload-asset',
  body: CreatePlatform,
  load: loadVersion,
  run: ({ db, target, body, ...call }) => providers.createPlatform(db, actorOf(call), target as ProviderVersion, body),
  adds: (platform, env) => withArchive(env, platform),
});

const showPlatform = onPlatform.get(byPlatform, {
  summary: 'Show a platform of a version.',
  load: loadPlatform,
  run: async ({ env, access, target }) => (manages(access, target) ? withArchive(env, target) : target),
});

const destroyPlatform = onPlatform.remove(byPlatform, {
  summary: 'Delete a platform of a version.',
  requires: 'can-delete',
  load: loadPlatform,
  run: ({ db, target, ...call }) => providers.removePlatform(db, actorOf(call), target as ProviderPlatform),
});

const octets = { type: 'application/octet-stream', schema: { type: 'string', format: 'binary' } };
const uploadOptions = {
  answers: { 200: { description: 'Taken.' } },
  takes: octets.type,
  refuses: [413, 422],
  link: 'only',
  requires: 'can-upload-asset',
  streams: true,
} as const;
const downloadOptions = { answers: { 200: { description: 'The file.', ...octets } }, link: 'only' } as const;
const emptyAnswer = { status: 200, headers: {}, body: '' };
const sent = (body: Parameters<typeof Buffer.from>[0] | NodeJS.ReadableStream | null | undefined) => {
  if (!body) throw notFound();
  return { status: 200, headers: { 'Content-Type': octets.type }, body: body as Buffer | NodeJS.ReadableStream };
};

const versionByLink = async ({ db, principal, params }: LookupBy<'provider_version_id'>) =>
  (await findVersions(db, [params.provider_version_id], principal))[0];
const platformByLink = async ({ db, principal, params }: LookupBy<'provider_platform_id'>) =>
  (await findPlatforms(db, [params.provider_platform_id], principal))[0];

const signed = (
  [
    ['SHA256SUMS', 'list of sums', sumsOf, ({ sums }: ProviderVersion) => sums && Buffer.from(sums)],
    [
      'SHA256SUMS.sig',
      'signature of the checksums',
      signatureOf,
      ({ signature }: ProviderVersion) => signature && Buffer.from(signature),
    ],
  ] as const
).flatMap(([file, what, partOf, stored]) => {
  const path = `/registry-provider-versions/:provider_version_id/object/${file}` as const;
  return [
    onVersion.raw('PUT')(path, {
      ...uploadOptions,
      summary: `Upload the ${what} of a version.`,
      load: versionByLink,
      run: async ({ db, target, request, ...call }) => {
        const bytes = await gather(request.stream, mostSums, file);
        await uploadPart(db, actorOf({ ...call, request }), target as ProviderVersion, partOf(bytes));
        return emptyAnswer;
      },
    }),
    onVersion.raw('GET')(path, {
      ...downloadOptions,
      summary: `Download the ${what} of a version.`,
      load: versionByLink,
      run: async ({ target }) => sent(stored(target as ProviderVersion)),
    }),
  ];
});

const archiveByLink = '/registry-provider-platforms/:provider_platform_id/object/provider.zip' as const;

const upload = onPlatform.raw('PUT')(archiveByLink, {
  ...uploadOptions,
  summary: 'Upload the archive of a platform.',
  load: platformByLink,
  run: async ({ db, env, target, request, ...call }) => {
    await uploadArchive(db, env, actorOf({ ...call, request }), target as ProviderPlatform, request.stream!);
    return emptyAnswer;
  },
});

const content = onPlatform.raw('GET')(archiveByLink, {
  ...downloadOptions,
  summary: 'Download the archive of a platform.',
  load: platformByLink,
  run: async ({ env, target }) => {
    const { blobId } = target as ProviderPlatform;
    return sent(blobId === null ? undefined : await env.keptBlobs.read(blobId));
  },
});

const usageSerializer = serializerOf<Usage>()({
  type: 'registry-provider-usages',
  shape: usageShape,
  relations: { 'registry-provider': hasOne('registry-providers'), ...usageRelations },
  id: ({ id }) => id,
  attributes: usageAttributes,
  relationships: (usage) => ({
    'registry-provider': toOne('registry-providers', usage.artifactId),
    ...usedBy(usage),
  }),
});

const usageIndex = endpoints(providerPolicy, usageSerializer).list('/registry-providers/:registry_provider_id/usages', {
  ...usageList,
  summary: 'List the workspaces whose newest plan installed a provider, and the versions that they accept.',
  load: ({ db, principal, params }) => find(db, principal, params.registry_provider_id),
  run: ({ target, ...call }) => listUsages(call, 'provider', target),
});

/** Providers of organizations: signed uploads, and the protocols that the tools use to install them. */
export const providerResource: Resource = {
  name: 'registry-providers',
  endpoints: [
    index,
    create,
    ...show,
    change,
    tags,
    destroy,
    versionIndex,
    createVersion,
    showVersion,
    destroyVersion,
    platformIndex,
    createPlatform,
    showPlatform,
    destroyPlatform,
    usageIndex,
    ...signed,
    upload,
    content,
    ...providerProtocol,
    ...mirrorProtocol,
  ],
  includable: {
    'registry-providers': includable<RegistryProvider>({
      serializer: providerSerializer,
      load: (db, ids) => findMany(db, ids),
      visible: readsArtifact,
      organizationsOf,
    }),
    'registry-provider-versions': includable<ProviderVersion>({
      serializer: providerVersionSerializer,
      load: (db, ids) => findVersions(db, ids),
      visible: readsArtifact,
      organizationsOf,
    }),
    'registry-provider-platforms': includable<ProviderPlatform>({
      serializer: platformSerializer,
      load: (db, ids) => findPlatforms(db, ids),
      visible: readsArtifact,
      organizationsOf,
    }),
  },
};
