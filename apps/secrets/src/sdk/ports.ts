import type { Storage } from './storage';

/**
 * Narrow interfaces the kernel lends to the privileged backends (sys, identity, token). A privileged file declares the
 * port it needs beside its paths where nobody else needs it; what several files share stands here. Kernel modules
 * satisfy them by shape, and `service.ts` hands them over.
 */

/** A mount as the privileged backends need to see one. */
export interface MountFacts {
  readonly uuid: string;
  readonly accessor: string;
  /** With `auth/` for auth methods and a trailing slash. */
  readonly path: string;
  readonly type: string;
  readonly kind: 'secret' | 'auth' | 'system';
  readonly namespaceId: string;
  readonly local: boolean;
}

/** Finds mounts without changing them. */
export interface MountLookup {
  byAccessor(accessor: string): MountFacts | undefined;
  byUuid(uuid: string): MountFacts | undefined;
  /** The mount that a path inside a namespace belongs to. */
  resolve(namespaceId: string, path: string): MountFacts | undefined;
}

/** The policies a caller has besides those of the token. */
export interface IdentityPolicies {
  policiesOf(entityId: string): Promise<readonly string[]>;
}

/** Says whether policies exist, for the warning about names that do not. */
export interface PolicyNames {
  missing(namespaceId: string, names: readonly string[]): Promise<readonly string[]>;
}

/** The storage of another mount, for endings that must clear it. */
export interface ForeignStorage {
  of(mountUuid: string): Storage;
}

/** Identity tokens that this service signs for its mounts, so that outside systems can know them without a secret. */
export interface IdentityTokens {
  /**
   * A token for one mount: `iss` is its namespace's issuer, `sub` says which mount it is. Throws `invalid` where nobody
   * outside could find the keys, because the service does not know its own address.
   */
  issue(mountUuid: string, audience: string, ttlSeconds: number): Promise<string>;
  /** Throws as `issue` does. */
  check(): void;
}
