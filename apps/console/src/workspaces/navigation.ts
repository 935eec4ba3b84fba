import { useParams } from '@tanstack/react-router';
import type { NavGroup } from '../shell/navigation';
import { useSession } from '../shell/session';
import { useRead } from './api';

/** The pages of one organization, in the order of the rail; each below `/organizations/<name>`. */
const organizationPages = [
  { label: 'Workspaces', path: '', key: 'w' },
  { label: 'Runs', path: '/runs', key: 'r' },
  { label: 'Variable sets', path: '/varsets', key: 'v' },
  { label: 'Projects', path: '/projects', key: 'p' },
  { label: 'Teams', path: '/teams', key: 't' },
  { label: 'Members', path: '/members', key: 'm' },
  { label: 'Tokens', path: '/tokens' },
  { label: 'SSH keys', path: '/ssh-keys' },
  { label: 'Version control', path: '/version-control' },
  { label: 'Agents', path: '/agents' },
  { label: 'Retention', path: '/retention' },
  { label: 'Audit', path: '/audit', key: 'a' },
  { label: 'Settings', path: '/settings', key: 's' },
] as const;

/** The navigation: the organization that the address names, and the person's own pages. */
export function useNavigation(): readonly NavGroup[] {
  const { organization, workspace } = useParams({ strict: false }) as { organization?: string; workspace?: string };
  const { session } = useSession();
  const counts = useRead(
    ['run-counts', organization],
    (api) =>
      api.GET('/api/v2/organizations/{organization_name}/run-counts', {
        params: { path: { organization_name: organization ?? '' } },
      }),
    { enabled: organization !== undefined },
  );
  const waiting = counts.data?.data?.attributes['needs-confirmation'];
  const below = `/organizations/${encodeURIComponent(organization ?? '')}`;
  const own = [
    { label: 'Account', to: '/account', key: 'u' },
    ...(session['is-site-admin'] ? [{ label: 'Administration', to: '/admin', key: 'd' }] : []),
  ];
  return [
    { items: [{ label: 'Organizations', to: '/', key: 'o' }] },
    ...(organization === undefined
      ? []
      : [
          {
            label: organization,
            items: organizationPages.map(({ path, ...page }) => ({
              ...page,
              to: below + path,
              // Every page of an organization is below its list of workspaces.
              exact: path === '' && workspace === undefined,
              count: path === '/runs' ? waiting : undefined,
            })),
          },
        ]),
    { label: 'You', items: own },
  ];
}
