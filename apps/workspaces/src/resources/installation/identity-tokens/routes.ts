import type { Policy } from '../../../kernel/access/policy';
import { endpoints, type Resource } from '../../../kernel/endpoints/endpoint';
import { publicKeys } from '../../../kernel/installation/identity-keys';
import { claimNames } from './identity-token';

const { raw } = endpoints({} as Policy<undefined>, undefined);

const json = (body: object) => ({
  status: 200,
  headers: { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=60' },
  body: JSON.stringify(body),
});

const discovery = raw('GET')('/.well-known/openid-configuration', {
  summary: 'Show the OIDC discovery document of the workload identity tokens of runs.',
  answers: { 200: { description: 'The discovery document.', type: 'application/json', schema: { type: 'object' } } },
  auth: 'none',
  outside: true,
  run: async ({ env }) =>
    json({
      issuer: env.publicUrl,
      jwks_uri: `${env.publicUrl}/.well-known/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      scopes_supported: ['openid'],
      claims_supported: claimNames,
    }),
});

const jwks = raw('GET')('/.well-known/jwks', {
  summary: 'The public keys that sign the workload identity tokens of runs.',
  answers: { 200: { description: 'The keys, as a JWK set.', type: 'application/json', schema: { type: 'object' } } },
  auth: 'none',
  outside: true,
  run: async ({ db, env }) => json(await publicKeys(db, env.keyring, env.now())),
});

/** The issuer of the runs' identity tokens. Decision 0045. */
export const identityTokensResource: Resource = { name: 'identity tokens', endpoints: [discovery, jwks] };
