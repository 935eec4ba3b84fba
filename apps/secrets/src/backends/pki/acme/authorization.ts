import { randomBytes, randomUUID } from 'node:crypto';
import type { Identifier } from './identifier';
import type { ProblemText } from './problem';
import { records } from './record';

/** How control over a name is proven. */
export type ChallengeType = 'http-01' | 'dns-01' | 'tls-alpn-01';

/** A challenge of an authorization. */
export interface Challenge {
  readonly type: ChallengeType;
  readonly token: string;
  readonly status: 'pending' | 'processing' | 'valid' | 'invalid';
  readonly validatedAtMs?: number;
  readonly error?: ProblemText;
  /** Number of attempts so far. */
  readonly tries: number;
  /** Time of the next attempt, while the challenge is processing. */
  readonly dueAtMs?: number;
}

/** The authorization of one name in one order. */
export interface Authorization {
  readonly id: string;
  readonly account: string;
  readonly prefix: string;
  readonly identifier: Identifier;
  readonly status: 'pending' | 'valid' | 'invalid' | 'deactivated';
  readonly expiresAtMs: number;
  readonly challenges: readonly Challenge[];
}

/** The authorizations of a mount. */
export const authorizations = records<Authorization>('acme/authorization/');

/** The current status: `expired` once a pending or valid authorization has passed its expiry. */
export const statusOf = ({ status, expiresAtMs }: Authorization, nowMs: number): Authorization['status'] | 'expired' =>
  (status === 'pending' || status === 'valid') && expiresAtMs <= nowMs ? 'expired' : status;

/** A pending authorization with all challenge types that its name allows. */
export function newAuthorization(
  request: Pick<Authorization, 'account' | 'prefix' | 'identifier' | 'expiresAtMs'>,
): Authorization {
  const { type, wildcard } = request.identifier;
  const types: readonly ChallengeType[] = wildcard
    ? ['dns-01']
    : type === 'ip'
      ? ['http-01', 'tls-alpn-01']
      : ['http-01', 'dns-01', 'tls-alpn-01'];
  const challenges = types.map(
    (one): Challenge => ({ type: one, token: randomBytes(32).toString('base64url'), status: 'pending', tries: 0 }),
  );
  return { ...request, id: randomUUID(), status: 'pending', challenges };
}
