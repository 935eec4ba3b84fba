import { useNavigate, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { taken } from '../api/transport';
import { workspacesApi } from '../api/workspaces';
import type { Find } from '../shell/palette';
import { useSession } from '../shell/session';

const few = 8;

/** What the palette finds: organizations, and workspaces of the one that is looked at. */
export function useFind(): Find {
  const { transport } = useSession();
  const navigate = useNavigate();
  const { organization = '' } = useParams({ strict: false }) as { organization?: string };
  return useCallback(
    async (text) => {
      const api = workspacesApi(transport);
      const page = { 'page[size]': few };
      const [organizations, workspaces] = await Promise.all([
        taken(api.GET('/api/v2/organizations', { params: { query: { q: text, ...page } } })),
        organization === ''
          ? undefined
          : taken(
              api.GET('/api/v2/organizations/{organization_name}/workspaces', {
                params: { path: { organization_name: organization }, query: { 'search[name]': text, ...page } },
              }),
            ),
      ]);
      const way = (...names: string[]) => names.map((name) => `/${encodeURIComponent(name)}`).join('');
      return [
        ...(workspaces?.data ?? []).map(({ attributes: { name } }) => ({
          label: name,
          group: `Workspaces of ${organization}`,
          run: () => void navigate({ to: `/organizations${way(organization)}/workspaces${way(name)}` }),
        })),
        ...organizations.data.map(({ attributes: { name } }) => ({
          label: name,
          group: 'Organizations',
          run: () => void navigate({ to: `/organizations${way(name)}` }),
        })),
      ];
    },
    [transport, navigate, organization],
  );
}
