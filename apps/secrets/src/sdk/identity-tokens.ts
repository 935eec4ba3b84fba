/**
 * Identity tokens that this service signs for its mounts, so that outside systems can recognise them without a secret.
 */
export interface IdentityTokens {
  /**
   * A token for one mount: `iss` is its namespace's issuer, `sub` identifies the mount. Throws `invalid` if the service
   * does not know its public URL, because other systems could not find the keys.
   */
  issue(mountUuid: string, audience: string, ttlSeconds: number): Promise<string>;
  /** Throws like `issue`. */
  check(): void;
}
