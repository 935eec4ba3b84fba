import { type LucideIcon, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from '../../design/button';

interface OpenerProps {
  /** The action and its object: "Delete web". */
  readonly label: string;
  /** The text of the button, if shorter than the label. */
  readonly text?: string;
  readonly kind?: 'primary' | 'danger' | 'quiet';
  readonly small?: boolean;
  readonly forbidden?: string | undefined;
  readonly icon?: LucideIcon;
  readonly children: (close: () => void) => ReactNode;
}

/** The button that creates an item of the list on a page or in a section, with its dialog. */
export const Creator = (props: Omit<OpenerProps, 'kind' | 'icon' | 'text'>) => (
  <Opener {...props} kind="primary" icon={Plus} />
);

/** A button with the form or dialog that it opens. */
export function Opener({ label, text = label, kind, small, forbidden, icon, children }: OpenerProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button
        {...(kind ? { kind } : {})}
        {...(icon ? { icon } : {})}
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
