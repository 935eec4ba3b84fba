import { notFound } from '@keystead/refusal';
import { rcompare } from 'semver';
import type { Policy } from '../../../kernel/access/policy';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import { endpoints, type LookupBy } from '../../../kernel/endpoints/endpoint';
import * as organizations from '../../organizations/organizations/service';
import { json } from '../../runs/agents/wire';
import { docsOf } from './docs';
import { findNamed, findVersion, type ModuleVersion, type RegistryModule } from './module';
import { organizationsOf, readsArtifact } from './policy';
import { envelopeType, provenanceKeys } from './provenance';
import { findAddressed, findPublished, withReaders } from './reads';

/** How long a download address is valid, in seconds. */
export const linkSeconds = 900;

/** The archive of a version. Tools recognize its format by the name. */
export const archivePath = (id: string): string => `/registry-module-versions/${id}/object/module.tar.gz`;

/** The callers and tokens that may use a registry. */
export const registryCallers = {
  outside: true,
  tokens: ['user', 'team', 'organization', 'run'],
  visible: readsArtifact,
  organizationsOf,
} as const;

/** The module in the path. Who may read it is determined when the caller is known. */
export const early = { loadsEarly: true, completes: withReaders } as const;

const { raw } = endpoints({} as Policy<RegistryModule>, undefined);
const at = '/api/registry/v1/modules/:namespace/:module_name/:module_provider' as const;

type ModuleLookup = LookupBy<'namespace' | 'module_name' | 'module_provider'>;

async function load({ db, env, principal, params }: ModuleLookup): Promise<RegistryModule | undefined> {
  const { namespace, module_name: name, module_provider: provider } = params;
  const organization = await organizations.findByName(db, env, namespace);
  const found = await findNamed(db, principal, organization, { registryName: 'private', namespace, name, provider });
  return found[0];
}

const loadPublished = (lookup: ModuleLookup) =>
  findPublished(lookup.db, lookup.params.namespace, lookup.params.module_name, lookup.params.module_provider);
const loadAddressed = (lookup: ModuleLookup & LookupBy<'module_version'>) => {
  const { namespace, module_name: name, module_provider: provider, module_version: version } = lookup.params;
  return findAddressed(lookup.db, namespace, name, provider, version);
};

async function loadVersion(lookup: ModuleLookup & LookupBy<'module_version'>): Promise<ModuleVersion | undefined> {
  const found = await findVersion(lookup.db, await load(lookup), lookup.params.module_version);
  return found?.status === 'ok' ? found : undefined;
}

/** The description of a response that is not JSON:API. */
export const jsonAnswer = (description: string) => ({
  200: { description, type: 'application/json', schema: { type: 'object' } },
});
const publishedOf = ({ versions }: RegistryModule) => versions.filter(({ status }) => status === 'ok');
const addressOf = ({ namespace, name, provider }: RegistryModule): string => `${namespace}/${name}/${provider}`;

const versions = raw('GET')(`${at}/versions`, {
  ...registryCallers,
  summary: 'List the published versions of a module (registry protocol).',
  answers: jsonAnswer('The versions.'),
  ...early,
  load: loadPublished,
  run: async ({ target: { address: source, versions: published } }) => {
    const listed = published.map(([version, isDeprecated, reason, link]) =>
      isDeprecated ? { version, deprecation: { reason: reason ?? '', link: link ?? '' } } : { version },
    );
    return json({ modules: [{ source, versions: listed }] });
  },
});

/** The URL of a folder in an archive. Two slashes in the URL select the folder. */
const inFolder = (url: string, { sourceDirectory: folder }: Pick<ModuleVersion, 'sourceDirectory'>): string =>
  folder === '' ? url : url.replace('?', `//${folder.split('/').map(encodeURIComponent).join('/')}?`);

/** The response with the URL of the archive, which tools read from a header. */
const located = { 204: { description: 'The archive URL is in the header `X-Terraform-Get`.' } };

const download = raw('GET')(`${at}/:module_version/download`, {
  ...registryCallers,
  summary: 'Show the archive URL of a version (registry protocol).',
  answers: located,
  discloses: { action: 'registry-module-version.download' },
  ...early,
  load: loadAddressed,
  run: async ({ env, target }) => {
    const link = signedUrl(env, 'GET', archivePath(target.id), linkSeconds);
    return { status: 204, headers: { 'X-Terraform-Get': inFolder(link, target) } };
  },
});

const show = raw('GET')(`${at}/:module_version`, {
  ...registryCallers,
  summary: 'Show the contents of a version: README, inputs, outputs, resources, submodules.',
  answers: jsonAnswer('The version.'),
  load: loadVersion,
  run: async ({ db, env, target }) => {
    const { module, version, updatedAt } = target;
    const docs = await docsOf(db, env.keyring, target);
    if (!docs) throw notFound();
    const { namespace, name, provider } = module;
    return json({
      id: `${addressOf(module)}/${version}`,
      owner: '',
      namespace,
      name,
      version,
      provider,
      description: '',
      source: module.repository?.httpUrl ?? '',
      tag: target.tag ?? '',
      published_at: updatedAt.toISOString(),
      downloads: 0,
      verified: false,
      ...docs,
      root: { ...docs.root, name },
      providers: [provider],
      versions: publishedOf(module)
        .map((one) => one.version)
        .sort((one, other) => rcompare(other, one)),
    });
  },
});

const provenance = raw('GET')(`${at}/:module_version/provenance`, {
  ...registryCallers,
  summary: 'Show the signed provenance of a version: its archive, its publisher and its commit.',
  answers: { 200: { description: 'A DSSE envelope.', type: envelopeType, schema: { type: 'object' } } },
  load: loadVersion,
  run: async ({ target }) => {
    if (target.provenance === null) throw notFound();
    return { status: 200, headers: { 'Content-Type': envelopeType }, body: target.provenance };
  },
});

const keys = raw('GET')('/api/registry/v1/provenance-keys', {
  outside: true,
  auth: 'none',
  summary: 'The public keys that sign the provenance of versions.',
  answers: jsonAnswer('The keys, as a JWK set.'),
  run: async ({ db, env }) => json(await provenanceKeys(db, env.keyring)),
});

/** The module registry protocol of the tools. */
export const moduleProtocol = [versions, download, show, provenance, keys];
