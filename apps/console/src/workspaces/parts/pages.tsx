import type { Pagination } from '../../api/workspaces';
import { Button } from '../../design/button';

/** Which part of a list this is, and the way to the others. */
export function Pages({
  pagination,
  onPage,
}: {
  readonly pagination: Pagination | undefined;
  readonly onPage: (page: string) => void;
}) {
  if (pagination === undefined || pagination['total-pages'] <= 1) return null;
  const { 'current-page': current, 'total-pages': pages, 'total-count': count } = pagination;
  return (
    <nav className="row spread" aria-label="Pages of this list">
      <span className="second">
        Page {current} of {pages}, {count.toLocaleString('en')} in all
      </span>
      <span className="row">
        <Button
          small
          forbidden={current > 1 ? undefined : 'This is the first page.'}
          onClick={() => onPage(String(current - 1))}
        >
          Previous
        </Button>
        <Button
          small
          forbidden={current < pages ? undefined : 'This is the last page.'}
          onClick={() => onPage(String(current + 1))}
        >
          Next
        </Button>
      </span>
    </nav>
  );
}
