import { type LucideIcon, Plus } from 'lucide-react';
import { type ReactNode, useRef } from 'react';

export interface ButtonProps {
  readonly children: ReactNode;
  readonly onClick?: () => void;
  readonly kind?: 'primary' | 'danger' | 'danger primary' | 'quiet';
  readonly small?: boolean;
  readonly type?: 'button' | 'submit';
  readonly icon?: LucideIcon;
  /**
   * Why the button is disabled: the rule, and whom to ask. The button stays focusable, so that everyone can read this.
   */
  readonly forbidden?: string | undefined;
  /** Additional explanation, shown below `forbidden`. */
  readonly why?: ReactNode;
  /** True while the action of the button runs. */
  readonly busy?: boolean;
  readonly label?: string;
}

/**
 * A button named after its action. A disabled button explains why it is disabled, on hover, on press and to screen
 * readers.
 */
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

/** The button that creates an item of the list on a page or in a section. The form has the same words. */
export const CreateButton = (props: Omit<ButtonProps, 'kind' | 'icon' | 'small' | 'type'>) => (
  <Button {...props} kind="primary" icon={Plus} />
);

/** Opens a popover below an element, kept within the window. A click elsewhere or Escape closes it. */
function showBelow(hidden: HTMLElement, element: HTMLElement): void {
  hidden.showPopover();
  const { left, bottom, top } = element.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = hidden;
  const fits = bottom + 6 + height <= innerHeight;
  hidden.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  hidden.style.top = `${fits ? bottom + 6 : Math.max(8, top - height - 6)}px`;
}
