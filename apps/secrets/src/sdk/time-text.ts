/** A time in epoch milliseconds as answers show it; null if there is none, or no such time. */
export const timeText = (ms: number | undefined): string | null =>
  ms === undefined || Number.isNaN(new Date(ms).getTime()) ? null : new Date(ms).toISOString();
