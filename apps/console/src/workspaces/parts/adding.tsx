import { type ReactNode, useState } from 'react';
import { Button } from '../../design/button';

/** What a page can add. */
export interface Adding {
  /** The text of the button: "New project". */
  readonly label: string;
  readonly forbidden?: string | undefined;
  readonly form: (close: () => void) => ReactNode;
}

/** The button in the page head, and the form below it that the button opens and closes. */
export function useAdding(adding: Adding | undefined) {
  const [isOpen, setOpen] = useState(false);
  if (adding === undefined) return { button: undefined, form: null };
  const { label, forbidden, form } = adding;
  const button = (
    <Button kind="primary" forbidden={forbidden} onClick={() => setOpen(!isOpen)}>
      {label}
    </Button>
  );
  return { button, form: isOpen ? form(() => setOpen(false)) : null };
}
