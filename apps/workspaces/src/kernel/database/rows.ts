/**
 * Turns rows with `snake_case` columns into objects with the names Prisma gives them.
 *
 * `bigints` are columns that the driver hands over as text. The names are worked out once.
 */
export function rowMapper<T>(bigints: readonly string[] = ['revision']): (row: Record<string, unknown>) => T {
  const names = new Map<string, string>();
  const big = new Set(bigints);
  return (row) => {
    const object: Record<string, unknown> = {};
    for (const column in row) {
      let name = names.get(column);
      if (name === undefined) {
        name = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
        names.set(column, name);
      }
      const value = row[column];
      object[name] = big.has(column) && typeof value === 'string' ? BigInt(value) : value;
    }
    return object as T;
  };
}
