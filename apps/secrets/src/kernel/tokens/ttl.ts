/**
 * The remaining lifetime, as shown to callers. It is rounded up, so that a usable token or lease never shows 0, and a
 * new one shows its full lifetime. 0 if there is no end.
 */
export function remainingSeconds(expiresAtMs: number | undefined, nowMs: number): number {
  return expiresAtMs === undefined ? 0 : Math.max(0, Math.ceil((expiresAtMs - nowMs) / 1000));
}
