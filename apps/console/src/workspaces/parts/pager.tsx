import { Button } from '../../design/button';
import type { Many } from '../data/documents';

/** The pages of a list. Nothing where one page holds all. */
export function Pager({
  list,
  onPage,
}: {
  readonly list: Many<unknown> | undefined;
  readonly onPage: (page: number) => void;
}) {
  const pages = list?.meta?.pagination;
  if (pages === undefined || (pages['next-page'] === null && pages['prev-page'] === null)) return null;
  const { 'current-page': current, 'next-page': next, 'prev-page': previous } = pages;
  const of = pages['total-pages'] === undefined ? '' : ` of ${pages['total-pages']}`;
  return (
    <nav className="row" aria-label="Pages of the list">
      <Button
        small
        onClick={() => onPage(current - 1)}
        forbidden={previous === null ? 'this is the first page' : undefined}
      >
        Previous
      </Button>
      <span className="second small">
        Page {current}
        {of}
      </span>
      <Button small onClick={() => onPage(current + 1)} forbidden={next === null ? 'this is the last page' : undefined}>
        Next
      </Button>
    </nav>
  );
}
