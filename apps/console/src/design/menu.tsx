import { cloneElement, createContext, useContext, useState } from 'react';
import type { MenuChoiceProps, MenuGroupProps, MenuItemProps, MenuProps } from './menu-parts';

type MenuParts = typeof import('./menu-parts');

const PartsContext = createContext<MenuParts | undefined>(undefined);
const useParts = (): MenuParts => useContext(PartsContext)!;

/**
 * What a button opens: a few things to do or to choose. A fifth of the first load placed popups: that code comes when a
 * pointer or the keyboard first comes near the button.
 */
export function Menu(props: MenuProps) {
  const { button } = props;
  const [parts, setParts] = useState<MenuParts>();
  const [isPressed, setPressed] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  if (parts !== undefined) {
    // The button is another element from here on, and keeps the focus.
    const here = cloneElement(button, { autoFocus: hasFocus });
    return (
      <PartsContext.Provider value={parts}>
        <parts.Menu {...props} button={here} opensAtOnce={isPressed} />
      </PartsContext.Provider>
    );
  }
  // Where it does not come, coming near once more asks again.
  const prepare = () => void import('./menu-parts').then(setParts, () => undefined);
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

/** One line of a menu. */
export function MenuItem(props: MenuItemProps) {
  const parts = useParts();
  return <parts.MenuItem {...props} />;
}

/** Lines with a name above them. */
export function MenuGroup(props: MenuGroupProps) {
  const parts = useParts();
  return <parts.MenuGroup {...props} />;
}

/** A line between groups. */
export function MenuRule() {
  const parts = useParts();
  return <parts.MenuRule />;
}

/** One of a few, chosen in a menu. */
export function MenuChoice<Value extends string>(props: MenuChoiceProps<Value>) {
  const parts = useParts();
  return <parts.MenuChoice {...props} />;
}
