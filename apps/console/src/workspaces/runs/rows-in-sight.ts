import { type RefObject, useEffect, useState } from 'react';

/** The height of a log line in pixels. */
export const rowHeight = 20;
const around = 20;

/**
 * Which of `count` rows of equal height are in sight, with a few rows before and after: from `first` up to but not
 * including `last`. The height is fixed, because measuring would have to visit all rows whenever one is added.
 */
export function useRowsInSight(
  frame: RefObject<HTMLElement | null>,
  count: number,
): { readonly first: number; readonly last: number } {
  const [{ top, rows }, setSight] = useState({ top: 0, rows: 60 });
  const isThere = count > 0;
  useEffect(() => {
    const element = frame.current;
    if (!isThere || element === null) return undefined;
    const look = () => {
      const visible = {
        top: Math.floor(element.scrollTop / rowHeight),
        rows: Math.ceil(element.clientHeight / rowHeight) + 1,
      };
      setSight((before) => (before.top === visible.top && before.rows === visible.rows ? before : visible));
    };
    look();
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [frame, isThere]);
  return { first: Math.max(0, Math.min(top, count) - around), last: Math.min(count, top + rows + around) };
}
