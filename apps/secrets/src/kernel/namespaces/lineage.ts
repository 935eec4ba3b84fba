import type { Namespaces } from './namespaces';

/** A namespace and its ancestors, by uuid; empty if it no longer exists. */
export function lineageOf(namespaces: Namespaces, uuid: string): string[] {
  const namespace = namespaces.find(uuid);
  return namespace ? namespaces.lineage(namespace).map((one) => one.uuid) : [];
}

/** A namespace and its descendants, by uuid; only itself if it no longer exists. */
export function subtreeOf(namespaces: Namespaces, uuid: string): string[] {
  const namespace = namespaces.find(uuid);
  return namespace ? [uuid, ...namespaces.below(namespace).map((one) => one.uuid)] : [uuid];
}
