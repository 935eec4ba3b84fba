const usualLongestSeconds = 6 * 3600;

/**
 * Subtracted from the number of failures of a call for which a user is waiting, so that it is retried sooner: after 2.5
 * and 5 seconds, within the limit of 10 seconds for all calls.
 */
export const quickTries = 2;

/**
 * The pause before the next attempt after `attempts` failures. It doubles with each failure. A negative `attempts`
 * halves it for each step below zero.
 */
export const pauseSeconds = (attempts: number, longestSeconds = usualLongestSeconds): number =>
  Math.min(longestSeconds, 5 * 2 ** Math.min(attempts, 12));
