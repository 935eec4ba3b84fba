import { z } from 'zod';

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
/** The longest time limit. Timers of a process cannot wait much longer. */
const mostSeconds = 20 * 86_400;

/** The default time limits of plans and applies. */
export const defaultTimeouts = { plan: '2h', apply: '24h' } as const;

function secondsOf(text: string): number | undefined {
  const match = /^([1-9]\d{0,3})([smhd])$/.exec(text);
  return match ? Number(match[1]) * unitSeconds[match[2] as keyof typeof unitSeconds] : undefined;
}

/** A time limit in short form: `90m`, `24h`. */
export const timeout = z.string().refine((text) => (secondsOf(text) ?? Number.POSITIVE_INFINITY) <= mostSeconds, {
  error: 'must be a number and a unit (s, m, h or d), such as 90m or 24h, and at most 20d',
});

/** The first of the given durations, in seconds. */
export function timeoutSeconds(...texts: readonly (string | null)[]): number {
  const found = texts.map((text) => (text === null ? undefined : secondsOf(text))).find((one) => one !== undefined);
  if (found === undefined) throw new Error('no timeout');
  return Math.min(found, mostSeconds);
}
