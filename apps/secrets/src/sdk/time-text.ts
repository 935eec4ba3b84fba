/** A time in epoch milliseconds as answers show it; null if there is none. */
export const timeText = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();
