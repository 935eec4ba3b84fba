import { Refusal } from '@keystead/refusal';
import jwt from 'jsonwebtoken';

/** What a signed token must satisfy. */
export interface JwtCheck {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly ('RS256' | 'RS384' | 'RS512' | 'ES256' | 'ES384' | 'PS256')[];
  /** The public key (PEM) for a key id; undefined when the issuer has none of that name. */
  key(kid: string | undefined): Promise<string | undefined>;
  /** Epoch milliseconds. */
  nowMs: number;
  leewaySeconds?: number;
}

/**
 * Verifies signature, issuer, audience and times of a JWT and answers its claims.
 * A token without `exp` counts as expired. Throws `denied` with a reason that repeats nothing of the token.
 */
export async function verifyJwt(token: string, check: JwtCheck): Promise<Readonly<Record<string, unknown>>> {
  const decoded = jwt.decode(token, { complete: true });
  if (!decoded || typeof decoded.payload === 'string') throw new Refusal('denied', 'malformed jwt');
  const { alg, kid } = decoded.header;
  if (!check.algorithms.includes(alg as never)) throw new Refusal('denied', 'unexpected signature algorithm of jwt');
  const key = await check.key(kid);
  if (!key) throw new Refusal('denied', 'failed to verify signature of jwt: no such key');
  const seconds = Math.floor(check.nowMs / 1000);
  const leeway = check.leewaySeconds ?? 0;
  try {
    const claims = jwt.verify(token, key, {
      algorithms: [...check.algorithms],
      issuer: check.issuer,
      audience: check.audience,
      clockTimestamp: seconds,
      clockTolerance: leeway,
    }) as jwt.JwtPayload;
    if (typeof claims.exp !== 'number') throw new Refusal('denied', 'jwt has no expiry');
    return claims;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('denied', reason(error as Error), [], { cause: error });
  }
}

function reason(error: Error): string {
  if (error instanceof jwt.TokenExpiredError) return 'jwt is expired';
  if (error instanceof jwt.NotBeforeError) return 'jwt is not valid yet';
  if (error.message.startsWith('jwt audience invalid')) return 'jwt is for another audience';
  if (error.message.startsWith('jwt issuer invalid')) return 'jwt was issued by a different provider';
  return 'failed to verify signature of jwt';
}
