import { useParams } from '@tanstack/react-router';
import {
  Archive,
  Boxes,
  Building2,
  CircleUserRound,
  FileKey,
  FolderKanban,
  GitBranch,
  KeyRound,
  Network,
  Package,
  Play,
  Scale,
  ScrollText,
  Server,
  Settings,
  ShieldCheck,
  Telescope,
  UserRound,
  UsersRound,
  Variable,
} from 'lucide-react';
import { useMemo } from 'react';
import type { NavGroup } from '../shell/navigation';
import { useSession } from '../shell/session';
import { useRead } from './api';

/** The pages of one organization, in the order of the rail; each below `/organizations/<name>`. */
const organizationPages = [
  {
    items: [
      { label: 'Workspaces', icon: Boxes, path: '', key: 'w' },
      { label: 'Runs', icon: Play, path: '/runs', key: 'r' },
      { label: 'Explorer', icon: Telescope, path: '/explorer', key: 'e' },
      { label: 'Projects', icon: FolderKanban, path: '/projects', key: 'p' },
      { label: 'Variable sets', icon: Variable, path: '/varsets', key: 'v' },
      { label: 'Registry', icon: Package, path: '/registry', key: 'y' },
      { label: 'Policies', icon: Scale, path: '/policies', key: 'i' },
    ],
  },
  {
    label: 'Access',
    items: [
      { label: 'Teams', icon: UsersRound, path: '/teams', key: 't' },
      { label: 'Members', icon: UserRound, path: '/members', key: 'm' },
      { label: 'API tokens', icon: KeyRound, path: '/tokens' },
      { label: 'SSH keys', icon: FileKey, path: '/ssh-keys' },
      { label: 'IP allowlists', icon: Network, path: '/addresses' },
    ],
  },
  {
    label: 'Organization',
    items: [
      { label: 'Version control', icon: GitBranch, path: '/version-control' },
      { label: 'Agents', icon: Server, path: '/agents' },
      { label: 'Retention', icon: Archive, path: '/retention' },
      { label: 'Audit', icon: ScrollText, path: '/audit', key: 'a' },
      { label: 'Settings', icon: Settings, path: '/settings', key: 's' },
    ],
  },
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
  const isAdmin = session['is-site-admin'] === true;
  return useMemo(() => {
    const below = `/organizations/${encodeURIComponent(organization ?? '')}`;
    const own = organization === undefined ? [] : organizationPages;
    return [
      ...own.map(({ items, ...group }) => ({
        ...group,
        items: items.map(({ path, ...page }) => ({
          ...page,
          to: below + path,
          // Every page of an organization is below its list of workspaces.
          exact: path === '' && workspace === undefined,
          count: path === '/runs' ? waiting : undefined,
        })),
      })),
      {
        label: 'You',
        items: [
          { label: 'Organizations', icon: Building2, to: '/', key: 'o' },
          { label: 'Account', icon: CircleUserRound, to: '/account', key: 'u' },
          ...(isAdmin ? [{ label: 'Administration', icon: ShieldCheck, to: '/admin', key: 'd' }] : []),
        ],
      },
    ];
  }, [organization, workspace, waiting, isAdmin]);
}
