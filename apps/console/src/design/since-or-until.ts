const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' });

const clockSeconds = 2;

/** A time relative to now: "3 min. ago", "in 2 hr."; for less than a minute, "just now" or "in a few seconds". */
export function sinceOrUntil(then: number, now: number): string {
  const exact = (then - now) / 1000;
  // Round to minutes, so that a time one hour ahead is not shown as 59 minutes a moment later.
  const seconds = Math.abs(exact) < 60 ? exact : Math.round(exact / 60) * 60;
  for (const [unit, length] of units) {
    // "in 1 month" or "in 1 year" is too imprecise for an expiry, so show "in 31 days" or "in 14 mo.".
    const least = unit === 'month' || unit === 'year' ? 2 : 1;
    if (Math.abs(seconds) >= least * length) return relative.format(Math.trunc(seconds / length), unit);
  }
  // The clocks of the service and the browser may differ a little.
  return seconds <= clockSeconds ? 'just now' : 'in a few seconds';
}
