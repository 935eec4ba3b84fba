import { createHash } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { checkTimes, type Leeways, usualLeeways } from './claim-times';
import { audiencesOf } from './jwt';
import { type Claims, type SignatureCheck, verifySignature } from './signature';

/** What an ID token must be an answer to. */
export interface IdTokenCheck extends Omit<SignatureCheck, 'longest'> {
  /** Undefined if the provider's is not known: then no token is good. */
  readonly issuer: string | undefined;
  readonly clientId: string;
  /** Undefined if nothing was asked by browser: a device, a refresh. */
  readonly nonce: string | undefined;
  /** How long ago the person may have proved who they are; 0 asks for nothing. */
  readonly maxAgeSeconds: number;
  readonly nowMs: number;
  readonly leeways?: Leeways;
}

/** A provider answers its client over a separate connection, and may list thousands of groups. */
const longest = 4 * 1024 * 1024;

/** Claims that only an ID token may set: a second answer of the provider cannot override them. */
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
 * Verifies an ID token, and that it is the one that an access token came with. Throws `invalid`, or `denied` for a
 * signature, with a reason that repeats nothing of the token.
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

/** The claims of an ID token, merged with those of the userinfo address. Throws `invalid` if these are another subject's. */
export function withUserInfo(idClaims: Claims, more: Claims | undefined): Claims {
  const { nonce: _spent, ...own } = idClaims;
  if (!more) return own;
  // Another user's access token could have been substituted.
  if (more.sub !== own.sub) refuse('the userinfo is of another subject than the ID token');
  const kept = protocolClaims.filter((name) => name in own).map((name) => [name, own[name as keyof typeof own]]);
  const further = Object.entries(more).filter(([name]) => !(protocolClaims as readonly string[]).includes(name));
  return { ...own, ...Object.fromEntries([...further, ...kept]) };
}

function checkAudience(claims: Claims, clientId: string): void {
  const audiences = audiencesOf(claims);
  if (!audiences.includes(clientId)) refuse('invalid audience (aud) claim: the token is for another client');
  if (claims.azp === undefined ? audiences.length > 1 : claims.azp !== clientId) {
    refuse('invalid authorized party (azp) claim: the token was made for another client');
  }
}

/** Whether the person proved who they are lately enough. */
function checkAge({ auth_time: at }: Claims, maxAgeSeconds: number, { skew }: Leeways, nowMs: number): void {
  if (maxAgeSeconds === 0) return;
  if (typeof at !== 'number') refuse('no auth_time claim in token, though max_age asks for it');
  if (at + maxAgeSeconds + skew < nowMs / 1000) refuse('the last sign-in at the provider is too old');
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
