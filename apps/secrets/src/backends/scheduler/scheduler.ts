import http from 'node:http';
import https from 'node:https';
import { LRUCache } from 'lru-cache';
import { Circuit, type OutsideParts, plainParts, Throttle } from '../../sdk/outside';
import {
  type SchedulerAccess,
  SchedulerClient,
  type SchedulerDefaults,
  type SchedulerDeps,
  SchedulerRefused,
  schedulerRefusal,
} from './scheduler-client';
import { nameLimitOf } from './token-name';

interface SchedulerFacts {
  policies?: ReadonlySet<string>;
  nameLimit?: number;
  /** The pending request: callers that send the same request share its response. */
  asksPolicies?: Promise<ReadonlySet<string> | undefined>;
  asksVersion?: Promise<number>;
}

/** How to reach one scheduler. */
interface Reached {
  readonly agent: http.Agent;
  readonly circuit: Circuit;
}

const rememberedMs = 60_000;
/** Connections idle for this long are closed. */
const idleMs = 15_000;

/**
 * Creates clients for the schedulers of mounts. It caches their facts for a minute, and their connections and
 * circuits permanently.
 */
export class Scheduler {
  private readonly throttle = new Throttle();
  private readonly factsByServer = new LRUCache<string, SchedulerFacts>({ max: 200, ttl: rememberedMs });
  private readonly reached = new LRUCache<string, Reached>({ max: 200 });

  constructor(
    readonly defaults: SchedulerDefaults,
    private readonly parts: OutsideParts = plainParts,
    private readonly limits: Partial<Pick<SchedulerDeps, 'timeoutMs' | 'pauseMs'>> = {},
  ) {}

  client(access: SchedulerAccess): SchedulerClient {
    const { address, caCert, clientCert, clientKey, generation } = access;
    const key = JSON.stringify([address, caCert, clientCert, clientKey, generation]);
    let reached = this.reached.get(key);
    if (!reached) {
      const { Agent } = address.startsWith('https:') ? https : http;
      const agent = new Agent({ keepAlive: true, maxFreeSockets: 32, timeout: idleMs });
      reached = { agent, circuit: new Circuit(`scheduler at ${address}`, this.parts.clock) };
      this.reached.set(key, reached);
    }
    return new SchedulerClient(access, { ...this.limits, ...reached, parts: this.parts, throttle: this.throttle });
  }

  /**
   * Await this where many callers may continue at the same time, for example after they all waited for the same
   * response.
   */
  turn(): Promise<void> | undefined {
    return this.throttle.take();
  }

  /** Clears the cached facts, connections and circuits of all schedulers. */
  forgetAll(): void {
    this.factsByServer.clear();
    this.reached.clear();
  }

  /**
   * The maximum length of token names in bytes: the configured value, or the limit of the version, which is queried
   * once.
   */
  async nameLimit(access: SchedulerAccess & { nameLimit: number }): Promise<number> {
    if (access.nameLimit > 0) return access.nameLimit;
    const facts = this.about(access);
    if (facts.nameLimit !== undefined) return facts.nameLimit;
    facts.asksVersion ??= unlessRefused(this.client(access).version())
      .then((version) => {
        facts.nameLimit = nameLimitOf(version ?? '');
        return facts.nameLimit;
      })
      .finally(() => {
        facts.asksVersion = undefined;
      });
    return facts.asksVersion;
  }

  /**
   * The `names` that do not exist in the scheduler; the list is queried again before a name is treated as missing.
   * Undefined if we may not read the list.
   */
  async missingPolicies(access: SchedulerAccess, names: readonly string[]): Promise<string[] | undefined> {
    if (names.length === 0) return [];
    const facts = this.about(access);
    if (facts.policies && names.every((name) => facts.policies!.has(name))) return [];
    facts.asksPolicies ??= unlessRefused(this.client(access).policyNames())
      .then((there) => {
        if (there) facts.policies = new Set(there);
        return there && facts.policies;
      })
      .finally(() => {
        facts.asksPolicies = undefined;
      });
    const policies = await facts.asksPolicies;
    if (!policies) return undefined;
    return names.filter((name) => !policies.has(name));
  }

  private about({ address, generation }: SchedulerAccess): SchedulerFacts {
    const key = JSON.stringify([address, generation]);
    let facts = this.factsByServer.get(key);
    if (!facts) {
      facts = {};
      this.factsByServer.set(key, facts);
    }
    return facts;
  }
}

/** The response, or undefined if the scheduler denies the call. Throws if there is no response. */
async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SchedulerRefused && error.status >= 400 && error.status < 500) return undefined;
    throw schedulerRefusal(error);
  }
}
