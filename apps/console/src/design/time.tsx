import { useEffect, useState } from 'react';
import { sinceOrUntil } from './since-or-until';
import { exactTime, useTimeZone } from './time-zone';

/** "3 d 4 h", "2 min 5 s", "480 ms": the two largest units of a duration. */
export function lengthOf(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  const parts: [number, string][] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1000, 's'],
  ];
  let rest = milliseconds;
  const units: string[] = [];
  for (const [length, name] of parts) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) units.push(`${count} ${name}`);
  }
  return units.slice(0, 2).join(' ');
}

/** A relative time; hover shows the exact time in the chosen time zone. */
export function Time({ at }: { readonly at: string | number | null | undefined }) {
  const [, setTicks] = useState(0);
  const zone = useTimeZone();
  useEffect(() => {
    const timer = setInterval(() => setTicks((ticks) => ticks + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (at === null || at === undefined || at === '') return <span className="second">never</span>;
  const date = new Date(at);
  const then = date.getTime();
  if (Number.isNaN(then)) return <span>{String(at)}</span>;
  return (
    <time dateTime={date.toISOString()} title={exactTime(date, zone)}>
      {sinceOrUntil(then, Date.now())}
    </time>
  );
}
