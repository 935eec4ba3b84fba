import { randomUUID } from 'node:crypto';
import { networkOf } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { Prisma } from '../../generated/prisma/client';
import type { CanonicalPath, Folding } from '../../sdk/canonical-path';
import { foldSegments } from '../mounts/fold';
import type { StorageKernel } from '../storage/storage';
import type { Tx } from '../storage/types';
import { WholeTable } from '../storage/whole-table';
import { Buckets } from './buckets';
import { isExempt, loadRules, type RateRules, saveRules, usualRules } from './rate-rules';
import type { Quota, QuotaTarget } from './types';

/** Values without a column: the settings of rate limits, and the path as written. */
interface QuotaConfig {
  readonly rate?: number;
  readonly interval?: number;
  readonly block?: number;
  readonly inheritable?: boolean;
  readonly written: string;
}

/** The parts of the service that quotas use. */
export interface QuotaHosts {
  /** A namespace and those above it, nearest first. */
  lineage(namespaceId: string): readonly string[];
  /** A namespace and those below it. */
  below(namespaceId: string): readonly string[];
  /** With a trailing slash; empty for root. */
  namespacePath(namespaceId: string): string;
  /** The path of a mount inside its namespace, with a trailing slash. */
  mountPath(mountId: string): string | undefined;
}

/** A quota as requested; the database assigns its id. */
export type NewQuota =
  | Omit<Extract<Quota, { kind: 'rate-limit' }>, 'id'>
  | Omit<Extract<Quota, { kind: 'lease-count' }>, 'id'>;

/** A request that may be counted. */
export interface QuotaQuestion {
  readonly namespaceId: string;
  readonly mountUuid: string | undefined;
  /** Inside the namespace. */
  readonly path: CanonicalPath;
  /** The part of the path below the mount that is read in lower case. */
  readonly folding?: Folding;
  readonly address: string;
}

/** The place where a check stores the rate-limit headers of the answer, if they are enabled. */
export interface RateNotes {
  rateHeaders?: Readonly<Record<string, string>>;
}

/** A request that a rate limit refuses. */
export class RateLimited extends Refusal {
  constructor(
    path: string,
    /** Whether the refusal is written to the audit devices. */
    readonly audited: boolean,
  ) {
    super('limited', `request path "${path}": rate limit quota exceeded`);
  }
}

/** A request or a new lease that is matched against quotas. */
interface QuotaSubject {
  readonly namespaceId: string;
  readonly mountId: string | undefined;
  readonly path: string;
  readonly folding?: Folding;
  readonly role?: string;
}

/**
 * Limits on requests and on leases, all held in memory. The statement that writes a lease also counts it, so no node
 * can exceed the limit. Every matching quota applies: a narrower quota does not replace a wider one.
 */
export class Quotas {
  private rates: { quota: Quota; buckets: Buckets }[] = [];
  private counts: Quota[] = [];
  /** The rules for all rate limits, as known to this node. */
  rules = usualRules;
  private readonly table: WholeTable;

  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: QuotaHosts,
  ) {
    this.table = new WholeTable(storage.changes, 'quota', () => this.load());
    storage.changes.listen('quota', () => {
      if (!storage.barrier.sealed) void this.refresh()?.catch(() => {});
    });
    // Changes that this node missed, because it could not read or got no notices, are read as soon as possible.
    storage.background.every('quotas', 1000, async () => {
      await this.refresh();
      return undefined;
    });
  }

  /** Reads the quotas again if they may have changed. */
  refresh(): Promise<void> | undefined {
    return this.table.refresh();
  }

  /** Whether there are rate limits. If there are none, `check` need not be called. */
  get hasRates(): boolean {
    return this.rates.length > 0;
  }

  /** Counts a request towards every matching rate limit. Throws `RateLimited`. */
  check(request: QuotaQuestion, notes?: RateNotes): void {
    if (!this.hasRates || this.exempts(request)) return;
    const subject = { ...request, mountId: request.mountUuid };
    const now = this.storage.clock.now();
    const client = networkOf(request.address);
    let tightest = Number.POSITIVE_INFINITY;
    for (const { quota, buckets } of this.rates) {
      if (!this.fits(quota, subject)) continue;
      const result = buckets.take(client, now);
      if (notes && this.rules.headers) {
        const { limit, remaining, resetSeconds } = buckets.headroom(client, now);
        if (!result || remaining < tightest) notes.rateHeaders = rateHeaders(limit, remaining, resetSeconds, result);
        tightest = Math.min(tightest, remaining);
      }
      if (!result) throw new RateLimited(request.path, this.rules.audited);
    }
  }

  /** The rate limit that would refuse a request now; undefined if none would. Counts nothing. */
  refusing(request: QuotaQuestion): Quota | undefined {
    if (this.exempts(request)) return undefined;
    const subject = { ...request, mountId: request.mountUuid };
    const now = this.storage.clock.now();
    const client = networkOf(request.address);
    return this.rates.find(({ quota, buckets }) => this.fits(quota, subject) && !buckets.admits(client, now))?.quota;
  }

  private exempts({ namespaceId, path }: QuotaQuestion): boolean {
    return isExempt(this.rules, this.hosts.namespacePath(namespaceId), path);
  }

  /** The stored rules. */
  async readRules(): Promise<RateRules> {
    await this.load();
    return this.rules;
  }

  async writeRules(rules: RateRules): Promise<void> {
    await saveRules(this.storage, rules);
    await this.load();
  }

  /** The lease count quotas that apply to a new lease. */
  quotasOf(lease: { namespaceId: string; mountId: string; path: string; role: string }): readonly string[] {
    if (this.counts.length === 0) return [];
    return this.counts.filter((quota) => this.fits(quota, lease)).map((quota) => quota.id);
  }

  /** The names of the quotas of a namespace. */
  async list(ownerId: string, kind: Quota['kind']): Promise<string[]> {
    await this.load();
    return this.all(kind)
      .filter((quota) => quota.ownerId === ownerId)
      .map((quota) => quota.name)
      .sort();
  }

  /** A quota with its current number of leases. */
  async find(
    ownerId: string,
    kind: Quota['kind'],
    name: string,
  ): Promise<{ quota: Quota; leases: number } | undefined> {
    const where = { ownerId_kind_name: { ownerId, kind, name } };
    const row = await this.storage.database.prisma.quota.findUnique({ where });
    return row ? { quota: quotaOf(row), leases: Number(row.leases) } : undefined;
  }

  /** Creates or replaces a quota, one change at a time, and counts existing leases. */
  async change(
    ownerId: string,
    kind: Quota['kind'],
    name: string,
    next: (before: Quota | undefined) => NewQuota,
  ): Promise<void> {
    await this.storage.committer.inTurn(
      `quota/${ownerId}/${kind}/${name}`,
      async (tx) => {
        // Statements that create or end leases lock their table first, then their quotas, so the order is the same
        // here.
        if (kind === 'lease-count') await tx.prisma.$executeRaw`LOCK TABLE lease IN SHARE ROW EXCLUSIVE MODE`;
        const where = { ownerId, kind, name };
        const row = await tx.prisma.quota.findUnique({ where: { ownerId_kind_name: where } });
        const quota = next(row ? quotaOf(row) : undefined);
        await tx.prisma.quota.deleteMany({ where });
        const id = randomUUID();
        await tx.prisma.quota.create({ data: { id, ...columnsOf(quota) }, select: { id: true } });
        if (kind === 'lease-count') await this.countExisting(tx, id, quota);
      },
      [{ topic: 'quota', key: name }],
    );
    await this.load();
  }

  async delete(ownerId: string, kind: Quota['kind'], name: string): Promise<void> {
    await this.storage.committer.transaction(
      (tx) => tx.prisma.quota.deleteMany({ where: { ownerId, kind, name } }),
      [{ topic: 'quota', key: name }],
    );
    await this.load();
  }

  /** Removes the quotas that belong to a namespace, and the quotas that limit it. The caller sends the notice. */
  async clear({ prisma }: Tx, namespaceId: string): Promise<void> {
    await prisma.quota.deleteMany({ where: { OR: [{ namespaceId }, { ownerId: namespaceId }] } });
  }

  private all(kind: Quota['kind']): Quota[] {
    return kind === 'rate-limit' ? this.rates.map(({ quota }) => quota) : this.counts;
  }

  private fits(quota: QuotaTarget, { namespaceId, mountId, path, folding, role }: QuotaSubject): boolean {
    if (quota.namespaceId !== namespaceId) {
      if (!quota.inheritable || !this.hosts.lineage(namespaceId).includes(quota.namespaceId)) return false;
      if (quota.mountId !== undefined) return false;
    }
    if (quota.mountId !== undefined) {
      if (quota.mountId !== mountId) return false;
      const pattern = folding ? foldSegments(quota.path, folding) : quota.path;
      if (pattern !== '' && !matches(pattern, path.slice((this.hosts.mountPath(quota.mountId) ?? '').length))) {
        return false;
      }
    } else if (quota.path !== '' && !matches(quota.path, path)) return false;
    return quota.role === '' || quota.role === role;
  }

  /**
   * Leases from before the quota are counted by their columns, under the lock, so that none is missed or counted twice.
   */
  private async countExisting(tx: Tx, id: string, quota: QuotaTarget): Promise<void> {
    const prefix = quota.mountId === undefined ? '' : (this.hosts.mountPath(quota.mountId) ?? '');
    const glob = quota.path.endsWith('*');
    const below = `${prefix}${glob ? quota.path.slice(0, -1) : quota.path}`;
    const inheriting = quota.inheritable && quota.mountId === undefined;
    const namespaceIds = inheriting ? this.hosts.below(quota.namespaceId) : [quota.namespaceId];
    const { mountId = null, role } = quota;
    const path = quota.path === '' ? '' : below;
    await tx.prisma.$executeRaw`
      WITH counted AS (
        UPDATE lease SET quota_ids = quota_ids || ${id}::uuid
         WHERE namespace_id = ANY(${namespaceIds}::uuid[]) AND (${mountId}::uuid IS NULL OR mount_id = ${mountId}::uuid)
           AND (${path}::text = '' OR CASE WHEN ${glob}::boolean THEN starts_with(path, ${path}) ELSE path = ${path} || '/' END)
           AND (${role}::text = '' OR role = ${role}) RETURNING 1)
      UPDATE quota SET leases = (SELECT count(*) FROM counted) WHERE id = ${id}::uuid`;
  }

  private async load(): Promise<void> {
    const quotas = (await this.storage.database.prisma.quota.findMany()).map(quotaOf);
    this.rules = await loadRules(this.storage);
    const before = new Map(this.rates.map((rate) => [rate.quota.id, rate]));
    this.counts = quotas.filter((quota) => quota.kind === 'lease-count');
    this.rates = quotas.flatMap((quota) =>
      quota.kind === 'rate-limit' ? [before.get(quota.id) ?? { quota, buckets: new Buckets(quota) }] : [],
    );
  }
}

const rateHeaders = (limit: number, remaining: number, seconds: number, allowed: boolean) => ({
  'X-RateLimit-Limit': String(limit),
  'X-RateLimit-Remaining': String(remaining),
  'X-RateLimit-Reset': String(seconds),
  ...(!allowed && { 'Retry-After': String(seconds) }),
});

function matches(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

function columnsOf(quota: NewQuota) {
  const { ownerId, kind, name, namespaceId, mountId = null, path, role, writtenPath: written, inheritable } = quota;
  const place = { ownerId, kind, name, namespaceId, mountId, path, role };
  if (quota.kind === 'lease-count') {
    return { ...place, config: { written, inheritable } satisfies QuotaConfig, maxLeases: quota.maxLeases };
  }
  const { rate, intervalSeconds: interval, blockSeconds: block } = quota;
  return { ...place, config: { written, inheritable, rate, interval, block } satisfies QuotaConfig };
}

function quotaOf(row: Prisma.QuotaGetPayload<object>): Quota {
  const { id, name, ownerId, namespaceId, path, role } = row;
  const { written, inheritable = false, rate = 0, interval = 1, block = 0 } = row.config as unknown as QuotaConfig;
  const mountId = row.mountId ?? undefined;
  const place = { id, name, ownerId, writtenPath: written, namespaceId, inheritable, mountId, path, role };
  if (row.kind === 'lease-count') return { ...place, kind: 'lease-count', maxLeases: Number(row.maxLeases) };
  return { ...place, kind: 'rate-limit', rate, intervalSeconds: interval, blockSeconds: block };
}
