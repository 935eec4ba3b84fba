import type { Pools } from './pools';
import type { Random } from './random';
import type { FuzzRequest } from './requests';

const perOperation = 16;
const staysThere = 0.5;

/** An accepted body, and the path it was sent to. */
export interface Taken {
  readonly path?: string;
  readonly body?: FuzzRequest['body'];
}

/**
 * Accepted bodies by operation, to be sent again, there or elsewhere with other ids: a body that was valid once is
 * nearly valid.
 */
export class Bodies {
  private readonly byOperation = new Map<string, Taken[]>();
  private next = 0;

  constructor(private readonly pools: Pools) {}

  add(operation: string, body: Taken): void {
    let bodies = this.byOperation.get(operation);
    if (bodies === undefined) {
      bodies = [];
      this.byOperation.set(operation, bodies);
    }
    if (bodies.length < perOperation) bodies.push(body);
    else bodies[this.next++ % perOperation] = body;
  }

  /** A recorded body: unchanged, or without its path and with other ids of the same types. */
  pick(operation: string, random: Random): Taken | undefined {
    const bodies = this.byOperation.get(operation);
    if (bodies === undefined) return undefined;
    const { path, body } = random.pick(bodies);
    const renames = random.chance(0.5);
    if (path !== undefined && random.chance(staysThere)) return { path, body: this.renewed(body, random, 0, renames) };
    return { body: this.renewed(body, random, 0.6, renames) };
  }

  private renewed(body: Taken['body'], random: Random, share: number, renames: boolean): Taken['body'] {
    if (body === undefined || 'bytes' in body) return body;
    return { value: this.with(body.value, random, share, renames) };
  }

  /** The same value with this share of its ids or names replaced. */
  private with(value: unknown, random: Random, share: number, renames: boolean): unknown {
    if (Array.isArray(value)) return value.map((item) => this.with(item, random, share, renames));
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
    const { type, id } = value as Record<string, unknown>;
    const merged: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      if (key === 'id' && typeof type === 'string' && random.chance(share))
        merged.id = this.pools.pick(type, random) ?? id;
      else if (renames && key === 'name' && typeof item === 'string') merged.name = `n${random.below(40)}`;
      else merged[key] = this.with(item, random, share, renames);
    }
    return merged;
  }
}
