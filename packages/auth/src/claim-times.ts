import { Refusal } from '@keystead/refusal';
import type { Claims } from './signature';

/** How far clocks may be apart, and the validity of a token that lacks some time claims. All in seconds. */
export interface Leeways {
  readonly skew: number;
  /** How long a token without `exp` is valid after it was issued. */
  readonly expiration: number;
  /** How long before its end a token without `nbf` and `iat` is valid. */
  readonly notBefore: number;
}

/** Suits issuers with accurate clocks. */
export const usualLeeways: Leeways = { skew: 60, expiration: 150, notBefore: 150 };

/**
 * Throws unless a token is valid now. A token without `exp` is valid for `expiration` seconds after it was issued; a
 * token without any time claim is refused.
 */
export function checkTimes(claims: Claims, { skew, expiration, notBefore }: Leeways, nowMs: number): void {
  const [iat, nbf, exp] = (['iat', 'nbf', 'exp'] as const).map((name) => numericDate(claims, name));
  const issued = Math.max(iat ?? 0, nbf ?? 0);
  if (exp === undefined && issued === 0) {
    refuse('no issued at (iat), not before (nbf), or expiration time (exp) claims in token');
  }
  const end = exp ?? issued + expiration;
  const start = nbf ?? (iat === undefined ? end - notBefore : 0);
  const now = nowMs / 1000;
  if (end + skew <= now) refuse('invalid expiration time (exp) claim: token is expired');
  if (start - skew > now) refuse('invalid not before (nbf) claim: token not yet valid');
  if (iat !== undefined && iat - skew > now) refuse('invalid issued at (iat) claim: token issued in the future');
}

function numericDate(claims: Claims, name: string): number | undefined {
  const value = claims[name];
  if (value === undefined || value === null || value === 0) return undefined;
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  refuse(`invalid ${name} claim: it is not a time`);
}

function refuse(text: string): never {
  throw new Refusal('invalid', text);
}
