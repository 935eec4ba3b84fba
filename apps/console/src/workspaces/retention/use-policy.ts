import type { UseQueryResult } from '@tanstack/react-query';
import type { WorkspacesApi } from '../../api/workspaces';
import { type ApiAnswer, useRead } from '../api';

/** A retention policy that is in force; null if there is none. */
export function usePolicy<T>(
  key: readonly unknown[],
  read: (api: WorkspacesApi) => Promise<ApiAnswer<{ readonly data: T }>>,
): UseQueryResult<{ readonly data: T | null }> {
  return useRead<{ readonly data: T | null }>(key, async (api) => {
    const answer = await read(api);
    return answer.response.status === 404 ? { data: { data: null }, response: new Response() } : answer;
  });
}
