const unitSeconds: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ns: 1e-9,
    us: 1e-6,
    µs: 1e-6,
    ms: 1e-3,
    s: 1,
    m: 60,
    h: 3_600,
    d: 86_400,
  }),
);

/**
 * Seconds in `90`, `90s`, `1h30m` or `1d`; undefined if the text is not a duration, is negative or is beyond 2^53 ms.
 */
export function parseSeconds(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) return bounded(Number(trimmed));
  const parts = [...trimmed.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d)/gy)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== trimmed) return undefined;
  return bounded(parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * unitSeconds.get(unit!)!, 0));
}

function bounded(seconds: number): number | undefined {
  return seconds * 1_000 <= Number.MAX_SAFE_INTEGER ? seconds : undefined;
}
