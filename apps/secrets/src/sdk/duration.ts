const unitSeconds: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ns: 1e-9,
    us: 1e-6,
    µs: 1e-6,
    μs: 1e-6,
    ms: 1e-3,
    s: 1,
    m: 60,
    h: 3600,
    d: 86_400,
  }),
);

/** The longest duration the wire format can carry (signed 64-bit nanoseconds), in whole seconds. */
const maxDurationSeconds = 9_223_372_036;

const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d)/y;
const plainNumber = /^[+-]?\d+$/;

/**
 * Reads a duration as clients send it: `90`, `"90"`, `"1h30m"`, `"1d"`. Returns whole seconds, rounded towards zero, or
 * undefined if the text is not a duration or does not fit. Negative durations are allowed; the caller may refuse them.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '') return 0;
  if (plainNumber.test(text)) return within(Number(text));
  const negative = text.startsWith('-');
  const start = negative || text.startsWith('+') ? 1 : 0;
  if (start === text.length) return undefined;
  let seconds = 0;
  part.lastIndex = start;
  while (part.lastIndex < text.length) {
    const found = part.exec(text);
    if (!found) return undefined;
    seconds += Number(found[1]) * unitSeconds.get(found[2]!)!;
  }
  return within(negative ? -seconds : seconds);
}

function within(seconds: number): number | undefined {
  if (!Number.isFinite(seconds) || Math.abs(seconds) > maxDurationSeconds) return undefined;
  // The value is rounded to microseconds first, because the sum of ten times 0.1 s is 0.9999….
  return Math.trunc(Math.round(seconds * 1e6) / 1e6) + 0;
}

/** Duration text with every part spelled out: `768h0m0s`, `30m0s`, `5s`, `0s`. */
export function durationText(seconds: number): string {
  if (seconds === 0) return '0s';
  const sign = seconds < 0 ? '-' : '';
  const total = Math.abs(seconds);
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const rest = total % 60;
  if (hours > 0) return `${sign}${hours}h${minutes}m${rest}s`;
  return minutes > 0 ? `${sign}${minutes}m${rest}s` : `${sign}${rest}s`;
}

/** Duration text without its zero parts, as warnings print it: `2h`, `1h30m`, `45s`. */
export function shortDurationText(seconds: number): string {
  if (seconds === 0) return '0s';
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = seconds % 60;
  return `${hours ? `${hours}h` : ''}${minutes ? `${minutes}m` : ''}${rest ? `${rest}s` : ''}`;
}
