/** Formats a time in epoch milliseconds for responses; null if the time is undefined or invalid. */
export const timeText = (ms: number | undefined): string | null =>
  ms === undefined || Number.isNaN(new Date(ms).getTime()) ? null : new Date(ms).toISOString();
