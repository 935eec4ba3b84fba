import type { NavGroup } from '../shell/navigation';

/** The pages of the rail. */
export const navigation: readonly NavGroup[] = [
  {
    items: [
      { label: 'Overview', to: '/', key: 'o' },
      { label: 'Secrets', to: '/secrets', key: 's' },
      { label: 'Leases', to: '/leases', key: 'l' },
      { label: 'Policies', to: '/policies', key: 'p' },
      { label: 'Access', to: '/access', key: 'c' },
      { label: 'Engines', to: '/engines', key: 'e' },
    ],
  },
  {
    label: 'Service',
    items: [
      { label: 'Audit', to: '/audit', key: 'a' },
      { label: 'Namespaces', to: '/namespaces', key: 'n' },
      { label: 'Limits', to: '/limits' },
      { label: 'Operations', to: '/operations' },
    ],
  },
];
