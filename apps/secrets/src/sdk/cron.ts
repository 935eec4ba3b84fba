import { Cron } from 'croner';

/** A schedule; times are UTC. */
export interface Schedule {
  /** The first time after `ms`; undefined if the schedule has no further time. */
  next(ms: number): number | undefined;
}

const SHORTHAND = /^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$/i;
/** Lists of values and ranges with steps. The library accepts more, and ignores some invalid parts. */
const FIELD = /^(?:(?:\*|(?:\d+|[a-z]{3})(?:-(?:\d+|[a-z]{3}))?)(?:\/\d+)?(?:,(?!$)|$))+$/i;
/** Lowest and highest value of each field, and the number of values. Sunday is 0 or 7. */
const LIMITS = [
  [0, 59, 60],
  [0, 23, 24],
  [1, 31, 31],
  [1, 12, 12],
  [0, 7, 7],
] as const;
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/**
 * Reads a cron line of five fields (minute, hour, day of month, month, day of week) or a shorthand such as `@daily`.
 * Lists, ranges, steps and names are supported; if both kinds of day are limited, either matches, as always with cron.
 * Undefined if the text is not a valid cron expression.
 */
export function parseCron(text: string): Schedule | undefined {
  const line = text.trim();
  const fields = SHORTHAND.test(line) ? [line] : line.split(/\s+/).map(plainField);
  if (fields.includes(undefined) || ![1, LIMITS.length].includes(fields.length)) return undefined;
  // A day field that begins with a star means no limit, even with steps.
  const domAndDow = [fields[2], fields[4]].some((field) => field?.startsWith('*'));
  try {
    const cron = new Cron(fields.join(' '), { timezone: 'UTC', mode: '5-part', domAndDow });
    return { next: (ms) => cron.nextRun(new Date(ms))?.getTime() };
  } catch {
    return undefined;
  }
}

/**
 * A field in a form that the library reads correctly: values are within the limits, steps from a single value end at
 * the last value, and no step is too long.
 */
function plainField(field: string, at: number): string | undefined {
  const [lowest, highest, count] = LIMITS[at] ?? [0, 0, 0];
  if (!FIELD.test(field)) return undefined;
  const numbers = at === 4 ? field.replace(/[a-z]{3}/gi, (name) => `${dayOf(name)}`) : field;
  const values = numbers.replace(/\/\d+/g, '').match(/\d+/g) ?? [];
  if (values.some((value) => Number(value) < lowest || Number(value) > highest)) return undefined;
  return numbers
    .replace(/(?<=^|,)(\w+)\//g, `$1-${highest}/`)
    .replace(/\/(\d+)/g, (_, step) => `/${Math.min(Number(step), count)}`);
}

/** The library accepts Sunday as the last day of a range, too. */
const dayOf = (name: string): number => WEEKDAYS.indexOf(name.toUpperCase());
