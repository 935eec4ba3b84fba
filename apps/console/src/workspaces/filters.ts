import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

/** Reads the named filters from an address, as strings, and ignores everything else. */
export function keeps<Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown>): { [name in Name]?: string } => {
    const filters: { [name in Name]?: string } = {};
    for (const name of names) {
      const value = search[name];
      if (typeof value === 'string' ? value !== '' : typeof value === 'number' || typeof value === 'boolean') {
        filters[name] = String(value);
      }
    }
    return filters;
  };
}

/**
 * The filters in the address of a page, and how to set them. When a filter changes, the list returns to the first page.
 */
export function useFilters<Name extends string>() {
  const filters = useSearch({ strict: false }) as { readonly [name in Name]?: string };
  const navigate = useNavigate();
  const set = (next: { [name in Name]?: string | undefined }) => {
    const { page, after, ...rest } = filters as Record<string, string>;
    const merged = Object.entries({ ...rest, ...next }).filter(([, value]) => value !== undefined && value !== '');
    void navigate({ to: '.', search: Object.fromEntries(merged) as never, replace: true });
  };
  return [filters, set] as const;
}

/** The parameters in the address of a page, and how to change some; undefined removes one. */
export function useAddress<S extends object>() {
  const search = useSearch({ strict: false }) as S;
  const navigate = useNavigate();
  const change = useCallback(
    (more: { readonly [K in keyof S]?: S[K] | undefined }) =>
      void navigate({ to: '.', search: ((old: object) => ({ ...old, ...more })) as never, replace: true }),
    [navigate],
  );
  return [search, change] as const;
}
