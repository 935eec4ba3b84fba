/** The time, in epoch milliseconds. */
export interface Clock {
  now(): number;
}

/** A clock that only moves when it is advanced. */
export function manualClock(startMs = Date.UTC(2026, 0, 1)): Clock & { advance(ms: number): void } {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}
