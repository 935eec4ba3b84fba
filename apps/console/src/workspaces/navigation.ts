import { useParams } from '@tanstack/react-router';
import type { NavGroup } from '../shell/frame';
import { useSession } from '../shell/session';

/** The pages of one organization, in the order of the rail; each below `/organizations/<name>`. */
const organizationPages = [
  { label: 'Projects', path: '/projects', key: 'p' },
  { label: 'Teams', path: '/teams', key: 't' },
  { label: 'Members', path: '/members', key: 'm' },
  { label: 'Tokens', path: '/tokens' },
  { label: 'SSH keys', path: '/ssh-keys' },
  { label: 'Agents', path: '/agents' },
  { label: 'Retention', path: '/retention' },
  { label: 'Audit', path: '/audit', key: 'a' },
  { label: 'Settings', path: '/settings', key: 's' },
] as const;

/** Where one can go from here: the organization that the address names, and what is everybody's own. */
export function useNavigation(): readonly NavGroup[] {
  const { organization } = useParams({ strict: false }) as { organization?: string };
  const { session } = useSession();
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
          { label: organization, items: organizationPages.map(({ path, ...page }) => ({ ...page, to: below + path })) },
        ]),
    { label: 'You', items: own },
  ];
}
