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
import type { Resource } from '../api/workspaces';
import type { NavGroup, NavItem } from '../shell/navigation';
import { useSession } from '../shell/session';
import { useRead } from './api';

interface OrganizationPage extends Omit<NavItem, 'to'> {
  readonly path: string;
  /** The permission without which the page shows only a refusal. */
  readonly needs?: keyof Resource<'OrganizationsResource'>['attributes']['permissions'];
}

/** The pages of one organization, in the order of the rail; each below `/organizations/<name>`. */
const organizationPages: readonly (Omit<NavGroup, 'items'> & { readonly items: readonly OrganizationPage[] })[] = [
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
      { label: 'SSH keys', icon: FileKey, path: '/ssh-keys', needs: 'can-update-ssh-keys' },
      { label: 'IP allowlists', icon: Network, path: '/addresses', needs: 'can-update' },
    ],
  },
  {
    label: 'Organization',
    items: [
      { label: 'Version control', icon: GitBranch, path: '/version-control', needs: 'can-update-oauth' },
      { label: 'Agents', icon: Server, path: '/agents' },
      { label: 'Retention', icon: Archive, path: '/retention' },
      { label: 'Audit', icon: ScrollText, path: '/audit', key: 'a', needs: 'can-update' },
      { label: 'Settings', icon: Settings, path: '/settings', key: 's' },
    ],
  },
];

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
  const found = useRead(
    ['organizations', organization],
    (api) =>
      api.GET('/api/v2/organizations/{organization_name}', {
        params: { path: { organization_name: organization ?? '' } },
      }),
    { enabled: organization !== undefined },
  );
  const permissions = found.data?.data?.attributes.permissions;
  const waiting = counts.data?.data?.attributes['needs-confirmation'];
  const isAdmin = session['is-site-admin'] === true;
  return useMemo(() => {
    const below = `/organizations/${encodeURIComponent(organization ?? '')}`;
    const own = organization === undefined ? [] : organizationPages;
    return [
      ...own.map(({ items, ...group }) => ({
        ...group,
        items: items
          .filter(({ needs }) => needs === undefined || permissions?.[needs] !== false)
          .map(({ path, ...page }) => ({
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
  }, [organization, workspace, waiting, permissions, isAdmin]);
}
