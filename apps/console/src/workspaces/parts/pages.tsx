import type { Pagination, UncountedPagination } from '../../api/workspaces';
import { Button } from '../../design/button';
import { useAddress } from '../filters';

/** Links to the other pages of a list, by `page` in the address; nothing if there is only one. */
export function Pages({ pagination }: { readonly pagination: Pagination | UncountedPagination | undefined }) {
  const [, change] = useAddress<{ readonly page?: number }>();
  if (pagination === undefined) return null;
  const { 'current-page': current, 'next-page': next, 'prev-page': previous } = pagination;
  if (next === null && previous === null) return null;
  return (
    <nav className="row spread" aria-label="Pages of this list">
      <span className="second">
        Page {current}
        {'total-pages' in pagination
          ? ` of ${pagination['total-pages']}, ${pagination['total-count'].toLocaleString('en')} in all`
          : ''}
      </span>
      <span className="row">
        <Button
          small
          forbidden={previous !== null ? undefined : 'This is the first page.'}
          onClick={() => change({ page: current - 1 })}
        >
          Previous
        </Button>
        <Button
          small
          forbidden={next !== null ? undefined : 'This is the last page.'}
          onClick={() => change({ page: current + 1 })}
        >
          Next
        </Button>
      </span>
    </nav>
  );
}
