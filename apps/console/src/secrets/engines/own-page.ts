import type { Crumb } from '../../design/page';
import type { Mount } from '../mounts';

/** The props of a page that was written for an engine. */
export interface OwnPageProps {
  readonly mount: Mount;
  readonly tab: string;
  /** The name of the shown item of the tab, if one is shown. */
  readonly name: string | undefined;
  readonly create: boolean;
}

/** The breadcrumbs from the list of engines to a tab of a mount. */
export const crumbsTo = (mount: string, tab: string): readonly Crumb[] => [
  { label: 'Secrets engines', to: '/engines' },
  { label: mount.replace(/\/$/, ''), to: '/engines/mount', search: { mount, tab } },
];
