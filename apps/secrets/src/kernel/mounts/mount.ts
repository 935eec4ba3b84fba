import type { Backend } from '../../sdk/backend';
import type { MountView } from '../../sdk/call';
import type { GuessRule } from '../attempts/attempts';
import type { PathTree } from './path-tree';

/** How an auth method locks out users; omitted settings have the defaults. */
export interface UserLockout {
  /** The number of wrong passwords in a row that locks a user. */
  readonly threshold?: number;
  readonly durationSeconds?: number;
  /** Failures are forgotten this long after the last login. */
  readonly counterResetSeconds?: number;
  readonly disabled?: boolean;
}

const usual = { threshold: 5, durationSeconds: 15 * 60, counterResetSeconds: 15 * 60 };

/** The limit on password guesses of a method; undefined if users are never locked out. */
export function passwordRule(own: UserLockout = {}): GuessRule | undefined {
  if (own.disabled) return undefined;
  const lockSeconds = own.durationSeconds ?? usual.durationSeconds;
  return {
    allowed: own.threshold ?? usual.threshold,
    lockSeconds,
    longestLockSeconds: lockSeconds,
    forgetSeconds: own.counterResetSeconds ?? usual.counterResetSeconds,
  };
}

/** The settings that an operator can tune. 0 means the system's default. */
export interface MountConfig {
  readonly defaultLeaseTtlSeconds: number;
  readonly maxLeaseTtlSeconds: number;
  readonly forceNoCache: boolean;
  readonly listingVisibility?: 'hidden' | 'unauth';
  readonly tokenType?: 'default-service' | 'default-batch' | 'service' | 'batch';
  readonly passthroughRequestHeaders?: readonly string[];
  readonly allowedResponseHeaders?: readonly string[];
  readonly auditClearRequestKeys?: readonly string[];
  readonly auditClearResponseKeys?: readonly string[];
  readonly userLockout?: UserLockout;
}

export type MountKind = 'secret' | 'auth' | 'system';

/** A mount as it is stored and kept in memory. */
export interface Mount {
  readonly uuid: string;
  readonly accessor: string;
  readonly namespaceId: string;
  readonly kind: MountKind;
  /** With `auth/` for auth methods and a trailing slash. */
  readonly path: string;
  readonly type: string;
  readonly local: boolean;
  readonly sealWrap: boolean;
  readonly description: string;
  readonly config: MountConfig;
  readonly options: Readonly<Record<string, string>> | null;
  readonly createdAtMs: number;
  /** The mount is being removed: it no longer answers, but its path is not free yet. */
  readonly tainted: boolean;
}

/** A mount in use: with its backend, its compiled paths, and its view for handlers. */
export interface LiveMount extends Mount {
  readonly backend: Backend;
  readonly tree: PathTree;
  readonly view: MountView;
}

/** Where a path leads. */
export interface Resolved {
  readonly mount: LiveMount;
  /** The path below the mount. */
  readonly path: string;
}

class MountNode {
  readonly children = new Map<string, MountNode>();
  mount: LiveMount | undefined;
}

/**
 * The mount paths of every namespace as trees of segments. A path belongs to the mount with the longest matching
 * prefix.
 */
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
