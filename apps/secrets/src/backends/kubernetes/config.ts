import { X509Certificate } from 'node:crypto';
import { importPublicKey } from '@keystead/auth';
import { z } from 'zod';
import { leavesInTheClear } from '../../sdk/clear-text';
import { single } from '../../sdk/collection';
import { bool, commaList, secretHeader, sentTo, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { parses, refuse } from '../../sdk/refuse';
import { data, empty, missing } from '../../sdk/reply';

const fields = recordFields({
  kubernetes_host: [string().optional().describe('URL of the cluster’s API server.'), ''],
  kubernetes_ca_cert: [
    string().describe(
      'CA certificates (PEM) of the API server. If empty: the CA certificates of the service’s own pod.',
    ),
    '',
  ],
  token_reviewer_jwt: [
    sentTo(secretHeader(), 'kubernetes_host', 'kubernetes_ca_cert').describe(
      'Token for TokenReview requests. Default: the token of the service’s own pod, or the token that logs in. Never shown.',
    ),
    '',
  ],
  pem_keys: [
    commaList().describe('Public keys (PEM) that verify the tokens. Empty: only the cluster verifies them.'),
    [],
  ],
  issuer: [string().describe('Required iss claim, if disable_iss_validation is false.'), ''],
  disable_iss_validation: [bool().describe('Do not check the iss claim: the cluster verifies its tokens.'), true],
  disable_local_ca_jwt: [bool().describe('Do not use the certificates and token of the service’s own pod.'), false],
});
/** The stored settings for calls to the cluster. */
export type KubernetesConfig = z.output<typeof fields.input>;
/** The configuration of the mount. */
export const config = single('config', fields.input);

/** Reads and writes the configuration. */
export const configPath = path('config', {
  summary: 'The cluster that reviews the tokens, and how to call it.',
  stored: ({ storage }) => config.find(storage),
  read: {
    summary: 'Read the configuration. The token is not shown.',
    output: fields.output.omit({ token_reviewer_jwt: true }).extend({ token_reviewer_jwt_set: z.boolean() }),
    async run({ storage }) {
      const stored = await config.find(storage);
      if (!stored) return missing;
      const { token_reviewer_jwt: reviewer, ...publicFields } = stored;
      return data({ ...publicFields, token_reviewer_jwt_set: reviewer !== '' });
    },
  },
  write: {
    summary: 'Configure the method. Replaces the whole configuration.',
    update: 'replace',
    defaults: fields.defaults,
    input: fields.input,
    run({ input, storage, warn }) {
      const { kubernetes_host: host = '', kubernetes_ca_cert: ca } = input;
      if (host === '') refuse('no host provided');
      if (!URL.canParse(host) || !/^https?:$/.test(new URL(host).protocol) || new URL(host).username !== '') {
        refuse('kubernetes_host must be an https address');
      }
      if (leavesInTheClear(host)) warn('kubernetes_host is not https: tokens are sent in the clear');
      if (input.disable_local_ca_jwt && ca === '') {
        refuse('kubernetes_ca_cert is required when disable_local_ca_jwt is true');
      }
      if (ca !== '' && !parses(() => new X509Certificate(ca))) {
        warn('kubernetes_ca_cert is not an x509 PEM certificate: the cluster cannot be reached with it');
      }
      input.pem_keys.forEach((pem, at) => {
        if (!parses(() => importPublicKey(pem))) refuse(`number ${at + 1} of pem_keys is not a public key in PEM`);
      });
      config.put(storage, input);
      return empty;
    },
  },
});
