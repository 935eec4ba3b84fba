import { single } from '../../sdk/collection';
import { bool, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { findCa, type Issuer } from './ca';
import { checkUrls, filledUrls, hasUrls, noUrls, type UrlSet, urlRows } from './url-set';

const urlFields = recordFields({
  ...urlRows,
  enable_templating: [bool().describe('Replace {{cluster_path}}, {{cluster_aia_path}} and {{issuer_id}}.'), false],
});
const mountUrls = single('config/urls', urlFields.input);

/** URLs of the mount, for issuers without their own. */
export const urlsPath = path('config/urls', {
  summary: 'URLs in certificates: issuer, CRL and OCSP.',
  stored: ({ storage }) => mountUrls.find(storage),
  read: {
    summary: 'Read the URLs in certificates.',
    operationId: 'read-urls-configuration',
    output: urlFields.output,
    run: async ({ storage }) => data((await mountUrls.find(storage)) ?? urlFields.defaults),
  },
  write: {
    summary: 'Set the URLs in certificates.',
    operationId: 'configure-urls',
    update: 'merge',
    defaults: urlFields.defaults,
    input: urlFields.input,
    output: urlFields.output,
    async run({ input, storage, warn }) {
      checkUrls(input, input.enable_templating);
      mountUrls.put(storage, input);
      const [any] = Object.keys((await findCa(storage)).issuers);
      if (any) await warnOfTemplates(storage, input, input.enable_templating, any, warn);
      return data(input);
    },
  },
});

const clusterFields = recordFields({
  path: [string().describe('URL of this mount, for templates.'), ''],
  aia_path: [string().describe('URL of this mount for certificates and CRLs; may use http.'), ''],
});
const cluster = single('config/cluster', clusterFields.input);

/** External URLs of the mount. */
export const clusterPath = path('config/cluster', {
  summary: 'The URL of this mount.',
  stored: ({ storage }) => cluster.find(storage),
  read: {
    summary: 'Read the URL of this mount.',
    operationId: 'read-cluster-configuration',
    output: clusterFields.output,
    run: async ({ storage }) => data((await cluster.find(storage)) ?? clusterFields.defaults),
  },
  write: {
    summary: 'Set the URL of this mount.',
    operationId: 'configure-cluster',
    update: 'merge',
    defaults: clusterFields.defaults,
    input: clusterFields.input,
    output: clusterFields.output,
    run({ input, storage }) {
      for (const name of ['path', 'aia_path'] as const) {
        if (input[name] !== '' && !URL.canParse(input[name]))
          refuse(`invalid, non-URL ${name} given to cluster: ${input[name]}`);
      }
      cluster.put(storage, input);
      return data(input);
    },
  },
});

/** External URL of the mount; empty if not configured. */
export const mountAddress = async (storage: Storage): Promise<string> => (await cluster.find(storage))?.path ?? '';

/** Whether the mount has URLs for certificates. */
export async function mountHasUrls(storage: Storage): Promise<boolean> {
  const urls = await mountUrls.find(storage);
  return urls !== undefined && hasUrls(urls);
}

async function filled(
  storage: Storage,
  configured: UrlSet,
  templates: boolean,
  issuerId: string,
): Promise<UrlSet | string> {
  if (!hasUrls(configured)) return noUrls;
  if (!templates) return configured;
  const { path: cluster_path, aia_path: cluster_aia_path } = (await cluster.find(storage)) ?? clusterFields.defaults;
  return filledUrls(configured, { cluster_path, cluster_aia_path, issuer_id: issuerId });
}

/** Warns of URL templates that cannot be filled in, since no certificate could be issued. */
export async function warnOfTemplates(
  storage: Storage,
  configured: UrlSet,
  templates: boolean,
  issuerId: string,
  warn: (text: string) => void,
): Promise<void> {
  const urls = await filled(storage, configured, templates, issuerId);
  if (typeof urls !== 'string') return;
  warn(`issuance may fail: ${urls}\n\nConsider setting the cluster-local address if it is not already set.`);
}

/**
 * The URLs of an issuer, or those of the mount if the issuer has none; an error message if templates cannot be filled
 * in.
 */
async function urlsOf(storage: Storage, issuer: Issuer): Promise<UrlSet | string> {
  const isOwn = hasUrls(issuer);
  const ofMount = isOwn ? undefined : await mountUrls.find(storage);
  const templates = isOwn ? issuer.enable_aia_url_templating : (ofMount?.enable_templating ?? false);
  return filled(storage, ofMount ?? issuer, templates, issuer.issuer_id);
}

/** URLs of an issuer's delta CRLs; empty if templates cannot be filled in. */
export async function addressesOfDelta(storage: Storage, issuer: Issuer): Promise<readonly string[]> {
  const urls = await urlsOf(storage, issuer);
  return typeof urls === 'string' ? [] : urls.delta_crl_distribution_points;
}

/** URLs for certificates of an issuer. Throws `invalid` if templates cannot be filled in. */
export async function urlsFor(storage: Storage, issuer: Issuer): Promise<UrlSet> {
  const urls = await urlsOf(storage, issuer);
  if (typeof urls !== 'string') return urls;
  return refuse(`error fetching CA certificate: unable to fetch AIA URL information: ${urls}`);
}

/**
 * URLs for a new root: those of the mount without templates that contain the issuer id, because it does not exist yet.
 */
export async function urlsForRoot(storage: Storage): Promise<UrlSet> {
  const { enable_templating: templates, ...configured } = (await mountUrls.find(storage)) ?? urlFields.defaults;
  const urls = await filled(storage, configured, templates, '');
  if (typeof urls !== 'string') return urls;
  const withId = await filled(storage, configured, templates, 'id');
  if (typeof withId !== 'string') return noUrls;
  return refuse(
    `unable to parse AIA URL information: ${urls}\nUsing templated AIA URL's {{issuer_id}} field when generating root certificates is not supported.`,
  );
}
