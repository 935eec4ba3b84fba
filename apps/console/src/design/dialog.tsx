import { type ReactNode, type RefObject, useId, useLayoutEffect, useRef, useState } from 'react';
import { Button } from './button';
import { TextField } from './field';
import { LayerContext } from './layer';

/**
 * Shows a dialog while it is rendered. The dialog closes before it is removed, because only then does the browser
 * return the focus to the button that opened it. If that button no longer exists, the page gets the focus, not the top
 * of the window.
 */
export function useModal(element: RefObject<HTMLDialogElement | null>): void {
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      setTimeout(() => {
        if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true });
      });
    };
  }, [element]);
}

/** A modal dialog. The browser's element keeps the focus inside. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useModal(element);
  return (
    <dialog ref={element} className="dialog" aria-labelledby={id} onClose={onClose} onCancel={onClose}>
      <LayerContext.Provider value={element}>
        <div className="stack">
          <h2 id={id}>{title}</h2>
          {children}
        </div>
      </LayerContext.Provider>
    </dialog>
  );
}

export interface ConfirmProps {
  readonly title: string;
  /** The text of the confirming button: its action. */
  readonly action: string;
  /** The name that the user must type first, for actions that cannot be undone. */
  readonly name?: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly children?: ReactNode;
}

/** Asks for confirmation; if the action cannot be undone, the user must also type the name. */
export function Confirm({ title, action, name, danger, busy, onClose, onConfirm, children }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const right = name === undefined || typed === name;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          // Don't submit the form around the button.
          event.stopPropagation();
          if (right && !busy) onConfirm();
        }}
      >
        {children}
        {name === undefined ? null : (
          <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} autoFocus />
        )}
        <div className="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind={danger ? 'danger primary' : 'primary'}
            busy={busy ?? false}
            forbidden={right ? undefined : `Type ${name} first.`}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
