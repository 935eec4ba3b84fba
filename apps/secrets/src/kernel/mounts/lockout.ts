import type { GuessRule } from '../attempts/attempts';

/** How a login method locks names out; what is left out is as for all. */
export interface UserLockout {
  /** Wrong passwords in a row that lock a name. */
  readonly threshold?: number;
  readonly durationSeconds?: number;
  /** Failures are forgotten this long after the last login. */
  readonly counterResetSeconds?: number;
  readonly disabled?: boolean;
}

const usual = { threshold: 5, durationSeconds: 15 * 60, counterResetSeconds: 15 * 60 };

/** How often passwords of a method may be guessed at; undefined if names are never locked. */
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
