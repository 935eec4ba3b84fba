import { keepPreviousData, type UseQueryResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { dataOf, type Transport } from '../api/transport';
import { type WorkspacesApi, workspacesApi } from '../api/workspaces';
import { useSession } from '../shell/session';

/** The result of a client call: the document, or the errors. */
export interface ApiAnswer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Reads responses that contain values of users, without loss of digits in numbers. For use with `useRead`. */
export const exactly = async <T>(transport: Transport, path: string): Promise<ApiAnswer<T>> => ({
  data: await transport.call<T>('GET', path),
  response: new Response(),
});

/** A call whose result is not used, such as a deletion. */
export type ApiCall = (api: WorkspacesApi) => Promise<ApiAnswer<unknown>>;

/**
 * Reads from `/api/v2`; returns the whole document. The key is the address and its query. With `keeps`, the data of the
 * last page is kept while the next page loads.
 */
export function useRead<T>(
  key: readonly unknown[],
  read: (api: WorkspacesApi, transport: Transport) => Promise<ApiAnswer<T>>,
  options: {
    readonly enabled?: boolean;
    readonly everyMs?: number;
    /** Polls while this is true. */
    readonly asLongAs?: (answer: T) => boolean;
    readonly keeps?: boolean;
  } = {},
): UseQueryResult<T> {
  const { transport } = useSession();
  const { everyMs = false, asLongAs } = options;
  return useQuery<T>({
    queryKey: ['api', ...key],
    queryFn: () => dataOf(read(workspacesApi(transport), transport)),
    enabled: options.enabled ?? true,
    refetchInterval: ({ state: { data } }) => (data === undefined || (asLongAs?.(data) ?? true) ? everyMs : false),
    ...(options.keeps ? { placeholderData: keepPreviousData as never } : {}),
  });
}

/** Reads states and plans at addresses from other resources. The data is dropped as soon as no page shows it. */
export function useContent<T>(path: string | undefined) {
  const { transport } = useSession();
  return useQuery({
    queryKey: ['content', path],
    enabled: path !== undefined,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: () => transport.call<T>('GET', `/api/v2/${path}`),
  });
}

/** Changes something below `/api/v2` and then reads everything again. */
export function useChange<T, Input = void>(
  change: (api: WorkspacesApi, input: Input) => Promise<ApiAnswer<T>>,
  onDone?: (answer: T, input: Input) => void,
) {
  const { transport } = useSession();
  const queries = useQueryClient();
  return useMutation<T, Error, Input>({
    mutationFn: (input) => dataOf(change(workspacesApi(transport), input)),
    onSuccess: async (answer, input) => {
      onDone?.(answer, input);
      await queries.invalidateQueries({ queryKey: ['api'] });
    },
  });
}

/** The included resource that a relationship refers to. */
export function includedOf<Kind extends { type: string; id: string }, Type extends string>(
  included: readonly Kind[] | undefined,
  relationship: { readonly data: { readonly type: Type; readonly id: string } | null } | undefined,
): Extract<Kind, { type: Type }> | undefined {
  const { type, id } = relationship?.data ?? {};
  const isNamed = (one: Kind): one is Extract<Kind, { type: Type }> => one.type === type && one.id === id;
  return included?.find(isNamed);
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

/** The breadcrumbs of an organization's page. */
export function organizationCrumbs(organization: string, ...more: { label: string; to?: string }[]) {
  return [
    { label: 'Organizations', to: '/' },
    { label: organization, to: `/organizations/${encodeURIComponent(organization)}` },
    ...more,
  ];
}

/** Why a button is disabled; undefined if it is enabled. `may` is undefined while the permission is not known. */
export function rule(may: boolean | undefined, permission: string, whom = 'an owner'): string | undefined {
  if (may === true) return undefined;
  return may === undefined ? 'Not known yet.' : `Needs ${permission}, which none of your teams has. Ask ${whom}.`;
}
