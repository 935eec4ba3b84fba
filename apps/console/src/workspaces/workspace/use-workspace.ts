import { useParams } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { useRead } from '../api';

export type Workspace = Resource<'WorkspacesResource'>;

/** The workspace that the address names. */
export function useWorkspace() {
  const { organization: org = '', workspace: ws = '' } = useParams({ strict: false }) as Record<string, string>;
  const { data, error, refetch } = useRead(['workspace', org, ws], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/workspaces/{name}', {
      params: {
        path: { organization_name: org, name: ws },
        query: { include: 'current_run,project,readme,locked_by' },
      },
    }),
  );
  const to = `/organizations/${encodeURIComponent(org)}/workspaces/${encodeURIComponent(ws)}`;
  return { error, refetch, org, ws, to, workspace: data?.data ?? undefined, included: data?.included };
}
