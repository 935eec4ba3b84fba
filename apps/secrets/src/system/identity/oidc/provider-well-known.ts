import { signingAlgorithms } from '@keystead/auth';
import { z } from 'zod';
import { path } from '../../../sdk/path';
import { missing } from '../../../sdk/reply';
import { clients } from './clients';
import type { PublicUrl } from './issuer';
import { publicKeys } from './key-ring';
import { findProvider, issuerOf, serves } from './providers';
import { openidScope } from './scope-paths';
import { allOf } from './settings';
import { discoveryDocument, KeySet, keySet, noIssuer } from './well-known';

const texts = z.array(z.string());

/** The discovery document and the keys of a provider, which applications need to trust it. */
export const providerWellKnownPaths = (publicUrl: PublicUrl) => [
  path('oidc/provider/:name/.well-known/openid-configuration', {
    summary: 'The discovery document of a provider.',
    auth: 'none',
    responseFormat: 'raw',
    read: {
      summary: 'Read the discovery document of a provider.',
      operationId: 'oidc-read-provider-open-id-configuration',
      output: z.looseObject({
        issuer: z.string(),
        jwks_uri: z.string(),
        authorization_endpoint: z.string(),
        token_endpoint: z.string(),
        userinfo_endpoint: z.string(),
        scopes_supported: texts,
      }),
      async run({ params: { name }, storage, namespace }) {
        const provider = await findProvider(storage, name);
        if (!provider) return missing;
        const issuer = issuerOf(provider, name, namespace.path, publicUrl);
        if (!issuer) throw noIssuer();
        return discoveryDocument({
          issuer,
          jwks_uri: `${issuer}/.well-known/keys`,
          // A page of the console, on which users sign in.
          authorization_endpoint: `${issuer.replace('/v1/', '/ui/')}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          request_parameter_supported: false,
          request_uri_parameter_supported: false,
          id_token_signing_alg_values_supported: signingAlgorithms,
          response_types_supported: ['code'],
          response_modes_supported: ['query'],
          scopes_supported: [...provider.scopes_supported, openidScope],
          claims_supported: [],
          authorization_response_iss_parameter_supported: true,
          subject_types_supported: ['public'],
          grant_types_supported: ['authorization_code'],
          code_challenge_methods_supported: ['S256', 'plain'],
          token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
        });
      },
    },
  }),
  path('oidc/provider/:name/.well-known/keys', {
    summary: 'The public keys of a provider.',
    auth: 'none',
    responseFormat: 'raw',
    read: {
      summary: 'Read the public keys of a provider (JWKS).',
      operationId: 'oidc-read-provider-public-keys',
      output: KeySet,
      async run({ params: { name }, storage, nowMs }) {
        const provider = await findProvider(storage, name);
        if (!provider) return missing;
        const served = (await allOf(storage, clients)).filter(([, client]) => serves(provider, client.client_id));
        return keySet(
          await publicKeys(
            storage,
            served.map(([, client]) => client.key),
            nowMs,
          ),
        );
      },
    },
  }),
];
