import { LRUCache } from 'lru-cache';
import type { SchedulerDefaults } from './config-access';
import { type SchedulerAccess, SchedulerClient } from './scheduler-client';
import { nameLimitOf } from './token-name';

interface Known {
  policies?: ReadonlySet<string>;
  nameLimit?: number;
}

const rememberedMs = 60_000;

/** Makes clients for the schedulers that mounts are configured with, and remembers for a minute what they said. */
export class Scheduler {
  private readonly known = new LRUCache<string, Known>({ max: 200, ttl: rememberedMs });

  constructor(
    readonly defaults: SchedulerDefaults,
    private readonly timeoutMs = 30_000,
  ) {}

  client(access: SchedulerAccess): SchedulerClient {
    return new SchedulerClient(access, this.timeoutMs);
  }

  /** Forgets what a scheduler said, because its configuration was written again. */
  forget(address: string): void {
    this.known.delete(address);
  }

  /** Longest token name in bytes: as configured, else by the version, which is asked for once. */
  async nameLimit(access: SchedulerAccess & { nameLimit: number }): Promise<number> {
    if (access.nameLimit > 0) return access.nameLimit;
    const known = this.about(access.address);
    known.nameLimit ??= nameLimitOf(
      await this.client(access)
        .version()
        .catch(() => ''),
    );
    return known.nameLimit;
  }

  /**
   * Those of `names` that do not exist in the scheduler; asked again before anything is called missing. Undefined
   * where the list cannot be read.
   */
  async missingPolicies(access: SchedulerAccess, names: readonly string[]): Promise<string[] | undefined> {
    if (names.length === 0) return [];
    const known = this.about(access.address);
    if (known.policies && names.every((name) => known.policies!.has(name))) return [];
    try {
      known.policies = new Set(await this.client(access).policyNames());
    } catch {
      return undefined;
    }
    return names.filter((name) => !known.policies!.has(name));
  }

  private about(address: string): Known {
    let known = this.known.get(address);
    if (!known) {
      known = {};
      this.known.set(address, known);
    }
    return known;
  }
}
