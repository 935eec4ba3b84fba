import { createHash } from 'node:crypto';
import { audiencesOf, type Claims, verifySignature } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { checkTimes, leewaySeconds } from './claims';
import { algorithmsOf, type JwtConfig } from './config';
import type { OidcProvider, ProviderTokens } from './provider';
import type { JwtRole } from './role';

/** What an ID token must be an answer to. */
interface Asked {
  /** Undefined where nothing was asked by browser: a device, a refresh. */
  readonly nonce: string | undefined;
  readonly maxAgeSeconds: number;
  readonly nowMs: number;
}

/** A provider answers its client over a connection of its own, and may list thousands of groups. */
const longest = 4 * 1024 * 1024;

/** What an ID token alone may say: a second answer of the provider cannot lay anything over it. */
const protocolClaims = ['iss', 'sub', 'aud', 'azp', 'exp', 'iat', 'nbf', 'nonce', 'auth_time', 'acr', 'amr'] as const;

/**
 * What a provider says of who signed in: the claims of a verified ID token, and those of its userinfo address. Throws
 * `invalid` for a token that is not for us or answers something else, `upstream` while the provider is away.
 */
export async function claimsOf(
  provider: OidcProvider,
  config: JwtConfig,
  role: JwtRole,
  { idToken, accessToken }: ProviderTokens,
  asked: Asked,
): Promise<Claims> {
  if (!idToken) refuse('no id_token found in response');
  const claims = await verifySignature(idToken, {
    algorithms: algorithmsOf(config),
    keys: (header) => provider.keys.of(config, header),
    longest,
  });
  checkTimes(claims, role, asked.nowMs);
  if (claims.exp === undefined) refuse('no expiration time (exp) claim in token');
  const issuer = await provider.keys.issuer(config);
  if (claims.iss !== issuer) refuse('invalid issuer (iss) claim');
  checkAudience(claims, config, role);
  if (typeof claims.sub !== 'string' || claims.sub === '') refuse('invalid subject (sub) claim');
  if (role.bound_subject && claims.sub !== role.bound_subject) refuse('sub claim does not match bound subject');
  if (asked.nonce !== undefined && claims.nonce !== asked.nonce) refuse('invalid ID token nonce');
  checkAge(claims, role, asked);
  checkAccessToken(claims, idToken, accessToken);
  const { nonce: _spent, ...own } = claims;
  const more = await provider.userInfo(config, accessToken);
  if (!more) return own;
  // Somebody else's access token could have been put in between.
  if (more.sub !== claims.sub) refuse('the userinfo is of another subject than the ID token');
  const kept = protocolClaims.filter((name) => name in own).map((name) => [name, own[name]]);
  const further = Object.entries(more).filter(([name]) => !(protocolClaims as readonly string[]).includes(name));
  return { ...own, ...Object.fromEntries([...further, ...kept]) };
}

function checkAudience(claims: Claims, { oidc_client_id: clientId }: JwtConfig, role: JwtRole): void {
  const audiences = audiencesOf(claims);
  if (!audiences.includes(clientId)) refuse('invalid audience (aud) claim: the token is for another client');
  if (claims.azp === undefined ? audiences.length > 1 : claims.azp !== clientId) {
    refuse('invalid authorized party (azp) claim: the token was made for another client');
  }
  const { bound_audiences: bound } = role;
  if (bound.length > 0 && !audiences.some((audience) => bound.includes(audience))) {
    refuse('invalid audience (aud) claim: it matches no bound audience');
  }
}

/** Whether the person proved who they are lately enough. */
function checkAge({ auth_time: at }: Claims, role: JwtRole, { maxAgeSeconds, nowMs }: Asked): void {
  if (maxAgeSeconds === 0) return;
  if (typeof at !== 'number') refuse('no auth_time claim in token, though max_age asks for it');
  if (at + maxAgeSeconds + leewaySeconds(role) < nowMs / 1000) refuse('the last sign-in at the provider is too old');
}

/** An access token that came along must be the one that the ID token was made with, where it says which. */
function checkAccessToken({ at_hash: hash }: Claims, idToken: string, accessToken: string): void {
  if (hash === undefined || accessToken === '') return;
  const { alg } = JSON.parse(Buffer.from(idToken.split('.')[0]!, 'base64url').toString('utf8')) as { alg: string };
  const bits = /\d{3}$/.exec(alg)?.[0] ?? '512';
  const whole = createHash(`sha${bits}`).update(accessToken).digest();
  if (hash !== whole.subarray(0, whole.length / 2).toString('base64url')) {
    refuse('the access token is another than the ID token was made with');
  }
}

function refuse(text: string): never {
  throw new Refusal('invalid', text);
}
