import { createHash } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { checkTimes, type Leeways, usualLeeways } from './claim-times';
import { audiencesOf } from './jwt';
import { type Claims, type SignatureCheck, verifySignature } from './signature';

/** The request that an ID token must answer. */
export interface IdTokenCheck extends Omit<SignatureCheck, 'longest'> {
  /** Undefined if the provider's issuer is unknown: then no token is valid. */
  readonly issuer: string | undefined;
  readonly clientId: string;
  /** Undefined if no browser was involved: at a device login or a refresh. */
  readonly nonce: string | undefined;
  /** How long ago the user may have signed in at the provider; 0 means any time. */
  readonly maxAgeSeconds: number;
  readonly nowMs: number;
  readonly leeways?: Leeways;
}

/** Large, because the provider answers us directly and may list thousands of groups. */
const longest = 4 * 1024 * 1024;

/** Claims that only an ID token may set: the userinfo cannot override them. */
const protocolClaims = [
  'iss',
  'sub',
  'aud',
  'azp',
  'exp',
  'iat',
  'nbf',
  'nonce',
  'auth_time',
  'acr',
  'amr',
  'sid',
] as const;

/**
 * Verifies an ID token, and that it was issued together with the access token. Throws `invalid`, and `denied` for a bad
 * signature. The reason quotes nothing from the token.
 */
export async function verifyIdToken(idToken: string, accessToken: string, check: IdTokenCheck): Promise<Claims> {
  const { algorithms, keys, issuer, nonce, nowMs, leeways = usualLeeways } = check;
  const claims = await verifySignature(idToken, { algorithms, keys, longest, parse: check.parse });
  checkTimes(claims, leeways, nowMs);
  if (claims.exp === undefined) refuse('no expiration time (exp) claim in token');
  if (issuer === undefined || claims.iss !== issuer) refuse('invalid issuer (iss) claim');
  checkAudience(claims, check.clientId);
  if (typeof claims.sub !== 'string' || claims.sub === '') refuse('invalid subject (sub) claim');
  if (nonce !== undefined && claims.nonce !== nonce) refuse('invalid ID token nonce');
  checkAge(claims, check.maxAgeSeconds, leeways, nowMs);
  checkAccessToken(claims, idToken, accessToken);
  return claims;
}

/**
 * The claims of an ID token, merged with those of the userinfo endpoint. Throws `invalid` if the userinfo is about
 * another subject.
 */
export function withUserInfo(idClaims: Claims, more: Claims | undefined): Claims {
  const { nonce: _spent, ...userClaims } = idClaims;
  if (!more) return userClaims;
  // Another user's access token could have been substituted.
  if (more.sub !== userClaims.sub) refuse('the userinfo is about another subject than the ID token');
  const protectedClaims = protocolClaims
    .filter((name) => name in userClaims)
    .map((name) => [name, userClaims[name as keyof typeof userClaims]]);
  const further = Object.entries(more).filter(([name]) => !(protocolClaims as readonly string[]).includes(name));
  return { ...userClaims, ...Object.fromEntries([...further, ...protectedClaims]) };
}

function checkAudience(claims: Claims, clientId: string): void {
  const audiences = audiencesOf(claims);
  if (!audiences.includes(clientId)) refuse('invalid audience (aud) claim: the token is for another client');
  if (claims.azp === undefined ? audiences.length > 1 : claims.azp !== clientId) {
    refuse('invalid authorized party (azp) claim: the token is for another client');
  }
}

/** Throws if the person's last sign-in at the provider is too old. */
function checkAge({ auth_time: at }: Claims, maxAgeSeconds: number, { skew }: Leeways, nowMs: number): void {
  if (maxAgeSeconds === 0) return;
  if (typeof at !== 'number') refuse('no auth_time claim in token, although the request had max_age');
  if (at + maxAgeSeconds + skew < nowMs / 1000) refuse('the last sign-in at the provider is too old');
}

/** If the ID token has an `at_hash`, the access token must match it. */
function checkAccessToken({ at_hash: hash }: Claims, idToken: string, accessToken: string): void {
  if (hash === undefined || accessToken === '') return;
  const { alg } = JSON.parse(Buffer.from(idToken.split('.')[0]!, 'base64url').toString('utf8')) as { alg: string };
  const bits = /\d{3}$/.exec(alg)?.[0] ?? '512';
  const fullHash = createHash(`sha${bits}`).update(accessToken).digest();
  if (hash !== fullHash.subarray(0, fullHash.length / 2).toString('base64url')) {
    refuse('the access token does not match the ID token');
  }
}

function refuse(text: string): never {
  throw new Refusal('invalid', text);
}
