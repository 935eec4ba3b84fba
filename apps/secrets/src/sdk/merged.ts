/** What is kept with what is named laid over it; null takes a name away. Any name is one, `__proto__` too. */
export function merged(kept: object | null | undefined, named: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...kept, ...named }).filter(([, value]) => value !== null));
}
