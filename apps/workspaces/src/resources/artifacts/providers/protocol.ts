import { notFound } from '@keystead/refusal';
import type { Policy } from '../../../kernel/access/policy';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import { endpoints, type LookupBy } from '../../../kernel/endpoints/endpoint';
import * as organizations from '../../organizations/organizations/service';
import { json } from '../../runs/agents/wire';
import { jsonAnswer, linkSeconds, registryCallers } from '../modules/protocol';
import {
  findNamed,
  findVersion,
  findVersions,
  isInstallable,
  type ProviderPlatform,
  platformOf,
  platformsOf,
  type RegistryProvider,
} from './provider';

const { raw } = endpoints({} as Policy<RegistryProvider>, undefined);
const at = '/api/registry/v1/providers/:namespace/:provider_name' as const;

/** Signed links to the files of a version and of a platform. */
export const paths = {
  sums: (id: string): string => `/registry-provider-versions/${id}/object/SHA256SUMS`,
  signature: (id: string): string => `/registry-provider-versions/${id}/object/SHA256SUMS.sig`,
  archive: (id: string): string => `/registry-provider-platforms/${id}/object/provider.zip`,
};

async function load({ db, env, principal, params }: LookupBy<'namespace' | 'provider_name'>) {
  const { namespace, provider_name: name } = params;
  const organization = await organizations.findByName(db, env, namespace);
  return findNamed(db, principal, organization, { registryName: 'private', namespace, name });
}

type PlatformLookup = LookupBy<'namespace' | 'provider_name' | 'provider_version' | 'os' | 'arch'>;

async function loadPlatform(lookup: PlatformLookup): Promise<ProviderPlatform | undefined> {
  const { provider_version: version, os, arch } = lookup.params;
  const found = platformOf(await findVersion(lookup.db, lookup.principal, await load(lookup), version), os, arch);
  return found && isInstallable(found) ? found : undefined;
}

const versions = raw('GET')(`${at}/versions`, {
  ...registryCallers,
  summary: 'List the signed versions of a provider and their platforms (registry protocol).',
  answers: jsonAnswer('The versions.'),
  load,
  run: async ({ db, target }) => {
    const all = (await findVersions(db, target.versionIds)).map((one) => ({
      version: one.version,
      protocols: one.protocols,
      platforms: platformsOf(one)
        .filter(isInstallable)
        .map(({ os, arch }) => ({ os, arch })),
    }));
    return json({ versions: all.filter(({ platforms }) => platforms.length > 0) });
  },
});

const download = raw('GET')(`${at}/:provider_version/download/:os/:arch`, {
  ...registryCallers,
  summary: 'Show the file URLs of a platform and the key that signed them (registry protocol).',
  answers: jsonAnswer('The files and the key.'),
  discloses: { action: 'registry-provider-version.download' },
  load: loadPlatform,
  run: async ({ db, env, target }) => {
    const { version, os, arch, filename, shasum } = target;
    const link = (path: string) => signedUrl(env, 'GET', path, linkSeconds);
    const key = await db.prisma.gpgKey.findUnique({ where: { id: version.signedBy! } });
    if (!key) throw notFound();
    const signer = {
      key_id: key.keyId,
      ascii_armor: key.asciiArmor,
      trust_signature: '',
      source: '',
      source_url: null,
    };
    return json({
      protocols: version.protocols,
      os,
      arch,
      filename,
      shasum,
      download_url: link(paths.archive(target.id)),
      shasums_url: link(paths.sums(version.id)),
      shasums_signature_url: link(paths.signature(version.id)),
      signing_keys: { gpg_public_keys: [signer] },
    });
  },
});

/** The provider registry protocol of the tools. */
export const providerProtocol = [versions, download];
