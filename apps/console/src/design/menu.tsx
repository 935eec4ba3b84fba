import type { LucideIcon } from 'lucide-react';
import { cloneElement, type ReactElement, type ReactNode, useState } from 'react';

// A fifth of the first load placed popups. A page shows its buttons without that code.
let parts: typeof import('./menu-parts');
const load = async () => {
  parts ??= await import('./menu-parts');
};

export interface MenuProps {
  readonly button: ReactElement<Record<string, unknown>>;
  /** As wide as its button. */
  readonly wide?: boolean;
  readonly side?: 'bottom' | 'top';
  readonly children: ReactNode;
}

/** What a button opens: a few things to do or to choose. */
export function Menu(props: MenuProps) {
  const { button } = props;
  const [isLoaded, setLoaded] = useState(() => parts !== undefined);
  const [isPressed, setPressed] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  if (isLoaded) {
    // The button is another element from here on, and keeps the focus.
    const here = cloneElement(button, { autoFocus: hasFocus });
    return <parts.Menu {...props} button={here} opensAtOnce={isPressed} />;
  }
  const prepare = () => void load().then(() => setLoaded(true));
  return cloneElement(button, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: prepare,
    onFocus: () => {
      setFocus(true);
      prepare();
    },
    onBlur: () => setFocus(false),
    onClick: () => {
      setPressed(true);
      prepare();
    },
  });
}

export interface MenuItemProps {
  readonly icon?: LucideIcon;
  readonly danger?: boolean;
  readonly onClick?: () => void;
  /** The link that it is, in place of an action. */
  readonly link?: ReactElement;
  readonly children: ReactNode;
}

export interface MenuGroupProps {
  readonly label: string;
  readonly children: ReactNode;
}

export interface MenuChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string; readonly icon?: LucideIcon }[];
  readonly onChange: (value: Value) => void;
}

/** One line of a menu. */
export const MenuItem = (props: MenuItemProps) => <parts.MenuItem {...props} />;

/** Lines with a name above them. */
export const MenuGroup = (props: MenuGroupProps) => <parts.MenuGroup {...props} />;

/** A line between groups. */
export const MenuRule = () => <parts.MenuRule />;

/** One of a few, chosen in a menu. */
export const MenuChoice = <Value extends string>(props: MenuChoiceProps<Value>) => <parts.MenuChoice {...props} />;
