/** Formats a time in epoch milliseconds for responses; null if there is none or it is invalid. */
export const timeText = (ms: number | undefined): string | null =>
  ms === undefined || Number.isNaN(new Date(ms).getTime()) ? null : new Date(ms).toISOString();
