import type { ReactNode } from 'react';

export interface Column<Row> {
  /** Empty for what needs no name: what can be done with a row. */
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  readonly className?: string;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** What a narrow screen does with the cells of a row, which scroll by sideways unless told otherwise. */
  readonly narrow?: 'stacked' | 'flow';
}

/** A table with a name, declared by its columns. It scrolls by itself where the window is narrow. */
export function Table<Row>({ label, columns, rows, keyOf, narrow }: TableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <div className="table-frame" tabIndex={0}>
      <table className={`table ${narrow ?? ''}`} aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ head, className }) => (
              <th key={head} scope="col" className={className}>
                {head === '' ? <span className="visually-hidden">Actions</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ head, cell, className }) => (
                <td key={head} className={className}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
