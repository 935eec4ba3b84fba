import { useSyncExternalStore } from 'react';
import { useSession } from '../../shell/session';

/**
 * A remembered workspace of an organization. It is identified by its id, so that it is still found after it was
 * renamed.
 */
export interface Mark {
  readonly id: string;
  readonly name: string;
}
interface Marks {
  readonly favourites: readonly Mark[];
  /** Recently opened workspaces, newest first. */
  readonly recent: readonly Mark[];
}

const mostRecent = 6;
const mostFavourites = 50;
const none: Marks = { favourites: [], recent: [] };
const listeners = new Set<() => void>();
/** Parsed values by key, so that parsing the same text again returns the same object. */
const parsed = new Map<string, { readonly text: string; readonly marks: Marks }>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}

function read(key: string): Marks {
  const text = localStorage.getItem(key);
  if (text === null) return none;
  const cached = parsed.get(key);
  if (cached?.text === text) return cached.marks;
  let marks = none;
  try {
    marks = { ...none, ...(JSON.parse(text) as Partial<Marks>) };
  } catch {
    // Unreadable text is treated as missing.
  }
  parsed.set(key, { text, marks });
  return marks;
}

/** Favourite and recent workspaces of the signed-in person, in one organization. Stored only in this browser. */
export function useMarks(org: string) {
  const { session } = useSession();
  const key = `keystead-workspaces ${session.name} ${org}`;
  const marks = useSyncExternalStore(subscribe, () => read(key));
  const write = (next: Partial<Marks>) => {
    localStorage.setItem(key, JSON.stringify({ ...read(key), ...next }));
    for (const listener of listeners) listener();
  };
  const isFavourite = (id: string) => marks.favourites.some((one) => one.id === id);
  return {
    ...marks,
    isFavourite,
    toggle: ({ id, name }: Mark) =>
      write({
        favourites: isFavourite(id)
          ? marks.favourites.filter((one) => one.id !== id)
          : [...marks.favourites, { id, name }].slice(-mostFavourites),
      }),
    /** Remembers an opened workspace and its current name. */
    opened: ({ id, name }: Mark) => {
      const { recent, favourites } = read(key);
      if (recent[0]?.id === id && recent[0].name === name) return;
      write({
        recent: [{ id, name }, ...recent.filter((one) => one.id !== id)].slice(0, mostRecent),
        favourites: favourites.map((one) => (one.id === id ? { id, name } : one)),
      });
    },
    /** Removes workspaces that no longer exist. */
    forget: (ids: readonly string[]) => {
      const { recent, favourites } = read(key);
      const remaining = (all: readonly Mark[]) => all.filter(({ id }) => !ids.includes(id));
      write({ recent: remaining(recent), favourites: remaining(favourites) });
    },
  };
}
