/** The figures of one run. */
export interface Figures {
  requestsPerSecond: number;
  requests: number;
  p50Ms: number;
  p99Ms: number;
}

/** The median of values; for an even number of values, the mean of the two middle ones; NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The value below which the given share (0 to 1) of sorted values lies. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

/** The figures of operations with these durations in ms, which took `elapsedMs` in total. */
export function figuresOf(times: readonly number[], elapsedMs: number): Figures {
  const sorted = Float64Array.from(times).sort();
  return {
    requestsPerSecond: (times.length * 1000) / elapsedMs,
    requests: times.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  };
}

/** The median of each figure. */
export function medianFigures(rounds: readonly Figures[]): Figures {
  return {
    requestsPerSecond: median(rounds.map((one) => one.requestsPerSecond)),
    requests: median(rounds.map((one) => one.requests)),
    p50Ms: median(rounds.map((one) => one.p50Ms)),
    p99Ms: median(rounds.map((one) => one.p99Ms)),
  };
}
