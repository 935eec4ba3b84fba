import { single } from '../../sdk/collection';
import { bool, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import type { Issuer } from './ca';
import { checkUrls, noUrls, type UrlSet, urlNames, urlRows } from './url-set';

const urlFields = recordFields({
  ...urlRows,
  enable_templating: [bool().describe('Fill in {{cluster_path}}, {{cluster_aia_path}} and {{issuer_id}}.'), false],
});
const mountUrls = single('config/urls', urlFields.input);

/** The addresses of the mount, for issuers that have none. */
export const urlsPath = path('config/urls', {
  summary: 'Addresses that certificates name.',
  stored: ({ storage }) => mountUrls.find(storage),
  read: {
    summary: 'Read the addresses that certificates name.',
    operationId: 'read-urls-configuration',
    output: urlFields.output,
    run: async ({ storage }) => data((await mountUrls.find(storage)) ?? urlFields.defaults),
  },
  write: {
    summary: 'Set the addresses that certificates name.',
    operationId: 'configure-urls',
    update: 'merge',
    defaults: urlFields.defaults,
    input: urlFields.input,
    output: urlFields.output,
    run({ input, storage }) {
      checkUrls(input, input.enable_templating);
      mountUrls.put(storage, input);
      return data(input);
    },
  },
});

const clusterFields = recordFields({
  path: [string().describe('Address of this mount, for templates.'), ''],
  aia_path: [string().describe('Address of this mount for certificates and lists, which may be without TLS.'), ''],
});
const cluster = single('config/cluster', clusterFields.input);

/** How this mount is reached from outside. */
export const clusterPath = path('config/cluster', {
  summary: 'Addresses of this mount.',
  stored: ({ storage }) => cluster.find(storage),
  read: {
    summary: 'Read the addresses of this mount.',
    operationId: 'read-cluster-configuration',
    output: clusterFields.output,
    run: async ({ storage }) => data((await cluster.find(storage)) ?? clusterFields.defaults),
  },
  write: {
    summary: 'Set the addresses of this mount.',
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

/** The address of this mount from outside; empty if it was not configured. */
export const mountAddress = async (storage: Storage): Promise<string> => (await cluster.find(storage))?.path ?? '';

/** Whether the mount names any address. */
export async function mountHasUrls(storage: Storage): Promise<boolean> {
  const urls = await mountUrls.find(storage);
  return urls !== undefined && urlNames.some((name) => urls[name].length > 0);
}

/** The addresses for certificates of an issuer: its own, if it has any, else those of the mount. */
export async function urlsFor(storage: Storage, issuer: Issuer | undefined): Promise<UrlSet> {
  const own = issuer && urlNames.some((name) => issuer[name].length > 0) ? issuer : undefined;
  const configured = own ? undefined : await mountUrls.find(storage);
  const said: UrlSet = own ?? configured ?? noUrls;
  const templates = own ? own.enable_aia_url_templating : (configured?.enable_templating ?? false);
  if (!templates) return said;
  const addresses = (await cluster.find(storage)) ?? clusterFields.defaults;
  const known: Readonly<Record<string, string | undefined>> = {
    cluster_path: addresses.path,
    cluster_aia_path: addresses.aia_path,
    issuer_id: issuer?.issuer_id,
  };
  const fill = (text: string) =>
    text.replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) => {
      const value = known[name];
      if (value) return value;
      if (!Object.hasOwn(known, name)) return whole;
      const lacking =
        name === 'issuer_id'
          ? 'an issuer_id for this operation'
          : `local cluster address information (${name === 'cluster_path' ? 'path' : 'aia_path'})`;
      return refuse(`unable to template AIA URLs as we lack ${lacking}`);
    });
  const filled = Object.fromEntries(urlNames.map((name) => [name, said[name].map(fill)])) as unknown as UrlSet;
  checkUrls(filled, false);
  return filled;
}
