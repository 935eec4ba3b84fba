import { createContext, type ReactNode, useContext } from 'react';
import { ApiError, type Refused } from '../api/api-error';
import { Button } from './button';
import { Notice } from './notice';

/** Says why a request is refused by the rules, where there are some to name. */
export const WhyContext = createContext<((refused: Refused) => ReactNode) | undefined>(undefined);

/** What a service refused, in its words, why, and a way to try again. */
export function ErrorNotice({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const why = useContext(WhyContext);
  if (error === null || error === undefined) return null;
  const denied = error instanceof ApiError && error.status === 403;
  return (
    <Notice tone="red" alert>
      <span>{error instanceof Error ? error.message : String(error)}</span>
      {denied && error.refused ? why?.(error.refused) : null}
      {onRetry === undefined || denied ? null : (
        <span>
          <Button small onClick={onRetry}>
            Try again
          </Button>
        </span>
      )}
    </Notice>
  );
}
