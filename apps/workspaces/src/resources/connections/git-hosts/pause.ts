const usualLongestSeconds = 6 * 3600;

/** Retries of a call that a person waits for come sooner than others: after 2.5 and 5 seconds, before the 10 of all. */
export const quickTries = 2;

/** Until what failed `attempts` times is tried again: twice as long each time, and half as long for each one below none. */
export const pauseSeconds = (attempts: number, longestSeconds = usualLongestSeconds): number =>
  Math.min(longestSeconds, 5 * 2 ** Math.min(attempts, 12));
