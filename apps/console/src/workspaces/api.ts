import { type UseQueryResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { taken } from '../api/transport';
import { type WorkspacesApi, workspacesApi } from '../api/workspaces';
import { useSession } from '../shell/session';

interface Sent<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Reads `/api/v2`; answers the whole document. The key is the address and its query. */
export function useRead<T>(
  key: readonly unknown[],
  read: (api: WorkspacesApi) => Promise<Sent<T>>,
  options: { readonly enabled?: boolean; readonly everyMs?: number } = {},
): UseQueryResult<T> {
  const { transport } = useSession();
  return useQuery<T>({
    queryKey: ['api', ...key],
    queryFn: () => taken(read(workspacesApi(transport))),
    enabled: options.enabled ?? true,
    refetchInterval: options.everyMs ?? false,
  });
}

/** Changes something below `/api/v2`; afterwards what was read is read again. */
export function useChange<T, Input = void>(
  change: (api: WorkspacesApi, input: Input) => Promise<Sent<T>>,
  onDone?: (answer: T, input: Input) => void,
) {
  const { transport } = useSession();
  const queries = useQueryClient();
  return useMutation<T, Error, Input>({
    mutationFn: (input) => taken(change(workspacesApi(transport), input)),
    onSuccess: async (answer, input) => {
      onDone?.(answer, input);
      await queries.invalidateQueries({ queryKey: ['api'] });
    },
  });
}

/** The organization that the address names. */
export function useOrganizationName(): string {
  return (useParams({ strict: false }) as { organization?: string }).organization ?? '';
}

/** The organization that the address names, and what the caller may do in it. */
export function useOrganization() {
  const name = useOrganizationName();
  return useRead(['organizations', name], (api) =>
    api.GET('/api/v2/organizations/{organization_name}', { params: { path: { organization_name: name } } }),
  );
}

/** The crumbs above a page of an organization. */
export function organizationCrumbs(organization: string, ...more: { label: string; to?: string }[]) {
  return [
    { label: 'Organizations', to: '/' },
    { label: organization, to: `/organizations/${encodeURIComponent(organization)}` },
    ...more,
  ];
}

/** Why a button may not be pressed; undefined where it may. `may` is undefined while nobody has said yet. */
export function rule(may: boolean | undefined, permission: string, whom = 'an owner'): string | undefined {
  if (may === true) return undefined;
  return may === undefined ? 'Not known yet.' : `Needs ${permission}, which none of your teams has. Ask ${whom}.`;
}
