import { Refusal } from '@keystead/refusal';
import { type Claims, type SignatureCheck, verifySignature } from './signature';

/** The requirements for a signed token. */
export interface JwtCheck extends SignatureCheck {
  readonly issuer: string;
  readonly audience: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/**
 * Verifies signature, issuer, audience and times of a JWT and returns its claims. A token without `exp` is
 * expired. Throws `denied` with a reason that quotes nothing from the token.
 */
export async function verifyJwt(token: string, check: JwtCheck): Promise<Claims> {
  const claims = await verifySignature(token, check);
  const now = Math.floor(check.nowMs / 1000);
  const { nbf, exp } = claims;
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf > now)) throw denied('jwt is not valid yet');
  if (typeof exp !== 'number') throw denied('jwt has no expiry');
  if (exp <= now) throw denied('jwt is expired');
  if (!audiencesOf(claims).includes(check.audience)) throw denied('jwt is for another audience');
  if (claims.iss !== check.issuer) throw denied('jwt was issued by a different provider');
  return claims;
}

/** The audiences of a token: `aud`, which may be one string or a list. */
export function audiencesOf({ aud }: Claims): readonly string[] {
  if (typeof aud === 'string') return [aud];
  return Array.isArray(aud) ? aud.filter((one): one is string => typeof one === 'string') : [];
}

function denied(reason: string): Refusal {
  return new Refusal('denied', reason);
}
