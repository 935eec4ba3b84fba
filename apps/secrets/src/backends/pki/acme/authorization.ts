import { randomBytes, randomUUID } from 'node:crypto';
import type { Identifier } from './identifier';
import type { ProblemText } from './problem';
import { records } from './record';

/** How control over a name is proven. */
export type ChallengeType = 'http-01' | 'dns-01' | 'tls-alpn-01';

/** One way to prove it. */
export interface Challenge {
  readonly type: ChallengeType;
  readonly token: string;
  readonly status: 'pending' | 'processing' | 'valid' | 'invalid';
  readonly validatedAtMs?: number;
  readonly error?: ProblemText;
  /** How often it was looked at. */
  readonly tries: number;
  /** When it is looked at next, while it is processing. */
  readonly dueAtMs?: number;
}

/** Whether an account has proven control over a name, for one order. */
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

/** How an authorization is now: pending ones end. */
export const statusOf = ({ status, expiresAtMs }: Authorization, nowMs: number): Authorization['status'] | 'expired' =>
  (status === 'pending' || status === 'valid') && expiresAtMs <= nowMs ? 'expired' : status;

/** An authorization that is to be proven, in every way that there is for such a name. */
export function newAuthorization(
  said: Pick<Authorization, 'account' | 'prefix' | 'identifier' | 'expiresAtMs'>,
): Authorization {
  const { type, wildcard } = said.identifier;
  const types: readonly ChallengeType[] = wildcard
    ? ['dns-01']
    : type === 'ip'
      ? ['http-01', 'tls-alpn-01']
      : ['http-01', 'dns-01', 'tls-alpn-01'];
  const challenges = types.map(
    (one): Challenge => ({ type: one, token: randomBytes(32).toString('base64url'), status: 'pending', tries: 0 }),
  );
  return { ...said, id: randomUUID(), status: 'pending', challenges };
}
