/** When something is to happen again and again; times are UTC. */
export interface Schedule {
  /** The first time after `ms`; undefined where it never comes. */
  next(ms: number): number | undefined;
}

interface Field {
  readonly from: number;
  readonly to: number;
  readonly names?: readonly string[];
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const fields: readonly Field[] = [
  { from: 0, to: 59 },
  { from: 0, to: 23 },
  { from: 1, to: 31 },
  { from: 1, to: 12, names: months },
  // Sunday is 0, and 7 as well.
  { from: 0, to: 7, names: weekdays },
];
const shorthands: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '@yearly': '0 0 1 1 *',
    '@annually': '0 0 1 1 *',
    '@monthly': '0 0 1 * *',
    '@weekly': '0 0 * * 0',
    '@daily': '0 0 * * *',
    '@midnight': '0 0 * * *',
    '@hourly': '0 * * * *',
  }),
);
const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Every date there is comes within so many days: 29 February may be eight years away. */
const horizonDays = 366 * 9;

/**
 * Reads a cron line of five fields (minute, hour, day of month, month, day of week) or a shorthand such as `@daily`.
 * Lists, ranges, steps and names are understood; where both kinds of day are limited, either will do, as always with
 * cron. Undefined where the text is no such line.
 */
export function parseCron(text: string): Schedule | undefined {
  const parts = (shorthands.get(text.trim().toLowerCase()) ?? text.trim()).split(/\s+/);
  if (parts.length !== fields.length) return undefined;
  const sets = parts.map((part, at) => valuesOf(part, fields[at]!));
  if (sets.some((set) => set === undefined)) return undefined;
  const [minutes, hours, days, inMonths, onWeekdays] = sets as Set<number>[];
  if (onWeekdays!.has(7)) onWeekdays!.add(0);
  const anyDay = parts[2]!.startsWith('*');
  const anyWeekday = parts[4]!.startsWith('*');
  const onDay = (date: Date): boolean => {
    if (!inMonths!.has(date.getUTCMonth() + 1)) return false;
    const day = days!.has(date.getUTCDate());
    const weekday = onWeekdays!.has(date.getUTCDay());
    return anyDay || anyWeekday ? day && weekday : day || weekday;
  };
  return {
    next(ms) {
      const first = Math.floor(ms / minuteMs) * minuteMs + minuteMs;
      const today = Math.floor(first / dayMs) * dayMs;
      for (let at = 0; at <= horizonDays; at++) {
        const day = today + at * dayMs;
        if (!onDay(new Date(day))) continue;
        for (let minute = 0; minute < 1440; minute++) {
          const time = day + minute * minuteMs;
          if (time >= first && hours!.has(Math.floor(minute / 60)) && minutes!.has(minute % 60)) return time;
        }
      }
      return undefined;
    },
  };
}

function valuesOf(text: string, field: Field): Set<number> | undefined {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const found = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/.exec(item);
    if (!found) return undefined;
    const [, every, low, high, stepText] = found;
    const step = stepText === undefined ? 1 : Number(stepText);
    const from = every ? field.from : numberOf(low!, field);
    const to = every || (high === undefined && stepText !== undefined) ? field.to : numberOf(high ?? low!, field);
    if (from === undefined || to === undefined || from > to || step < 1) return undefined;
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return values;
}

function numberOf(text: string, { from, to, names }: Field): number | undefined {
  const named = names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) return named + (names === months ? 1 : 0);
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= from && value <= to ? value : undefined;
}
