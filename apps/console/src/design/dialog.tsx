import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button } from './button';
import { TextField } from './field';
import { LayerContext } from './layer';

/** A modal dialog. The browser's own: it keeps the focus inside. */
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
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
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
  /** What the button says: what happens. */
  readonly action: string;
  /** Has to be typed first, for what cannot be undone. */
  readonly name?: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly children?: ReactNode;
}

/** Asks once more; what cannot be undone asks for its name. */
export function Confirm({ title, action, name, danger, busy, onClose, onConfirm, children }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const right = name === undefined || typed === name;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          // The form around the button that asked is not sent by it.
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
