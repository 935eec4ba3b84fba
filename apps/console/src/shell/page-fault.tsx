import { ErrorNotice } from '../design/error-notice';
import { PageHead } from '../design/page';

/** What stands in place of a page that could not be shown: a part of it did not come, or it has a fault. */
export function PageFault({ error }: { readonly error: unknown }) {
  return (
    <div className="stack">
      <PageHead title="This page could not be shown" />
      <ErrorNotice error={error} onRetry={() => location.reload()} />
    </div>
  );
}
