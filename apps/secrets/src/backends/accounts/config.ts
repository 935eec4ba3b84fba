import { X509Certificate } from 'node:crypto';
import type { z } from 'zod';
import { leavesInTheClear } from '../../sdk/clear-text';
import { single } from '../../sdk/collection';
import { bool, secretHeader, sentTo, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { parses, refuse } from '../../sdk/refuse';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

const fields = recordFields({
  kubernetes_host: [string().describe('URL of the cluster’s API server.'), ''],
  kubernetes_ca_cert: [
    string().describe(
      'CA certificates (PEM) of the API server. If empty: the CA certificates of the service’s own pod.',
    ),
    '',
  ],
  service_account_jwt: [
    sentTo(secretHeader(), 'kubernetes_host', 'kubernetes_ca_cert').describe(
      'Token of the service account that creates service accounts. Default: the token of the service’s own pod. Never shown.',
    ),
    '',
  ],
  disable_local_ca_jwt: [bool().describe('Do not use the certificates and token of the service’s own pod.'), false],
});

/** The stored settings for calls to the cluster. */
export type AccountsConfig = z.output<typeof fields.input>;
const config = single('config', fields.input);

/** The settings for calls to the cluster. Throws `invalid` if they were never written. */
export const configInForce = (storage: Storage): Promise<AccountsConfig> =>
  config.require(storage, 'could not load backend configuration');

/** The settings for calls to the cluster. */
export const configPath = path('config', {
  summary: 'The cluster in which service accounts are created, and how to call it.',
  stored: ({ storage }) => config.find(storage),
  read: {
    summary: 'Read the configuration. The token is not shown.',
    operationId: 'read-configuration',
    output: fields.output.omit({ service_account_jwt: true }),
    async run({ storage }) {
      const stored = await config.find(storage);
      if (!stored) return missing;
      const { service_account_jwt: _never, ...publicFields } = stored;
      return data(publicFields);
    },
  },
  write: {
    summary: 'Configure the engine; omitted fields keep their values.',
    operationId: 'configure',
    update: 'merge',
    defaults: fields.defaults,
    input: fields.input,
    run({ input, storage, warn }) {
      const { kubernetes_host: host, kubernetes_ca_cert: ca } = input;
      if (host === '') refuse('kubernetes_host was unset and could not be determined from environment variables');
      if (!URL.canParse(host) || !/^https?:$/.test(new URL(host).protocol) || new URL(host).username !== '') {
        refuse('kubernetes_host must be an https address');
      }
      if (leavesInTheClear(host)) warn('kubernetes_host is not https: tokens are sent in the clear');
      if (ca !== '' && !parses(() => new X509Certificate(ca))) {
        refuse('kubernetes_ca_cert is not an x509 PEM certificate');
      }
      config.put(storage, input);
      return empty;
    },
  },
  delete: {
    summary: 'Delete the configuration.',
    operationId: 'delete-configuration',
    run({ storage }) {
      config.delete(storage);
      return empty;
    },
  },
});
