import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Pagination, UncountedPagination } from '../../api/workspaces';
import { Table, type TableProps } from '../../design/table';
import { Loaded } from './loaded';
import { Pages } from './pages';

/** The part of a list's answer that a table uses. */
interface ListAnswer {
  readonly data: readonly { readonly id: string }[];
  readonly meta?: { readonly pagination?: Pagination | UncountedPagination };
}

export interface ResourceTableProps<Answer extends ListAnswer>
  extends Omit<TableProps<Answer['data'][number]>, 'rows' | 'keyOf'> {
  readonly query: UseQueryResult<Answer>;
  /** Shown if there are no rows. */
  readonly empty: ReactNode;
  /** Whether the list has pages. The parameter `page` in the address selects the page. */
  readonly paged?: boolean;
  /** The number of placeholder rows while the list loads. */
  readonly outline?: number;
}

/** A table of resources, with a skeleton while it loads, an error, or an empty state. */
export function ResourceTable<Answer extends ListAnswer>({
  query,
  empty,
  paged,
  outline,
  narrow = 'stacked',
  ...table
}: ResourceTableProps<Answer>) {
  return (
    <Loaded query={query} {...(outline === undefined ? {} : { rows: outline })}>
      {({ data, meta }) =>
        data.length === 0 ? (
          empty
        ) : (
          <>
            <Table {...table} narrow={narrow} rows={data} keyOf={({ id }) => id} />
            {paged ? <Pages pagination={meta?.pagination} /> : null}
          </>
        )
      }
    </Loaded>
  );
}
