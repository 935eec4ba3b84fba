import type { Crumb } from '../../design/page';
import type { Mount } from '../mounts';

/** What a page that is made for an engine is given. */
export interface OwnPageProps {
  readonly mount: Mount;
  readonly tab: string;
  /** The item of the tab whose page is shown. */
  readonly name: string | undefined;
  readonly create: boolean;
}

/** The way from the list of engines to a tab of a mount. */
export const crumbsTo = (mount: string, tab: string): readonly Crumb[] => [
  { label: 'Secrets engines', to: '/engines' },
  { label: mount.replace(/\/$/, ''), to: '/engines/mount', search: { mount, tab } },
];
