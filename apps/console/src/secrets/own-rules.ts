import { useSession } from '../shell/session';
import { useRead } from './reads';

type Rules = Readonly<Record<string, { readonly capabilities: readonly string[] }>>;

/** The rules of a token; null for root, who may do everything. */
export interface ResultantRules {
  readonly root: boolean;
  readonly exact_paths: Rules | null;
  readonly glob_paths: Rules | null;
}

interface AllowedPlace {
  /** The path up to the first wildcard. */
  readonly path: string;
  readonly isExact: boolean;
}

/**
 * The paths where the rules of this session allow at least one of these capabilities; undefined while the rules are
 * read.
 */
function useAllowedPlaces(capabilities: readonly string[], enabled: boolean): readonly AllowedPlace[] | undefined {
  const { data } = useRead<ResultantRules>('sys/internal/ui/resultant-acl', { enabled });
  if (data === undefined) return undefined;
  const allowed = (rules: Rules | null, isGlob: boolean): readonly AllowedPlace[] =>
    Object.entries(rules ?? {}).flatMap(([pattern, { capabilities: has }]) => {
      const path = /^[^*+]*/.exec(pattern)![0];
      return capabilities.some((one) => has.includes(one)) ? [{ path, isExact: !isGlob && path === pattern }] : [];
    });
  return [...allowed(data.exact_paths, false), ...allowed(data.glob_paths, true)];
}

/** Whether this session may create something somewhere below a path. True until its rules are read. */
export function useMayCreateBelow(prefix: string): boolean {
  const { session } = useSession();
  const isRoot = session.policies?.includes('root') === true;
  const reached = useAllowedPlaces(['create', 'update'], !isRoot);
  if (isRoot || reached === undefined) return true;
  return reached.some(({ path, isExact }) => path.startsWith(prefix) || (!isExact && prefix.startsWith(path)));
}

/** Secrets that the rules of this session name below a folder of an engine, and folders, which end with a slash. */
export function useNamedBelow(places: readonly string[]): readonly string[] {
  const reached = useAllowedPlaces(['read', 'list'], true) ?? [];
  const names = reached.flatMap(({ path, isExact }) =>
    places
      .filter((place) => path.startsWith(place) && path.length > place.length)
      .map((place) => {
        const name = path.slice(place.length);
        return isExact ? name : name.slice(0, name.lastIndexOf('/') + 1);
      }),
  );
  return [...new Set(names)].filter((name) => name !== '').sort();
}
