/** How often a client may ask; each node counts for itself. */
export interface RateLimit {
  readonly kind: 'rate-limit';
  readonly rate: number;
  readonly intervalSeconds: number;
  /** A client that was refused stays refused so long. */
  readonly blockSeconds: number;
}

/** A lease count quota: the maximum number of leases, over all nodes. */
export interface LeaseCount {
  readonly kind: 'lease-count';
  readonly maxLeases: number;
}

/** Where a quota applies, narrower with every part that is given. */
export interface QuotaTarget {
  readonly namespaceId: string;
  /** Whether namespaces below count as well. */
  readonly inheritable: boolean;
  readonly mountId?: string;
  /** Below the mount; a final `*` matches any rest. */
  readonly path: string;
  /** The last segment of a lease's path; lease counts only. */
  readonly role: string;
}

/** A limit under a name. */
export type Quota = (RateLimit | LeaseCount) &
  QuotaTarget & {
    readonly id: string;
    readonly name: string;
    /** The namespace it was written in: it holds there or below, and has its name there. */
    readonly ownerId: string;
    /** As the operator wrote it, seen from there: namespace, mount and rest in one. */
    readonly writtenPath: string;
  };
