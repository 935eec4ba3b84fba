import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSession } from '../../shell/session';
import type { Many, One } from './documents';

const root = '/api/v2/';
const jsonApi = 'application/vnd.api+json';

/** Reads one resource; nothing while there is no path. */
export function useOne<A>(path: string | undefined) {
  const { transport } = useSession();
  return useQuery({
    queryKey: [path],
    enabled: path !== undefined,
    queryFn: () => transport.call<One<A>>('GET', root + path, undefined, { Accept: jsonApi }),
  });
}

/** Reads a list; what was there stays while another page of it comes. */
export function useMany<A>(path: string | undefined) {
  const { transport } = useSession();
  return useQuery({
    queryKey: [path],
    enabled: path !== undefined,
    placeholderData: keepPreviousData,
    queryFn: () => transport.call<Many<A>>('GET', root + path, undefined, { Accept: jsonApi }),
  });
}

/** Reads what is no JSON:API document; kept nowhere once nobody looks at it. */
export function useContent<T>(path: string | undefined) {
  const { transport } = useSession();
  return useQuery({
    queryKey: ['content', path],
    enabled: path !== undefined,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: () => transport.call<T>('GET', root + path),
  });
}

/** Something that can be done: `run` does it, and all that is shown is read anew. */
export interface Action<I, R> {
  run(input: I): void;
  /** The same, to be waited for. */
  done(input: I): Promise<R>;
  readonly busy: boolean;
  readonly error: unknown;
  readonly result: R | undefined;
  forget(): void;
}

export interface Sent {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

/** Sends what `make` says for an input. */
export function useSend<I = void, A = Readonly<Record<string, unknown>>>(
  make: (input: I) => Sent,
  after?: (answer: One<A>, input: I) => void,
): Action<I, One<A>> {
  const { transport } = useSession();
  const queries = useQueryClient();
  const mutation = useMutation({
    mutationFn: (input: I) => {
      const { method, path, body } = make(input);
      const headers = { Accept: jsonApi, ...(body === undefined ? {} : { 'Content-Type': jsonApi }) };
      return transport.call<One<A>>(method, root + path, body, headers);
    },
    onSuccess: async (answer, input) => {
      after?.(answer, input);
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'content' });
    },
  });
  return {
    run: (input) => mutation.mutate(input),
    done: (input) => mutation.mutateAsync(input),
    busy: mutation.isPending,
    error: mutation.error,
    result: mutation.data,
    forget: () => mutation.reset(),
  };
}
