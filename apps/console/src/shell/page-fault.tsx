import { ErrorNotice } from '../design/error-notice';
import { PageHead } from '../design/page';

/** Shown instead of a page that failed to load or to render. */
export function PageFault({ error }: { readonly error: unknown }) {
  return (
    <div className="stack">
      <PageHead title="This page could not be shown" />
      <ErrorNotice error={error} onRetry={() => location.reload()} />
    </div>
  );
}
