/**
 * The remaining lifetime, as shown to callers. Rounded up, so that nothing usable shows 0, and something just issued
 * shows its full lifetime. 0 if it never ends.
 */
export function remainingSeconds(expiresAtMs: number | undefined, nowMs: number): number {
  return expiresAtMs === undefined ? 0 : Math.max(0, Math.ceil((expiresAtMs - nowMs) / 1000));
}
