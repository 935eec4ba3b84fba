const usualLongestSeconds = 6 * 3600;

/**
 * Calls for which a user is waiting are retried sooner: after 2.5 and 5 seconds, within the limit of 10 seconds for all
 * calls.
 */
export const quickTries = 2;

/**
 * The pause before the next attempt after `attempts` failures. It doubles each time, and halves for each number below
 * zero.
 */
export const pauseSeconds = (attempts: number, longestSeconds = usualLongestSeconds): number =>
  Math.min(longestSeconds, 5 * 2 ** Math.min(attempts, 12));
