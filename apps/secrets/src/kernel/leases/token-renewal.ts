import { Refusal } from '@keystead/refusal';
import type { Login } from '../../sdk/reply';
import type { LiveMount } from '../mounts/mount';
import type { Statement } from '../storage/database';
import type { StorageKernel } from '../storage/storage';
import { sealToken } from '../tokens/token-row';
import type { TokenRecord } from '../tokens/types';
import type { LeaseHosts } from './types';

/** A token prolonged. */
export interface RenewedToken {
  readonly record: TokenRecord;
  readonly ttlSeconds: number;
  readonly warnings: readonly string[];
  /** Names of groups, where the auth method says them now. */
  readonly groupAliases?: readonly string[];
}

/** $5 is the end the caller saw: a token that changed meanwhile is not renewed. */
const RENEW: Statement = {
  name: 'token-renew',
  text: `UPDATE token SET expires_at_ms = $2, due_at_ms = $2, sealed = $3
          WHERE hash = $1 AND state = 0 AND expires_at_ms = $4 AND (uses_left IS NULL OR uses_left > 0)`,
};

/** Prolongs tokens by the rules they were made under, and by those of their auth method as it is configured now. */
export class TokenRenewal {
  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: Pick<LeaseHosts, 'findMount' | 'refreshMounts' | 'errand' | 'lifetime'>,
  ) {}

  /** Throws `invalid` for a token that cannot be renewed, or whose maximum has passed. */
  async renew(record: TokenRecord, incrementSeconds: number): Promise<RenewedToken> {
    const { storage, hosts } = this;
    if (record.type === 'batch') throw new Refusal('invalid', 'batch tokens cannot be renewed');
    if (!record.renewable || record.expiresAtMs === undefined) throw notRenewable();
    await hosts.refreshMounts();
    const mount = record.mountId === undefined ? undefined : hosts.findMount(record.mountId);
    if (!mount) throw notRenewable();
    const now = storage.clock.now();
    const login = await this.loginNow(mount, record);
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
    const renewed: TokenRecord = { ...record, expiresAtMs: now + ttlSeconds * 1000, lastRenewalMs: now };
    const values = [record.hash, renewed.expiresAtMs, sealToken(storage.barrier, renewed), record.expiresAtMs];
    await storage.committer.transaction(
      async (tx) => {
        const { rowCount } = await tx.query(RENEW, values);
        if (rowCount === 0) throw new Refusal('invalid', 'token not found');
      },
      [{ topic: 'token', key: record.key }],
    );
    return { record: renewed, ttlSeconds, warnings, groupAliases: login.groupAliases };
  }

  /** A role may have changed since the login; it may also forbid the renewal. */
  private async loginNow(mount: LiveMount, record: TokenRecord): Promise<Partial<Login>> {
    const { renewLogin } = mount.backend;
    if (!renewLogin || record.internal === undefined) return {};
    const stored = {
      internal: record.internal,
      metadata: record.meta ?? {},
      policies: record.policies,
      displayName: record.displayName,
      entityId: record.entityId ?? '',
    };
    return this.hosts.errand(mount, (errand) => renewLogin(stored, errand));
  }
}

const notRenewable = (): Refusal => new Refusal('invalid', 'lease is not renewable');
