import type { Mount } from '../mounts';

/** Types of engines whose collection of roles is named `role`. In all others it is named `roles`. */
const isOfOne: ReadonlySet<string> = new Set(['nomad', 'scheduler']);
const issuing: ReadonlyMap<string, string> = new Map([
  ['creds', 'roles'],
  ['sts', 'roles'],
  ['static-creds', 'static-roles'],
]);

/** The role behind a credentials path of a mount, as the tab and the name of its page. */
export function roleOf({ path: mount, type }: Mount, path: string): { tab: string; name: string } | undefined {
  const [, verb = '', name] = /^([^/]+)\/([^/]+)$/.exec(path.slice(mount.length)) ?? [];
  const tab = issuing.get(verb);
  if (tab === undefined || name === undefined) return undefined;
  return { tab: tab === 'roles' && isOfOne.has(type) ? 'role' : tab, name };
}
