import type { LucideIcon } from 'lucide-react';
import { type ReactNode, useRef } from 'react';

export interface ButtonProps {
  readonly children: ReactNode;
  readonly onClick?: () => void;
  readonly kind?: 'primary' | 'danger' | 'danger primary' | 'quiet';
  readonly small?: boolean;
  readonly type?: 'button' | 'submit';
  readonly icon?: LucideIcon;
  /** Why it cannot be pressed now: the rule that forbids it, and whom to ask. It stays focusable, so that all can read it. */
  readonly forbidden?: string | undefined;
  /** Shown below the reason. */
  readonly why?: ReactNode;
  /** While what it began goes on. */
  readonly busy?: boolean;
  readonly label?: string;
}

/** A button says what happens. One that may not be pressed says why: on pointing at it, to who hears it, and when it is pressed. */
export function Button({
  children,
  onClick,
  kind,
  small,
  type = 'button',
  icon: Shape,
  forbidden,
  why,
  busy,
  label,
}: ButtonProps) {
  const off = forbidden !== undefined || busy === true;
  const reason = useRef<HTMLDivElement>(null);
  return (
    <>
      <button
        type={type}
        className={`button ${kind ?? ''} ${small ? 'small' : ''}`}
        aria-disabled={off}
        aria-busy={busy}
        aria-label={label}
        title={forbidden}
        aria-description={forbidden}
        onClick={(event) => {
          if (!off) return onClick?.();
          event.preventDefault();
          if (reason.current !== null) showBelow(reason.current, event.currentTarget);
        }}
      >
        {Shape === undefined ? null : <Shape size={small ? 14 : 16} aria-hidden="true" />}
        {children}
      </button>
      {forbidden === undefined ? null : (
        <div ref={reason} popover="auto" className="popup reason stack-tight" role="status">
          <p>{forbidden}</p>
          {why}
        </div>
      )}
    </>
  );
}

/** Opens what is hidden below an element, wholly within the window. A click elsewhere and Escape close it. */
function showBelow(hidden: HTMLElement, element: HTMLElement): void {
  hidden.showPopover();
  const { left, bottom, top } = element.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = hidden;
  const fits = bottom + 6 + height <= innerHeight;
  hidden.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  hidden.style.top = `${fits ? bottom + 6 : Math.max(8, top - height - 6)}px`;
}
