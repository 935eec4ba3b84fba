import { createContext, type ReactNode, useContext } from 'react';
import { Button } from './button';
import { Notice } from './notice';

/** The parts of an error used here: response status and request. */
interface Failure {
  readonly status?: number;
  readonly refused?: { readonly method: string; readonly path: string };
}

/** Explains which policy rules refused a request. */
export const WhyContext = createContext<((refused: NonNullable<Failure['refused']>) => ReactNode) | undefined>(
  undefined,
);

/** An error: the message of the service, the reason, and a retry button. */
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
