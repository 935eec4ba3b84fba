import type { GuessRule } from '../attempts/attempts';

/** How an auth method locks out users; omitted settings have the defaults. */
export interface UserLockout {
  /** Wrong passwords in a row that lock a user. */
  readonly threshold?: number;
  readonly durationSeconds?: number;
  /** Failures are forgotten this long after the last login. */
  readonly counterResetSeconds?: number;
  readonly disabled?: boolean;
}

const usual = { threshold: 5, durationSeconds: 15 * 60, counterResetSeconds: 15 * 60 };

/** The limit on password guesses of a method; undefined if users are never locked out. */
export function passwordRule(own: UserLockout = {}): GuessRule | undefined {
  if (own.disabled) return undefined;
  const lockSeconds = own.durationSeconds ?? usual.durationSeconds;
  return {
    allowed: own.threshold ?? usual.threshold,
    lockSeconds,
    longestLockSeconds: lockSeconds,
    forgetSeconds: own.counterResetSeconds ?? usual.counterResetSeconds,
  };
}
