import { cloneElement, createContext, type PointerEvent, useContext, useState } from 'react';
import type { MenuChoiceProps, MenuGroupProps, MenuItemProps, MenuProps } from './menu-parts';

type MenuParts = typeof import('./menu-parts');

const PartsContext = createContext<MenuParts | undefined>(undefined);
const useParts = (): MenuParts => useContext(PartsContext)!;

/**
 * A menu of a few actions or choices. The code that places popups would be a fifth of the first load, so it is loaded
 * when the user first hovers over or focuses the button.
 */
export function Menu(props: MenuProps) {
  const { button } = props;
  const [parts, setParts] = useState<MenuParts>();
  const [isPressed, setPressed] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  if (parts !== undefined) {
    // The loaded menu replaces the button element, so move the focus.
    const here = cloneElement(button, { autoFocus: hasFocus });
    return (
      <PartsContext.Provider value={parts}>
        <parts.Menu {...props} button={here} opensAtOnce={isPressed} />
      </PartsContext.Provider>
    );
  }
  // If loading fails, the next hover or focus retries.
  const prepare = () => void import('./menu-parts').then(setParts, () => undefined);
  const press = () => {
    setPressed(true);
    prepare();
  };
  return cloneElement(button, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: prepare,
    onFocus: () => {
      setFocus(true);
      prepare();
    },
    onBlur: () => setFocus(false),
    // Open when the press starts: if the button is replaced before the press ends, the browser sends no click.
    onPointerDown: ({ button: pressed }: PointerEvent) => {
      if (pressed === 0) press();
    },
    onClick: press,
  });
}

export function MenuItem(props: MenuItemProps) {
  const parts = useParts();
  return <parts.MenuItem {...props} />;
}

/** Items with a heading. */
export function MenuGroup(props: MenuGroupProps) {
  const parts = useParts();
  return <parts.MenuGroup {...props} />;
}

/** A separator between groups. */
export function MenuRule() {
  const parts = useParts();
  return <parts.MenuRule />;
}

/** A choice of one option in a menu. */
export function MenuChoice<Value extends string>(props: MenuChoiceProps<Value>) {
  const parts = useParts();
  return <parts.MenuChoice {...props} />;
}
