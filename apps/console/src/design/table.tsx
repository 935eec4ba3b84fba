import { ArrowDown, ArrowUp } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';

export interface Column<Row> {
  /** The heading of the column; empty for the column of row actions. */
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  readonly className?: string;
  /** Sort key of the column, if it is sortable. */
  readonly sortBy?: (row: Row) => string | number;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Layout on narrow screens; by default, rows scroll sideways. */
  readonly narrow?: 'stacked' | 'flow';
}

/** A named table, described by its columns. In narrow windows, the table scrolls, not the page. */
export function Table<Row>({ label, columns, rows, keyOf, narrow }: TableProps<Row>) {
  const [order, setOrder] = useState<{ readonly head: string; readonly down: boolean }>();
  const sortBy = columns.find(({ head }) => head === order?.head)?.sortBy;
  const sorted = useMemo(() => {
    if (sortBy === undefined) return rows;
    const compared = rows.toSorted((one, other) => compare(sortBy(one), sortBy(other)));
    return order?.down ? compared.toReversed() : compared;
  }, [rows, sortBy, order]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <div className="table-frame" tabIndex={0}>
      <table className={`table ${narrow ?? ''}`} aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ head, className, sortBy }) => {
              const isOrder = order?.head === head;
              const Arrow = order?.down ? ArrowDown : ArrowUp;
              return (
                <th
                  key={head}
                  scope="col"
                  className={className}
                  aria-sort={isOrder ? (order.down ? 'descending' : 'ascending') : undefined}
                >
                  {head === '' ? (
                    <span className="visually-hidden">Actions</span>
                  ) : sortBy === undefined ? (
                    head
                  ) : (
                    <button type="button" onClick={() => setOrder({ head, down: isOrder && !order.down })}>
                      {head}
                      {isOrder ? <Arrow size={12} aria-hidden="true" /> : null}
                    </button>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ head, cell, className }) => (
                <td key={head} className={className} data-head={narrow === 'stacked' ? head : undefined}>
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

const collator = new Intl.Collator('en', { numeric: true });
const compare = (one: string | number, other: string | number): number =>
  typeof one === 'number' && typeof other === 'number' ? one - other : collator.compare(String(one), String(other));
