import { createContext, type ReactNode, useContext } from 'react';
import { Button } from './button';
import { Notice } from './notice';

/** As much of a failure as is looked at here: the status of the answer, and what had been asked for. */
interface Failure {
  readonly status?: number;
  readonly refused?: { readonly method: string; readonly path: string };
}

/** Says why a request is refused by the rules, where there are some to name. */
export const WhyContext = createContext<((refused: NonNullable<Failure['refused']>) => ReactNode) | undefined>(
  undefined,
);

/** What a service refused, in its words, why, and a way to try again. */
export function ErrorNotice({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const why = useContext(WhyContext);
  if (error === null || error === undefined) return null;
  const { status, refused }: Failure = error instanceof Error ? (error as Failure) : {};
  const isDenied = status === 403;
  return (
    <Notice tone="red" alert>
      <span>{error instanceof Error ? error.message : String(error)}</span>
      {isDenied && refused !== undefined ? why?.(refused) : null}
      {onRetry === undefined || isDenied ? null : (
        <span>
          <Button small onClick={onRetry}>
            Try again
          </Button>
        </span>
      )}
    </Notice>
  );
}
