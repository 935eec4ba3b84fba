import { type UseQueryResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../api/api-error';
import type { Transport } from '../api/transport';
import { useSession } from '../shell/session';

/** Reads below `/v1/`; answers the `data` of the envelope. */
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

/** Names, and what a list says about each. */
export interface Listing<Info = Readonly<Record<string, unknown>>> {
  readonly keys: readonly string[];
  readonly key_info?: Readonly<Record<string, Info>>;
}

/** Lists names with what is said about each; none if there is nothing to list. */
export function useListing<Info = Readonly<Record<string, unknown>>>(path: string): UseQueryResult<Listing<Info>> {
  const { transport } = useSession();
  return useQuery({
    queryKey: ['v1', path, 'list'],
    queryFn: () => listed<Info>(transport, path),
  });
}

/** Lists only the names. */
export function useList(path: string): UseQueryResult<readonly string[]> {
  const { transport } = useSession();
  return useQuery<Listing, Error, readonly string[]>({
    queryKey: ['v1', path, 'list'],
    queryFn: () => listed(transport, path),
    select: ({ keys }) => keys,
  });
}

/** Lists names once, directly in a folder or at any depth; none if there is nothing to list. */
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

/** One change below `/v1/`; afterwards what was read is read again. */
export interface ChangeCall {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
}

/** Sends changes; answers the whole envelope. */
export function useChange<T = unknown>(onDone?: (answer: T, change: ChangeCall) => void) {
  const { transport } = useSession();
  const queries = useQueryClient();
  return useMutation<T, Error, ChangeCall>({
    mutationFn: ({ method, path, body }) => transport.call<T>(method, `/v1/${path}`, body),
    onSuccess: async (answer, change) => {
      await queries.invalidateQueries({ queryKey: ['v1'] });
      onDone?.(answer, change);
    },
  });
}

/** A path as written in an address: each part encoded, slashes kept. */
export const encodedPath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
