import { createHash } from 'node:crypto';
import { digestOf, equalSecrets, isAllowedRedirect, type SigningAlgorithm, signJwt } from '@keystead/auth';
import { z } from 'zod';
import type { Identity } from '../../../kernel/identity/identity';
import type { Call } from '../../../sdk/call';
import { secretString, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { type RawReply, raw } from '../../../sdk/reply';
import { isAssigned } from './assignments';
import { findClient, type OidcClient } from './clients';
import { type CodeGrant, redeem } from './grants';
import type { PublicUrl } from './issuer';
import { signingKey } from './key-ring';
import { allows, findKey, type NamedKey } from './named-keys';
import { OAuthError, oauthError, oauthStatuses } from './oauth';
import { claimsOf } from './provider-claims';
import { findProvider, issuerOf, type Provider, serves } from './providers';

const TokenInput = z.object({
  grant_type: string().optional().describe('Only authorization_code is supported.'),
  code: secretString().optional().describe('Authorization code.'),
  redirect_uri: string().optional().describe('The redirect_uri that was sent to the authorization endpoint.'),
  code_verifier: secretString().optional().describe('PKCE verifier for the code_challenge.'),
  client_id: string().optional().describe('Client ID, if it is not in the Authorization header.'),
  client_secret: secretString().optional().describe('Client secret, if it is not in the Authorization header.'),
});
type TokenInput = z.output<typeof TokenInput>;
type TokenCall = Call<{ readonly name: string }, TokenInput>;
interface Ready {
  readonly client: OidcClient;
  readonly key: NamedKey;
  readonly provider: Provider;
  readonly issuer: string;
}

/** The token endpoint: an authenticated application gets an ID token and an access token for a code. */
export const tokenEndpoint = (identity: Identity, publicUrl: PublicUrl) =>
  path('oidc/provider/:name/token', {
    summary: 'The token endpoint of a provider.',
    auth: 'none',
    responseFormat: 'raw',
    write: {
      summary: 'Exchange an authorization code for tokens.',
      operationId: 'oidc-provider-token',
      // Secrets and codes have at least 190 random bits.
      judges: 'unguessable',
      input: TokenInput,
      output: z.union([
        z.object({
          token_type: z.string(),
          access_token: z.string(),
          id_token: z.string(),
          expires_in: z.int(),
          scope: z.string(),
        }),
        OAuthError,
      ]),
      responses: oauthStatuses,
      async run(call) {
        const ready = await begin(call, publicUrl);
        return 'kind' in ready ? ready : exchange(identity, call, ready);
      },
    },
  });

/** The authenticated client, or the error response. */
async function begin(call: TokenCall, publicUrl: PublicUrl): Promise<Ready | RawReply> {
  const { input, storage, params, namespace, sentBasic } = call;
  const provider = await findProvider(storage, params.name);
  if (!provider) return oauthError('invalid_request', 'provider not found');
  if (sentBasic && input.client_secret !== undefined) {
    return oauthError('invalid_request', 'a client may authenticate in one way only: in the header or in the body');
  }
  const clientId = sentBasic?.name ?? input.client_id ?? '';
  if (clientId === '') return oauthError('invalid_request', 'client_id parameter is required');
  if (input.client_id !== undefined && input.client_id !== clientId) {
    return oauthError('invalid_request', 'client_id differs from the one in the Authorization header');
  }
  const client = await findClient(storage, clientId);
  const secret = sentBasic?.password ?? input.client_secret ?? '';
  // The response to an unknown client takes as long as the response to a wrong secret and is the same.
  const isRight = equalSecrets(client?.client_secret ?? 'none', secret);
  if (!client || (client.client_type === 'confidential' && !isRight)) {
    return oauthError('invalid_client', 'client failed to authenticate');
  }
  if (!serves(provider, clientId)) return oauthError('invalid_client', 'client is not authorized to use the provider');
  const key = await findKey(storage, client.key);
  if (!key || !allows(key, clientId)) return oauthError('invalid_client', 'client is not authorized to use the key');
  if (input.grant_type !== 'authorization_code') {
    return oauthError('unsupported_grant_type', 'unsupported grant_type or parameter is empty value');
  }
  const issuer = issuerOf(provider, params.name, namespace.path, publicUrl);
  if (!issuer) return oauthError('server_error', 'no issuer: neither "issuer" nor SECRETS_PUBLIC_URL is set');
  return { client, key, provider, issuer };
}

async function exchange(identity: Identity, call: TokenCall, ready: Ready): Promise<RawReply> {
  const { input, storage, params, namespace, nowMs } = call;
  const { client, key, provider, issuer } = ready;
  if (!input.code) return oauthError('invalid_request', 'code parameter is required');
  if (!input.redirect_uri) return oauthError('invalid_request', 'redirect_uri parameter is required');
  const { access_token_ttl: accessTtl, id_token_ttl: idTtl } = client;
  const redeemed = await redeem(storage, input.code, nowMs, accessTtl, (one) =>
    wrongWith(one, input, client, params.name),
  );
  if (!redeemed) return oauthError('invalid_grant', 'authorization grant is invalid or expired');
  if ('kind' in redeemed) return redeemed;
  const { grant, accessToken } = redeemed;
  const entity = await identity.find(grant.entityId);
  if (!entity) return oauthError('invalid_grant', 'identity entity associated with the request not found');
  if (!(await isAssigned(identity, storage, entity, client))) {
    return oauthError('invalid_grant', 'identity entity not authorized by client assignment');
  }
  const scopes = grant.scopes.filter((name) => provider.scopes_supported.includes(name));
  const found = await claimsOf(storage, scopes, entity, nowMs);
  if ('conflict' in found) return oauthError('invalid_scope', found.conflict);
  const now = Math.floor(nowMs / 1000);
  const claims = {
    ...found.claims,
    iss: issuer,
    namespace: namespace.id,
    sub: entity.entityId,
    aud: client.client_id,
    exp: now + Math.min(idTtl, key.verification_ttl),
    iat: now,
    auth_time: grant.authTime,
    at_hash: halfDigest(key.algorithm, accessToken),
    c_hash: halfDigest(key.algorithm, input.code),
    ...(grant.nonce && { nonce: grant.nonce }),
  };
  const answer = raw({
    token_type: 'Bearer',
    access_token: accessToken,
    id_token: signJwt(claims, await signingKey(storage, client.key, key, nowMs)),
    expires_in: accessTtl,
    scope: ['openid', ...scopes].join(' '),
  });
  return { ...answer, headers: { Pragma: 'no-cache' } };
}

/** Whether the code belongs to this client and provider, and comes from the browser that started the sign-in. */
function wrongWith(grant: CodeGrant, input: TokenInput, client: OidcClient, provider: string): RawReply | undefined {
  const no = (description: string) => oauthError('invalid_grant', description);
  if (grant.clientId !== client.client_id) return no('authorization code was not issued to the client');
  if (grant.provider !== provider) return no('authorization code was not issued by the provider');
  if (grant.redirectUri !== input.redirect_uri) {
    return no('redirect_uri does not match the redirect_uri used in the authorization request');
  }
  if (!isAllowedRedirect(grant.redirectUri, client.redirect_uris)) {
    return no('redirect_uri is no longer allowed for the client');
  }
  const { codeChallenge: challenge, codeChallengeMethod: method } = grant;
  const { code_verifier: verifier = '' } = input;
  if (challenge === '') {
    if (client.client_type === 'public') return oauthError('invalid_request', 'PKCE is required for public clients');
    return verifier === '' ? undefined : oauthError('invalid_request', 'unexpected code_verifier for token exchange');
  }
  if (verifier === '') return oauthError('invalid_request', 'expected code_verifier for token exchange');
  const computed = method === 'S256' ? createHash('sha256').update(verifier).digest('base64url') : verifier;
  return equalSecrets(computed, challenge) ? undefined : no('invalid code_verifier for token exchange');
}

/** `at_hash` and `c_hash`: the left half of a digest. */
function halfDigest(algorithm: SigningAlgorithm, text: string): string {
  const whole = createHash(digestOf(algorithm) ?? 'sha512')
    .update(text)
    .digest();
  return whole.subarray(0, whole.length / 2).toString('base64url');
}
