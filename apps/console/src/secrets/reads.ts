import { type UseQueryResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../api/api-error';
import type { Transport } from '../api/transport';
import { useSession } from '../shell/session';

/** Reads below `/v1/`; returns the `data` of the envelope. */
export function useRead<T>(
  path: string,
  options: { readonly everyMs?: number; readonly enabled?: boolean } = {},
): UseQueryResult<T> {
  const { transport } = useSession();
  return useQuery<T>({
    queryKey: ['v1', path],
    queryFn: async () => (await transport.call<{ data: T }>('GET', `/v1/${path}`)).data,
    refetchInterval: options.everyMs ?? false,
    enabled: options.enabled ?? true,
  });
}

/** Reads a path; null if the service finds nothing there. */
export function useReadOrNone<T>(path: string): UseQueryResult<T | null> {
  const { transport } = useSession();
  return useQuery<T | null>({
    queryKey: ['v1', path, 'or none'],
    queryFn: async () => {
      try {
        return (await transport.call<{ data: T }>('GET', `/v1/${path}`)).data;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });
}

/** Names with their list details. */
export interface Listing<Info = Readonly<Record<string, unknown>>> {
  readonly keys: readonly string[];
  readonly key_info?: Readonly<Record<string, Info>>;
}

/** Lists names with details; empty if there are none. */
export function useListing<Info = Readonly<Record<string, unknown>>>(path: string): UseQueryResult<Listing<Info>> {
  const { transport } = useSession();
  return useQuery({
    queryKey: ['v1', path, 'list'],
    queryFn: () => listed<Info>(transport, path),
  });
}

export function useList(path: string): UseQueryResult<readonly string[]> {
  const { transport } = useSession();
  return useQuery<Listing, Error, readonly string[]>({
    queryKey: ['v1', path, 'list'],
    queryFn: () => listed(transport, path),
    select: ({ keys }) => keys,
  });
}

/** Lists names once without caching, in a folder or at all depths below it; empty if there are none. */
export async function listed<Info>(
  transport: Transport,
  path: string,
  how: 'list' | 'scan' = 'list',
  more: Readonly<Record<string, string>> = {},
): Promise<Listing<Info>> {
  const query = new URLSearchParams({ [how]: 'true', ...more });
  try {
    return (await transport.call<{ data: Listing<Info> }>('GET', `/v1/${path}?${query}`)).data;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { keys: [] };
    throw error;
  }
}

/** A request below `/v1/` that changes something; afterwards, queries are refetched. */
export interface ChangeCall {
  /** GET is for reads that create a credential. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
}

/** Sends a `ChangeCall`. Returns the whole envelope, which may contain secrets, so only the calling page keeps it. */
export function useChange<T = unknown>(onDone?: (answer: T, change: ChangeCall) => void) {
  const { transport } = useSession();
  const queries = useQueryClient();
  return useMutation<T, Error, ChangeCall>({
    gcTime: 0,
    mutationFn: ({ method, path, body }) =>
      transport.call<T>(
        method,
        `/v1/${path}`,
        body,
        method === 'PATCH' ? { 'Content-Type': 'application/merge-patch+json' } : {},
      ),
    onSuccess: async (answer, change) => {
      await queries.invalidateQueries({ queryKey: ['v1'] });
      onDone?.(answer, change);
    },
  });
}

/** Encodes each segment of a path for a URL. */
export const encodedPath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
