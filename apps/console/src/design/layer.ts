import { createContext, type RefObject, useContext } from 'react';

/** The dialog that is open: what pops up within it must be part of it, because all else lies below it and is inert. */
export const LayerContext = createContext<RefObject<HTMLElement | null> | undefined>(undefined);

/** Where menus, pickers and hints are put into the page. */
export const useLayer = () => useContext(LayerContext);
