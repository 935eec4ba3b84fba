/**
 * An object with these properties, all null. Copies of it (`{ ...blank }`) are quick to fill, copy and read: an object that
 * gets more than some twenty properties one by one, by names that are computed, becomes a hash table of ten times its size.
 */
export function blankOf(names: readonly string[]): Readonly<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(Object.fromEntries(names.map((name) => [name, null]))));
}
