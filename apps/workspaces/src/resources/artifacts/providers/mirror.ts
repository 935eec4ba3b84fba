import type { Policy } from '../../../kernel/access/policy';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import { endpoints, type LookupBy } from '../../../kernel/endpoints/endpoint';
import * as organizations from '../../organizations/organizations/service';
import { json } from '../../runs/agents/wire';
import { jsonAnswer, linkSeconds, registryCallers } from '../modules/protocol';
import { paths } from './protocol';
import {
  findNamed,
  findVersion,
  findVersions,
  isInstallable,
  type ProviderVersion,
  platformsOf,
  type RegistryProvider,
} from './provider';
import { registryOf } from './schema';

const { raw } = endpoints({} as Policy<RegistryProvider>, undefined);
const at = '/api/registry/mirror/:organization_name/:hostname/:namespace/:provider_name' as const;
const extension = '.json';

type ProviderLookup = LookupBy<'organization_name' | 'hostname' | 'namespace' | 'provider_name'>;

async function load({ db, env, principal, params }: ProviderLookup): Promise<RegistryProvider | undefined> {
  const { organization_name: of, hostname, namespace, provider_name: name } = params;
  const organization = await organizations.findByName(db, env, of);
  return findNamed(db, principal, organization, { registryName: registryOf(hostname, env), namespace, name });
}

async function loadVersion(lookup: ProviderLookup & LookupBy<'version_file'>): Promise<ProviderVersion | undefined> {
  const file = lookup.params.version_file;
  if (!file.endsWith(extension)) return undefined;
  const found = await findVersion(lookup.db, lookup.principal, await load(lookup), file.slice(0, -extension.length));
  return found && platformsOf(found).some(isInstallable) ? found : undefined;
}

const index = raw('GET')(`${at}/index.json`, {
  ...registryCallers,
  summary: 'List the versions of a provider (network mirror protocol).',
  answers: jsonAnswer('The versions.'),
  load,
  run: async ({ db, target }) => {
    const all = (await findVersions(db, target.versionIds)).filter((one) => platformsOf(one).some(isInstallable));
    return json({ versions: Object.fromEntries(all.map(({ version }) => [version, {}])) });
  },
});

const archives = raw('GET')(`${at}/:version_file`, {
  ...registryCallers,
  summary: 'Show the archive URLs and checksums of a version, as `VERSION.json` (network mirror protocol).',
  answers: jsonAnswer('The archives by platform.'),
  discloses: { action: 'registry-provider-version.download' },
  load: loadVersion,
  run: async ({ env, target }) => {
    const found = platformsOf(target)
      .filter(isInstallable)
      .map(({ id, os, arch, shasum, filesHash }) => {
        const url = signedUrl(env, 'GET', paths.archive(id), linkSeconds);
        const hashes = [...(filesHash === null ? [] : [filesHash]), `zh:${shasum}`];
        return [`${os}_${arch}`, { url, hashes }] as const;
      });
    return json({ archives: Object.fromEntries(found) });
  },
});

/**
 * The network mirror of an organization: its own providers, and the providers that it mirrors from other registries.
 */
export const mirrorProtocol = [index, archives];
