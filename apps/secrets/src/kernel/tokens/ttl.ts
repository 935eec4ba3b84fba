/**
 * What is left of a lifetime, as shown to callers. Rounded up, so that nothing that can still be used shows 0, and
 * something just issued shows all of its lifetime. 0 for what never ends.
 */
export function remainingSeconds(expiresAtMs: number | undefined, nowMs: number): number {
  return expiresAtMs === undefined ? 0 : Math.max(0, Math.ceil((expiresAtMs - nowMs) / 1000));
}
