import type { ReactNode } from 'react';

export interface ButtonProps {
  readonly children: ReactNode;
  readonly onClick?: () => void;
  readonly kind?: 'primary' | 'danger' | 'danger primary' | 'quiet';
  readonly small?: boolean;
  readonly type?: 'button' | 'submit';
  /** Why it cannot be pressed now: the rule that forbids it, and whom to ask. It stays reachable, so that all can read it. */
  readonly forbidden?: string | undefined;
  /** While what it began goes on. */
  readonly busy?: boolean;
  readonly label?: string;
}

/** A button says what happens. One that may not be pressed says why. */
export function Button({ children, onClick, kind, small, type = 'button', forbidden, busy, label }: ButtonProps) {
  const off = forbidden !== undefined || busy === true;
  return (
    <button
      type={type}
      className={`button ${kind ?? ''} ${small ? 'small' : ''}`}
      aria-disabled={off}
      aria-busy={busy}
      aria-label={label}
      title={forbidden}
      aria-description={forbidden}
      onClick={(event) => {
        if (off) event.preventDefault();
        else onClick?.();
      }}
    >
      {children}
    </button>
  );
}
