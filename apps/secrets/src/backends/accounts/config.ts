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
  kubernetes_host: [string().describe('Address of the cluster’s API.'), ''],
  kubernetes_ca_cert: [string().describe('Certificates (PEM) to trust for it; empty trusts those of the own pod.'), ''],
  service_account_jwt: [
    sentTo(secretHeader(), 'kubernetes_host', 'kubernetes_ca_cert').describe(
      'Token of the account that makes accounts; else that of the own pod. Never shown.',
    ),
    '',
  ],
  disable_local_ca_jwt: [bool().describe('Use neither certificates nor token of the own pod.'), false],
});

/** How the cluster is called, as stored. */
export type AccountsConfig = z.output<typeof fields.input>;
const config = single('config', fields.input);

/** How the cluster is called. Throws `invalid` where that is not configured. */
export const configInForce = (storage: Storage): Promise<AccountsConfig> =>
  config.require(storage, 'could not load backend configuration');

/** How the cluster is called. */
export const configPath = path('config', {
  summary: 'Which cluster accounts are made in, and how it is called.',
  stored: ({ storage }) => config.find(storage),
  read: {
    summary: 'Read the configuration, without the token in it.',
    operationId: 'read-configuration',
    output: fields.output.omit({ service_account_jwt: true }),
    async run({ storage }) {
      const stored = await config.find(storage);
      if (!stored) return missing;
      const { service_account_jwt: _never, ...shown } = stored;
      return data(shown);
    },
  },
  write: {
    summary: 'Configure the engine; what is left out stays.',
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
    summary: 'Forget the configuration.',
    operationId: 'delete-configuration',
    run({ storage }) {
      config.delete(storage);
      return empty;
    },
  },
});
