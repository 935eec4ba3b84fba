/** The stored object with changes applied; null removes a name. Any name works, even `__proto__`. */
export function merged(stored: object | null | undefined, changes: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...stored, ...changes }).filter(([, value]) => value !== null));
}
