import type { Mount } from '../mounts';

/** Engines whose roles are a collection `role`; those of all others are `roles`. */
const isOfOne: ReadonlySet<string> = new Set(['nomad', 'scheduler']);
const issuing: ReadonlyMap<string, string> = new Map([
  ['creds', 'roles'],
  ['sts', 'roles'],
  ['static-creds', 'static-roles'],
]);

/** The role that issued what a path below a mount gives, as the tab and the name of its page. */
export function roleOf({ path: mount, type }: Mount, path: string): { tab: string; name: string } | undefined {
  const [, verb = '', name] = /^([^/]+)\/([^/]+)$/.exec(path.slice(mount.length)) ?? [];
  const tab = issuing.get(verb);
  if (tab === undefined || name === undefined) return undefined;
  return { tab: tab === 'roles' && isOfOne.has(type) ? 'role' : tab, name };
}
