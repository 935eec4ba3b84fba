import type { ReactNode } from 'react';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  readonly className?: 'tight' | 'number' | 'wide-only';
}

export interface ResourceTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[] | undefined;
  readonly error?: unknown;
  readonly onRetry?: () => void;
  /** Shown instead of no rows. */
  readonly empty: ReactNode;
}

/** A list of resources: while it comes, when it cannot be had, when there is nothing, and what there is. */
export function ResourceTable<Row extends { readonly id: string }>({
  label,
  columns,
  rows,
  error,
  onRetry,
  empty,
}: ResourceTableProps<Row>) {
  if (error !== undefined && error !== null) return <ErrorNotice error={error} {...(onRetry ? { onRetry } : {})} />;
  if (rows === undefined) return <Skeleton />;
  if (rows.length === 0) return empty;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
    <section className="table-frame" aria-label={label} tabIndex={0}>
      <table className="table resources">
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
            <tr key={row.id}>
              {columns.map(({ head, cell, className }) => (
                <td key={head} className={className}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
