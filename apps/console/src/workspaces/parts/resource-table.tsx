import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Pagination, UncountedPagination } from '../../api/workspaces';
import { Table, type TableProps } from '../../design/table';
import { Loaded } from './loaded';
import { Pages } from './pages';

/** As much of the answer to a list as a table looks at. */
interface ListAnswer {
  readonly data: readonly { readonly id: string }[];
  readonly meta?: { readonly pagination?: Pagination | UncountedPagination };
}

export interface ResourceTableProps<Answer extends ListAnswer>
  extends Omit<TableProps<Answer['data'][number]>, 'rows' | 'keyOf'> {
  readonly query: UseQueryResult<Answer>;
  /** Shown instead of no rows. */
  readonly empty: ReactNode;
  /** The list comes page by page; `page` in the address says which is read. */
  readonly paged?: boolean;
  /** Rows of the outline that is shown while it comes. */
  readonly outline?: number;
}

/** A list of resources: while it comes, when it cannot be had, when there is nothing, and what there is. */
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
