import { useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useRef } from 'react';
import type { NavItem } from './navigation';

/** The maximum time between `g` and the letter of a page. */
const pauseMs = 1000;

/**
 * Handles the keyboard shortcuts of all pages, except while the user types in a field. `take` returns the text that was
 * typed before the palette had the focus, and clears it.
 */
export function useShortcuts(
  items: readonly NavItem[],
  open: { readonly palette: () => void; readonly keys: () => void },
): { readonly take: () => string } {
  // The text that is typed between the shortcut of the palette and the moment when its field has the focus.
  const ahead = useRef<string>(undefined);
  const navigate = useNavigate();
  useEffect(() => {
    let prefixAtMs = 0;
    const pressed = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key === 'k') {
        event.preventDefault();
        ahead.current = '';
        open.palette();
        return;
      }
      const at = event.target as HTMLElement;
      if (ahead.current !== undefined && event.key.length === 1) {
        event.preventDefault();
        ahead.current += event.key;
        return;
      }
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || at.isContentEditable;
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping || at.closest('[role=menu]') !== null) return;
      if (event.key === '?') open.keys();
      else if (event.key === '/') {
        const search = document.querySelector<HTMLInputElement>('main input[type=search]');
        if (search !== null) {
          event.preventDefault();
          search.focus();
        }
      } else if (event.key === 'j' || event.key === 'k') step(event.key === 'j' ? 1 : -1);
      else if (event.key === 'g') prefixAtMs = event.timeStamp;
      else if (event.timeStamp - prefixAtMs < pauseMs) {
        const item = items.find(({ key }) => key === event.key);
        if (item !== undefined) void navigate({ to: item.to });
        prefixAtMs = 0;
      }
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [navigate, items, open]);
  return useMemo(
    () => ({
      take: () => {
        const typed = ahead.current ?? '';
        ahead.current = undefined;
        return typed;
      },
    }),
    [],
  );
}

/** Moves to the next or the previous row of the list on the page, by focusing the first link in the row. */
function step(by: number): void {
  const rows = [...document.querySelectorAll('main :is(.table tbody tr, .list > li, [role=listitem])')].flatMap(
    (row) => row.querySelector<HTMLElement>('a[href]') ?? [],
  );
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next]?.focus();
}
