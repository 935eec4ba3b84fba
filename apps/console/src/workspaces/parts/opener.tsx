import { type ReactNode, useState } from 'react';
import { Button } from '../../design/button';

/** A button with the form or dialog that it opens. */
export function Opener({
  label,
  text = label,
  kind,
  small,
  forbidden,
  children,
}: {
  /** The action and its object: "Delete web". */
  readonly label: string;
  /** The text of the button, if shorter than the label. */
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
