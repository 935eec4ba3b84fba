import type { Backend } from '../../sdk/backend';
import type { MountView } from '../../sdk/call';
import type { UserLockout } from './lockout';
import type { PathTree } from './path-tree';

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

/** A mount as stored, and as kept in memory. */
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
