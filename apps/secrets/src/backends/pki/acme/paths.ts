import { operation, path } from '../../../sdk/path';
import { changeKey, newAccount, ownAccount } from './accounts';
import { ownAuthorization, ownChallenge } from './challenges';
import { acmeConfigPath } from './config';
import { type AcmeParams, directoryPrefixes } from './directory';
import { eabPaths } from './eab';
import { finalizeOrder, listOrders, newOrder, readOrder, readOrdersCertificate } from './orders';
import { problems } from './problem';
import { renewalInfo } from './renewal';
import { revokeCertificate } from './revocation';
import { type AcmeCall, inDirectory } from './signed-request';
import type { Validations } from './validations';

const open = { auth: 'none', responseFormat: 'raw', judges: 'nothing', ...problems } as const;

const directory = operation<AcmeParams>({
  ...open,
  summary: 'Read the ACME directory.',
  operationId: 'read-acme-directory',
  run: (call) =>
    inDirectory(call as unknown as AcmeCall, async ({ base, config }) => ({
      body: {
        newNonce: `${base}/new-nonce`,
        newAccount: `${base}/new-account`,
        newOrder: `${base}/new-order`,
        revokeCert: `${base}/revoke-cert`,
        keyChange: `${base}/key-change`,
        renewalInfo: `${base}/renewal-info`,
        meta: {
          externalAccountRequired: config.eab_policy !== 'not-required',
          ...(config.terms_of_service !== '' && { termsOfService: config.terms_of_service }),
        },
      },
    })),
});

const nonce = operation<AcmeParams>({
  ...open,
  summary: 'Get a new nonce.',
  operationId: 'read-acme-new-nonce',
  answersHead: true,
  mayBeEmpty: true,
  run: (call) =>
    inDirectory(call as unknown as AcmeCall, async () => ({ status: call.headOnly ? 200 : 204, body: '' })),
});

const making = <T extends object>(post: T) => ({
  ...post,
  responses: { ...problems.responses, 201: 'The nonce was created.' },
});

/** ACME (RFC 8555), in the directories of the mount, its roles and its issuers. */
export function acmePaths(validations: Validations) {
  const posts = {
    'new-account': making(newAccount),
    'account/:id': ownAccount,
    'key-change': changeKey,
    'new-order': making(newOrder),
    orders: listOrders,
    'order/:id': readOrder,
    'order/:id/finalize': finalizeOrder,
    'order/:id/cert': readOrdersCertificate,
    'authorization/:id': ownAuthorization,
    'challenge/:id/:type': ownChallenge(validations),
    'revoke-cert': revokeCertificate,
  };
  const gets = { directory, 'new-nonce': nonce, 'renewal-info/:id': renewalInfo };
  const suffixOf = (prefix: string) => [
    ...(prefix.includes(':role') || prefix.includes(':ref') ? ['for'] : []),
    ...(prefix.includes(':ref') ? ['issuer'] : []),
    ...(prefix.includes(':ref') && prefix.includes(':role') ? ['and'] : []),
    ...(prefix.includes(':role') ? ['role'] : []),
  ];
  const named = (operationId: string | undefined, prefix: string) => [operationId, ...suffixOf(prefix)].join('-');
  const shared = { summary: 'An ACME endpoint (RFC 8555).', auth: 'none', responseFormat: 'raw' } as const;
  return [
    acmeConfigPath,
    ...eabPaths,
    ...directoryPrefixes.flatMap((prefix) => [
      ...Object.entries(posts).map(([below, post]) =>
        path(`${prefix}/${below}` as string, {
          ...shared,
          write: { ...post, operationId: named(post.operationId, prefix) },
        }),
      ),
      ...Object.entries(gets).map(([below, get]) =>
        path(`${prefix}/${below}` as string, {
          ...shared,
          params: below.startsWith('renewal-info') ? ({ id: 'segment' } as object) : {},
          read: { ...get, operationId: named(get.operationId, prefix) },
        }),
      ),
    ]),
  ];
}
