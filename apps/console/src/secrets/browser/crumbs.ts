import type { Crumb } from '../../design/page';
import type { Mount } from '../mounts';

/** Breadcrumbs of a path: mount and folders, each a link. */
export function crumbsOf(mount: Mount, path: string): Crumb[] {
  const folders = path
    .split('/')
    .filter((part) => part !== '')
    .slice(0, -1);
  const crumbs: Crumb[] = [{ label: 'Secrets', to: '/secrets' }];
  if (path !== '') crumbs.push({ label: mount.path.slice(0, -1), to: '/secrets', search: { at: mount.path } });
  let at = mount.path;
  for (const folder of folders) {
    at += `${folder}/`;
    crumbs.push({ label: folder, to: '/secrets', search: { at } });
  }
  return crumbs;
}
