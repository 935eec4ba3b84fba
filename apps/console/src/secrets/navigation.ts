import type { NavGroup } from '../shell/frame';

/** The pages of the rail. */
export const navigation: readonly NavGroup[] = [
  { items: [{ label: 'Overview', to: '/', key: 'o' }] },
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
