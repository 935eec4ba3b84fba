import { publicJwk, shownKeys } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { path } from '../../sdk/path';
import { raw } from '../../sdk/reply';
import { pluginKeys } from './plugin-keys';

/** The `iss` of the tokens of a namespace's mounts; undefined if not known. */
export type IssuerAddress = (namespacePath: string) => string | undefined;

// Verifiers may cache the responses, so a key is published a day before it signs.
const cached = { 'cache-control': 'public, max-age=3600' };
const jwk = z.object({
  kty: z.string(),
  n: z.string(),
  e: z.string(),
  kid: z.string(),
  use: z.string(),
  alg: z.string(),
});

/** The discovery document and the keys, which outside systems need to verify the identity tokens of this service. */
export const pluginIssuerPaths = (issuer: IssuerAddress) => [
  path('oidc/plugins/.well-known/openid-configuration', {
    summary: 'The issuer of the identity tokens that this namespace’s mounts use.',
    auth: 'none',
    responseFormat: 'raw',
    read: {
      summary: 'Read the discovery document.',
      operationId: 'oidc-plugins-discovery',
      output: z.object({
        issuer: z.string(),
        jwks_uri: z.string(),
        response_types_supported: z.array(z.string()),
        subject_types_supported: z.array(z.string()),
        id_token_signing_alg_values_supported: z.array(z.string()),
      }),
      run({ namespace }) {
        const address = issuer(namespace.path);
        if (!address) throw new Refusal('missing', 'no issuer: SECRETS_PUBLIC_URL is not set');
        const document = {
          issuer: address,
          jwks_uri: `${address}/.well-known/keys`,
          response_types_supported: ['id_token'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        };
        return { ...raw(document), headers: cached };
      },
    },
  }),
  path('oidc/plugins/.well-known/keys', {
    summary: 'The public keys that verify these tokens.',
    auth: 'none',
    responseFormat: 'raw',
    read: {
      summary: 'Read the public keys (JWKS).',
      operationId: 'oidc-plugins-keys',
      output: z.object({ keys: z.array(jwk) }),
      async run({ storage, namespace, nowMs }) {
        // Without an issuer there is nothing to publish. Requests without a token must not generate keys.
        if (!issuer(namespace.path)) return { ...raw({ keys: [] }), headers: cached };
        const keys = shownKeys(await pluginKeys(storage, nowMs)).map(publicJwk);
        return { ...raw({ keys }), headers: cached };
      },
    },
  }),
];
