import { type ComponentType, lazy } from 'react';
import type { OwnPageProps } from './own-page';

interface OwnPages {
  /** The tabs before the tab "All endpoints". */
  readonly tabs: readonly { readonly tab: string; readonly label: string }[];
  /** Whether these pages cover everything, so that no generated forms are shown for the settings. */
  readonly isComplete?: boolean;
  /** Renders the content of a tab. For an item or a new item, it also renders the head of the page. */
  readonly Page: ComponentType<OwnPageProps>;
}

/** Secrets engines with their own pages. The pages of all other engines are generated. */
export const ownPages: ReadonlyMap<string, OwnPages> = new Map<string, OwnPages>([
  [
    'database',
    {
      tabs: [
        { tab: 'connections', label: 'Connections' },
        { tab: 'roles', label: 'Roles' },
        { tab: 'static-roles', label: 'Static roles' },
      ],
      isComplete: true,
      Page: lazy(() => import('./database/database')),
    },
  ],
  [
    'kubernetes',
    {
      tabs: [
        { tab: 'roles', label: 'Roles' },
        { tab: 'configuration', label: 'Configuration' },
      ],
      isComplete: true,
      Page: lazy(() => import('./kubernetes/kubernetes')),
    },
  ],
  [
    'pki',
    {
      tabs: [
        { tab: 'overview', label: 'Overview' },
        { tab: 'issuers', label: 'Issuers' },
        { tab: 'roles', label: 'Roles' },
        { tab: 'certificates', label: 'Certificates' },
        { tab: 'keys', label: 'Keys' },
        { tab: 'acme', label: 'ACME' },
      ],
      Page: lazy(() => import('./pki/pki')),
    },
  ],
  [
    'ssh',
    {
      tabs: [
        { tab: 'ca', label: 'CA' },
        { tab: 'roles', label: 'Roles' },
      ],
      Page: lazy(() => import('./ssh/ssh')),
    },
  ],
  ['totp', { tabs: [{ tab: 'keys', label: 'Keys' }], isComplete: true, Page: lazy(() => import('./totp/totp')) }],
  ['transit', { tabs: [{ tab: 'keys', label: 'Keys' }], Page: lazy(() => import('./transit/transit')) }],
]);
