import { isAllowedRedirect } from '@keystead/auth';
import { z } from 'zod';
import type { Identity } from '../../../kernel/identity/identity';
import type { Call } from '../../../sdk/call';
import { announced, int, string } from '../../../sdk/fields';
import { operation, path } from '../../../sdk/path';
import { type RawReply, raw } from '../../../sdk/reply';
import { isAssigned } from './assignments';
import { findClient, type OidcClient } from './clients';
import { type CodeGrant, keepGrant } from './grants';
import type { PublicUrl } from './issuer';
import { OAuthError, oauthError, oauthStatuses } from './oauth';
import { findProvider, issuerOf, type Provider, serves } from './providers';
import { openidScope } from './scope-paths';

const AuthorizeInput = z.object({
  client_id: string().optional().describe('Client ID.'),
  scope: string().optional().describe('Requested scopes, separated by spaces; must include openid.'),
  redirect_uri: string().optional().describe('A redirect URI of the client.'),
  response_type: string().optional().describe('Only code is supported.'),
  response_mode: string().optional().describe('Only query is supported.'),
  state: string().optional().describe('Returned unchanged with the response.'),
  nonce: string().optional().describe('Returned in the ID token.'),
  max_age: int().optional().describe('Maximum time since the user signed in, in seconds.'),
  code_challenge: string().optional().describe('PKCE challenge. Public clients must send one.'),
  code_challenge_method: announced(string(), { default: 'plain', enum: ['S256', 'plain'] })
    .optional()
    .describe('Method of code_challenge.'),
  request: string().optional().describe('Not supported.'),
  request_uri: string().optional().describe('Not supported.'),
});
type AuthorizeInput = z.output<typeof AuthorizeInput>;
type AuthorizeCall = Call<{ readonly name: string }, AuthorizeInput>;

/** `state` and `nonce` are stored or returned; real values are shorter. */
const longest = 4096;
const challengeForm = /^[A-Za-z0-9._~-]{43,128}$/;

/** The authorization endpoint: a caller with a token gets a code, which the console passes to the application. */
export function authorizePath(identity: Identity, publicUrl: PublicUrl) {
  const authorize = operation<{ readonly name: string }, typeof AuthorizeInput>({
    summary: 'Sign the caller in to an application. Returns an authorization code.',
    responseFormat: 'raw',
    input: AuthorizeInput,
    output: z.union([z.object({ code: z.string(), state: z.string(), iss: z.string() }), OAuthError]),
    responses: oauthStatuses,
    run: (call) => answer(identity, publicUrl, call),
  });
  return path('oidc/provider/:name/authorize', {
    summary: 'The authorization endpoint of a provider. The caller must send a token.',
    responseFormat: 'raw',
    read: { ...authorize, operationId: 'oidc-provider-authorize' },
    write: { ...authorize, operationId: 'oidc-provider-authorize-with-parameters' },
  });
}

async function answer(identity: Identity, publicUrl: PublicUrl, call: AuthorizeCall): Promise<RawReply> {
  const { input, storage, params, caller, namespace, nowMs } = call;
  const { client_id: clientId = '', redirect_uri: redirectUri = '' } = input;
  const state = input.state ?? '';
  const isLong = state.length > longest;
  const unsent = (error: string, description: string) => oauthError(error, description, isLong ? {} : { state });
  if (!clientId) return unsent('invalid_client_id', 'client_id parameter is required');
  const client = await findClient(storage, clientId);
  if (!client) return unsent('invalid_client_id', 'client with client_id not found');
  if (!redirectUri) return unsent('invalid_request', 'redirect_uri parameter is required');
  if (!isAllowedRedirect(redirectUri, client.redirect_uris)) {
    return unsent('invalid_redirect_uri', 'redirect_uri is not allowed for the client');
  }
  if (isLong || (input.nonce?.length ?? 0) > longest) {
    return unsent('invalid_request', `state and nonce have at most ${longest} characters`);
  }
  const provider = await findProvider(storage, params.name);
  if (!provider) return unsent('invalid_request', 'provider not found');
  const iss = issuerOf(provider, params.name, namespace.path, publicUrl);
  if (!iss) return unsent('server_error', 'no issuer: neither "issuer" nor SECRETS_PUBLIC_URL is set');
  // From here on the application may see errors: if there is a redirect address, the page redirects there with the
  // error.
  const no = (error: string, description: string) =>
    oauthError(error, description, { state, iss, redirect_uri: redirectUri });
  if (!serves(provider, clientId)) return no('unauthorized_client', 'client is not authorized to use the provider');
  const wrong = wrongWith(input, client);
  if (wrong) return no(...wrong);
  const scopes = scopesOf(input, provider);
  if (!scopes) return no('invalid_request', `scope parameter must contain the "${openidScope}" value`);
  const entity = caller.entityId === '' ? undefined : await identity.find(caller.entityId);
  if (!entity) return no('access_denied', 'identity entity must be associated with the request');
  if (!(await isAssigned(identity, storage, entity, client))) {
    return no('access_denied', 'identity entity not authorized by client assignment');
  }
  const authTime = Math.floor((caller.token?.authenticatedAtMs ?? 0) / 1000);
  if (input.max_age !== undefined && Math.floor(nowMs / 1000) - authTime > input.max_age) {
    return unsent('max_age_violation', 'active re-authentication is required by max_age');
  }
  const grant: CodeGrant = {
    provider: params.name,
    clientId,
    entityId: entity.entityId,
    redirectUri,
    nonce: input.nonce ?? '',
    scopes,
    authTime,
    codeChallenge: input.code_challenge ?? '',
    codeChallengeMethod: input.code_challenge_method === 'S256' ? 'S256' : 'plain',
  };
  return raw({ code: await keepGrant(storage, grant, nowMs), state, iss });
}

/** Errors in the request, for every caller. */
function wrongWith(input: AuthorizeInput, client: OidcClient): [string, string] | undefined {
  const { response_type: type, response_mode: mode, code_challenge: challenge, max_age: age } = input;
  if (input.request !== undefined) return ['request_not_supported', 'request parameter is not supported'];
  if (input.request_uri !== undefined) return ['request_uri_not_supported', 'request_uri parameter is not supported'];
  if (!type) return ['invalid_request', 'response_type parameter is required'];
  if (type !== 'code') return ['unsupported_response_type', 'unsupported response_type value'];
  if (mode !== undefined && mode !== 'query') return ['invalid_request', 'unsupported response_mode value'];
  if (age !== undefined && age < 1) return ['invalid_request', 'max_age must be greater than zero'];
  if (challenge === undefined) {
    if (client.client_type === 'public') return ['invalid_request', 'PKCE is required for public clients'];
    // A method is sent only with a challenge.
    return input.code_challenge_method ? ['invalid_request', 'code_challenge parameter is required'] : undefined;
  }
  if (!['S256', 'plain', ''].includes(input.code_challenge_method ?? '')) {
    return ['invalid_request', 'invalid code_challenge_method'];
  }
  return challengeForm.test(challenge) ? undefined : ['invalid_request', 'invalid code_challenge'];
}

/** The requested scopes that the provider has; undefined without `openid`. */
function scopesOf({ scope = '' }: AuthorizeInput, provider: Provider): string[] | undefined {
  const requested = new Set(scope.split(' ').filter(Boolean));
  return requested.has(openidScope) ? provider.scopes_supported.filter((name) => requested.has(name)) : undefined;
}
