import { Refusal } from '@keystead/refusal';
import type { StoredLogin } from '../../sdk/backend';
import type { Login } from '../../sdk/reply';
import type { LiveMount } from '../mounts/mount';
import type { StorageKernel } from '../storage/storage';
import { sealToken } from '../tokens/token-row';
import type { TokenRecord } from '../tokens/types';
import { type Prolong, prolongTokens } from './prolong';
import type { LeaseHosts } from './types';

/** A renewed token. */
export interface RenewedToken {
  readonly record: TokenRecord;
  readonly ttlSeconds: number;
  readonly warnings: readonly string[];
  /** Group names, if the auth method returns them now. */
  readonly groupAliases?: readonly string[];
}

type WaitingLogin = Omit<StoredLogin, 'internal'> & Pick<Partial<StoredLogin>, 'internal'>;

/** Renews tokens by the rules they were issued under, and by the current configuration of their auth method. */
export class TokenRenewal {
  private readonly prolong: Prolong;

  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: Pick<LeaseHosts, 'findMount' | 'refreshMounts' | 'inBackground' | 'lifetime'>,
  ) {
    this.prolong = prolongTokens(storage);
  }

  /**
   * Renews a token. `certificates` are the caller's. Throws `invalid` for a token that cannot be renewed, or is past
   * its maximum lifetime.
   */
  async renew(
    record: TokenRecord,
    incrementSeconds: number,
    certificates: () => readonly Buffer[],
  ): Promise<RenewedToken> {
    const { storage, hosts } = this;
    if (record.type === 'batch') throw new Refusal('invalid', 'batch tokens cannot be renewed');
    if (!record.renewable || record.expiresAtMs === undefined) throw notRenewable();
    await hosts.refreshMounts();
    const mount = record.mountId === undefined ? undefined : hosts.findMount(record.mountId);
    if (!mount) throw notRenewable();
    const now = storage.clock.now();
    const login = await this.loginNow(mount, {
      internal: record.internal,
      metadata: record.meta ?? {},
      policies: record.policies,
      displayName: record.displayName,
      entityId: record.entityId ?? '',
      certificates,
    });
    const { ttlSeconds, warnings } = hosts.lifetime({
      nowMs: now,
      issuedAtMs: record.createdAtMs,
      incrementSeconds,
      ttlSeconds: login.ttlSeconds ?? record.ttlSeconds,
      maxTtlSeconds: login.maxTtlSeconds ?? record.maxTtlSeconds,
      explicitMaxTtlSeconds: record.explicitMaxTtlSeconds,
      periodSeconds: login.periodSeconds ?? record.periodSeconds,
      mount: mount.view,
    });
    const renewed: TokenRecord = {
      ...record,
      internal: login.internal ?? record.internal,
      expiresAtMs: now + ttlSeconds * 1000,
      lastRenewalMs: now,
    };
    const sealed = sealToken(storage.barrier, renewed);
    const alive = await this.prolong({ hash: record.hash, expiresAtMs: now + ttlSeconds * 1000, sealed });
    if (!alive) throw new Refusal('invalid', 'token not found');
    return { record: renewed, ttlSeconds, warnings, groupAliases: login.groupAliases };
  }

  /** The current result of a login. The role may have changed, or may forbid it. */
  async loginNow(mount: LiveMount, { internal, ...login }: WaitingLogin): Promise<Partial<Login>> {
    const { renewLogin } = mount.backend;
    if (!renewLogin || internal === undefined) return {};
    return this.hosts.inBackground(mount, (call) => renewLogin({ ...login, internal }, call));
  }
}

const notRenewable = (): Refusal => new Refusal('invalid', 'lease is not renewable');
