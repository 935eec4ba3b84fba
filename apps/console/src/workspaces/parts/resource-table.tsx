import type { ReactNode } from 'react';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import type { Item } from '../data/documents';

export interface Column<A> {
  readonly head: string;
  readonly cell: (item: Item<A>) => ReactNode;
  readonly className?: 'tight' | 'number' | 'wide-only';
}

export interface TableProps<A> {
  readonly label: string;
  readonly columns: readonly Column<A>[];
  readonly rows: readonly Item<A>[] | undefined;
  readonly error?: unknown;
  readonly onRetry?: () => void;
  /** Shown instead of no rows. */
  readonly empty: ReactNode;
}

/** A list of resources: while it comes, when it cannot be had, when there is nothing, and what there is. */
export function ResourceTable<A>({ label, columns, rows, error, onRetry, empty }: TableProps<A>) {
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
