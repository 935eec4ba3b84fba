import type { NewMount } from '../kernel/mounts/mounts';
import { registry } from '../registry';

/** The mounts of every new namespace. */
export function standingMounts(): NewMount[] {
  return registry.flatMap(({ type, kind, always }) => (always ? [{ ...always, kind, type }] : []));
}

/** Additional mounts of a new installation, by the paths in its configuration. */
export function usualMounts(paths: readonly string[]): NewMount[] {
  return paths.map((path) => {
    const found = registry.find(({ usually }) => usually?.path === `${path}/`);
    if (!found?.usually) throw new Error(`SECRETS_DEFAULT_MOUNTS: there is no default mount at ${path}`);
    return { ...found.usually, kind: found.kind, type: found.type };
  });
}
