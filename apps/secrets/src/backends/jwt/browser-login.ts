import { createHash } from 'node:crypto';
import { type Claims, randomBase62 } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall, Call } from '../../sdk/call';
import { keepSecret, secretKeptFor } from '../../sdk/kept-secret';
import type { Login } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import { findVerifier, signsInByBrowser, type Verifier } from './config';
import { claimsOf } from './id-token';
import { identityOf, withErrorPrefix } from './login-identity';
import type { PendingLogin } from './pending';
import { type OidcProvider, ProviderRefusal, type ProviderTokens } from './provider';
import { findRole, type JwtRole } from './role';

const failed = 'Keystead login failed.';

/** The configuration for sign-in by browser. Throws `invalid`. */
export async function browserConfig(storage: Storage): Promise<Verifier> {
  const found = await findVerifier(storage);
  if (!found) throw new Refusal('invalid', 'could not load configuration');
  if (!signsInByBrowser(found)) throw new Refusal('invalid', 'OIDC login is not configured for this mount');
  return found;
}

/** A role for sign-in by browser. Throws `invalid` if it does not exist or is a role for signed tokens. */
export async function browserRole(storage: Storage, name: string): Promise<JwtRole> {
  const role = await findRole(storage, name);
  if (!role) throw new Refusal('invalid', `role ${JSON.stringify(name)} could not be found`);
  if (role.role_type !== 'oidc') {
    throw new Refusal('invalid', `role ${JSON.stringify(name)} is of role_type jwt: log in with a signed token`);
  }
  return role;
}

/** The stored data of a new login by browser or device. */
export function beginning(found: Verifier, role: JwtRole, name: string, call: Beginning): PendingLogin {
  return {
    role: name,
    mode: role.callback_mode,
    redirectUri: call.redirectUri,
    nonce: randomBase62(32),
    verifier: randomBase62(64),
    clientNonce: call.clientNonce,
    provider: JSON.stringify(placesOf(found)),
    address: call.address,
  };
}

interface Beginning {
  readonly redirectUri: string;
  readonly clientNonce: string;
  readonly address: string;
}

/** The URL at which the browser signs in; only its query if the provider has no authorization endpoint. */
export function authorizationUrl(
  endpoint: URL | undefined,
  found: Verifier,
  role: JwtRole,
  { redirectUri, nonce, verifier }: PendingLogin,
  state: string,
): string {
  const parameters: Record<string, string> = {
    client_id: found.oidc_client_id,
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    nonce,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: scopeOf(role),
    state,
    ...(found.oidc_response_mode === 'form_post' ? { response_mode: 'form_post' } : {}),
    ...(role.max_age > 0 ? { max_age: String(role.max_age) } : {}),
  };
  if (!endpoint) return `?${new URLSearchParams(parameters)}`;
  const url = new URL(endpoint);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** The challenge of a PKCE verifier. */
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

/** `openid`, and the role's other scopes. */
export const scopeOf = (role: JwtRole): string => [...new Set(['openid', ...role.oidc_scopes])].join(' ');

/** Redeems a code, verifies the user, and returns the login. */
export async function finish(
  provider: OidcProvider,
  pending: PendingLogin,
  tokensOf: (found: Verifier) => Promise<ProviderTokens>,
  { storage, caller, mount, nowMs }: Pick<Call, 'storage' | 'caller' | 'mount' | 'nowMs'>,
): Promise<Login> {
  const found = await browserConfig(storage);
  const role = await browserRole(storage, pending.role);
  // The answer of another provider must not be accepted.
  if (pending.provider !== JSON.stringify(placesOf(found))) {
    throw new Refusal('invalid', `${failed} The configuration has changed in the meantime: log in again`);
  }
  if (!withinCidrs(caller.address, role.token_bound_cidrs)) throw new Refusal('denied', 'permission denied');
  const tokens = await tokensOf(found);
  const nonce = pending.mode === 'device' ? undefined : pending.nonce;
  const expected = { nonce, maxAgeSeconds: role.max_age, nowMs };
  const claims = await withErrorPrefix('Token verification failed', () =>
    claimsOf(provider, found, role, tokens, expected),
  );
  if (role.verbose_oidc_logging) provider.logClaims(pending.role, claims);
  const login = await identityOf(claims, role, pending.role, found, mount);
  return { ...login, internal: internalOf(pending.role, role, found, claims, tokens.refreshToken) };
}

/** The data that is stored with a login. A refresh token is stored only if the role asks for offline access. */
function internalOf(name: string, role: JwtRole, found: Verifier, claims: Claims, refreshToken: string | undefined) {
  const keepsRefreshToken = refreshToken !== undefined && role.oidc_scopes.includes('offline_access');
  return {
    role: name,
    ...(keepsRefreshToken ? { subject: claims.sub, refresh_token: keepSecret(refreshToken, placesOf(found)) } : {}),
  };
}

/**
 * Computes a browser login again. If the role requests `offline_access`, calls the provider again: disabled users are
 * refused, and groups are updated. Throws `upstream` if the provider is unavailable.
 */
export async function renewBrowserLogin(
  provider: OidcProvider,
  { internal }: StoredLogin,
  role: JwtRole,
  { storage, nowMs }: BackgroundCall,
): Promise<Partial<Login>> {
  const { refresh_token: storedToken, subject, role: name } = internal;
  if (storedToken === undefined) return loginParams(role, await findVerifier(storage));
  const found = await browserConfig(storage);
  const refreshToken = secretKeptFor(storedToken, placesOf(found));
  const tokens = await provider.refresh(found, refreshToken).catch((error) => {
    if (!(error instanceof ProviderRefusal)) throw error;
    throw new Refusal('invalid', `the provider has ended this sign-in (${error.code}): log in again`);
  });
  const next = {
    role: String(name),
    subject,
    refresh_token: keepSecret(tokens.refreshToken ?? refreshToken, placesOf(found)),
  };
  // A provider may omit the ID token. In this case only the permission to sign in is renewed.
  if (!tokens.idToken) return { ...loginParams(role, found), internal: next };
  const claims = await claimsOf(provider, found, role, tokens, { nonce: undefined, maxAgeSeconds: 0, nowMs });
  if (claims.sub !== subject) throw new Refusal('invalid', 'the provider returned another user: log in again');
  // At some providers, users without groups have no groups claim. They must not keep their old groups.
  const { groupAliases } = await identityOf(claims, { ...role, groups_claim_optional: true }, String(name), found);
  return { ...loginParams(role, found), groupAliases, internal: next };
}

/** Where codes and refresh tokens are sent, the trusted certificates, and our client id there. */
const placesOf = (found: Verifier): readonly string[] => [
  found.oidc_discovery_url,
  found.oidc_discovery_ca_pem,
  found.oidc_client_id,
];
