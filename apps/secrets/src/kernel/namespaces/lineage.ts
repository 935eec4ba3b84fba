import type { Namespaces } from './namespaces';

/** A namespace and those above it, by uuid; empty for one that is gone. */
export function lineageOf(namespaces: Namespaces, uuid: string): string[] {
  const namespace = namespaces.find(uuid);
  return namespace ? namespaces.lineage(namespace).map((one) => one.uuid) : [];
}

/** A namespace and all below it, by uuid; only itself where it is gone. */
export function subtreeOf(namespaces: Namespaces, uuid: string): string[] {
  const namespace = namespaces.find(uuid);
  return namespace ? [uuid, ...namespaces.below(namespace).map((one) => one.uuid)] : [uuid];
}
