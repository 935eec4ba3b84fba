import { createContext, type RefObject, useContext } from 'react';

/** The open dialog: its popups must be inside it, because everything outside is inert. */
export const LayerContext = createContext<RefObject<HTMLElement | null> | undefined>(undefined);

/** The element that menus, pickers and tooltips are rendered into. */
export const useLayer = () => useContext(LayerContext);
