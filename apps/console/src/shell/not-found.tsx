import { Link } from '@tanstack/react-router';
import { Empty, PageHead } from '../design/page';

/** Shown at an address without a page. */
export function NotFound() {
  return (
    <div className="stack">
      <PageHead title="Nothing here" />
      <Empty action={<Link to="/">To the first page</Link>}>There is no page at this address, or it was deleted.</Empty>
    </div>
  );
}
