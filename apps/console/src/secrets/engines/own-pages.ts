import { type ComponentType, lazy } from 'react';
import type { OwnPageProps } from './own-page';

interface OwnPages {
  /** Shown before Configuration and All endpoints. */
  readonly tabs: readonly { readonly tab: string; readonly label: string }[];
  /** The content of a tab; for an item or a new one, a page with its head. */
  readonly Page: ComponentType<OwnPageProps>;
}

/** Secrets engines whose pages are made for them; those of all others are generated. */
export const ownPages: ReadonlyMap<string, OwnPages> = new Map([
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
  ['transit', { tabs: [{ tab: 'keys', label: 'Keys' }], Page: lazy(() => import('./transit/transit')) }],
]);
