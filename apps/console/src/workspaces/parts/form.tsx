import { type ReactNode, useState } from 'react';
import { ApiError } from '../../api/api-error';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';

/** What is wrong with a field, in the words of the service. */
export const faultOf = (error: unknown, field: string): string | undefined =>
  error instanceof ApiError ? error.of(field) : undefined;

export interface FormDialogProps {
  readonly title: string;
  readonly action: string;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onClose: () => void;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}

/** A form in a dialog of its own. */
export function FormDialog({ title, action, busy, error, onClose, onSubmit, children }: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          event.stopPropagation();
          if (!busy) onSubmit();
        }}
      >
        {children}
        <ErrorNotice error={error} />
        <div className="row end">
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" kind="primary" busy={busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** A button with what it opens. */
export function Opener({
  label,
  text = label,
  kind,
  small,
  forbidden,
  children,
}: {
  /** What it does, and to which of many: "Delete web". */
  readonly label: string;
  /** What stands on it, where that is less. */
  readonly text?: string;
  readonly kind?: 'primary' | 'danger' | 'quiet';
  readonly small?: boolean;
  readonly forbidden?: string | undefined;
  readonly children: (close: () => void) => ReactNode;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button
        {...(kind ? { kind } : {})}
        {...(text === label ? {} : { label })}
        small={small ?? false}
        forbidden={forbidden}
        onClick={() => setOpen(true)}
      >
        {text}
      </Button>
      {open ? children(() => setOpen(false)) : null}
    </>
  );
}
