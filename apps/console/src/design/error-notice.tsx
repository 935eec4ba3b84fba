import { Button } from './button';
import { Notice } from './notice';

/** What a service refused, in its words, and a way to try again. */
export function ErrorNotice({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  if (error === null || error === undefined) return null;
  return (
    <Notice tone="red" alert>
      <span>{error instanceof Error ? error.message : String(error)}</span>
      {onRetry === undefined ? null : (
        <span>
          <Button small onClick={onRetry}>
            Try again
          </Button>
        </span>
      )}
    </Notice>
  );
}
