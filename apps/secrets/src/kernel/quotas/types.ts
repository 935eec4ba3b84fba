/** A limit on a client's requests. Each node counts separately. */
export interface RateLimit {
  readonly kind: 'rate-limit';
  readonly rate: number;
  readonly intervalSeconds: number;
  /** How long a refused client stays refused. */
  readonly blockSeconds: number;
}

/** A lease count quota: the maximum number of leases, over all nodes. */
export interface LeaseCount {
  readonly kind: 'lease-count';
  readonly maxLeases: number;
}

/** The scope of a quota. Each part that is set narrows it. */
export interface QuotaTarget {
  readonly namespaceId: string;
  /** Whether the quota also applies to the namespaces below. */
  readonly inheritable: boolean;
  readonly mountId?: string;
  /** The path below the mount; a final `*` matches any rest. */
  readonly path: string;
  /** The last segment of a lease's path. Only for lease counts. */
  readonly role: string;
}

/** A limit under a name. */
export type Quota = (RateLimit | LeaseCount) &
  QuotaTarget & {
    readonly id: string;
    readonly name: string;
    /** The namespace of the quota: it applies there or below, and its name is unique there. */
    readonly ownerId: string;
    /** As the operator wrote it, relative to that namespace: namespace, mount and rest in one. */
    readonly writtenPath: string;
  };
