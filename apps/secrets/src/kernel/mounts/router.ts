import type { LiveMount, Resolved } from './mount';

class MountNode {
  readonly children = new Map<string, MountNode>();
  mount: LiveMount | undefined;
}

/** Mount paths of every namespace as trees of segments: the longest prefix of a path answers it. */
export class Router {
  private readonly roots = new Map<string, MountNode>();

  add(mount: LiveMount): void {
    let node = child(this.roots, mount.namespaceId);
    for (const segment of mount.path.slice(0, -1).split('/')) node = child(node.children, segment);
    node.mount = mount;
  }

  /** The mount a path inside a namespace belongs to. A mount's own path needs no trailing slash. */
  resolve(namespaceId: string, path: string): Resolved | undefined {
    let node = this.roots.get(namespaceId);
    let found: LiveMount | undefined;
    let restAt = 0;
    let at = 0;
    while (node !== undefined && at <= path.length) {
      const slash = path.indexOf('/', at);
      const end = slash < 0 ? path.length : slash;
      node = node.children.get(path.slice(at, end));
      at = end + 1;
      if (node?.mount) {
        found = node.mount;
        restAt = at;
      }
    }
    return found && { mount: found, path: path.slice(restAt) };
  }

  /** Finds a mount above, at or below a path, which prevents another mount there. */
  conflict(namespaceId: string, path: string): LiveMount | undefined {
    const above = this.resolve(namespaceId, path);
    if (above) return above.mount;
    let node = this.roots.get(namespaceId);
    for (const segment of path.slice(0, -1).split('/')) node = node?.children.get(segment);
    return node && firstBelow(node);
  }
}

function child(nodes: Map<string, MountNode>, name: string): MountNode {
  const there = nodes.get(name);
  if (there) return there;
  const newNode = new MountNode();
  nodes.set(name, newNode);
  return newNode;
}

function firstBelow(node: MountNode): LiveMount | undefined {
  if (node.mount) return node.mount;
  for (const child of node.children.values()) {
    const found = firstBelow(child);
    if (found) return found;
  }
  return undefined;
}
