import { blankOf } from '@keystead/jsonapi';

interface Shape {
  readonly columns: readonly string[];
  readonly names: readonly string[];
  readonly blank: Readonly<Record<string, unknown>>;
}

/**
 * Turns rows with `snake_case` columns into objects with the names that Prisma uses.
 *
 * `bigints` are columns that the driver returns as text. The names are computed only once for the columns of a
 * statement.
 */
export function rowMapper<T>(bigints: readonly string[] = ['revision']): (row: Record<string, unknown>) => T {
  const big = new Set(bigints);
  const shapes: Shape[] = [];
  return (row) => {
    const columns = Object.keys(row);
    const { names, blank } = shapes.find((shape) => hasColumns(shape, columns)) ?? added(shapes, columns);
    const object: Record<string, unknown> = { ...blank };
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index]!;
      const value = row[column];
      object[names[index]!] = big.has(column) && typeof value === 'string' ? BigInt(value) : value;
    }
    return object as T;
  };
}

function hasColumns({ columns }: Shape, others: readonly string[]): boolean {
  return columns.length === others.length && columns.every((column, index) => column === others[index]);
}

function added(shapes: Shape[], columns: readonly string[]): Shape {
  const names = columns.map((column) => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));
  const shape = { columns, names, blank: blankOf(names) };
  shapes.push(shape);
  return shape;
}
