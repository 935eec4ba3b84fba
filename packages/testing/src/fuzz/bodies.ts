import type { Pools } from './pools';
import type { Random } from './random';
import type { FuzzRequest } from './requests';

const perOperation = 16;
const staysThere = 0.5;

/** A body that was taken, and the path that it was sent to. */
export interface Taken {
  readonly path?: string;
  readonly body?: FuzzRequest['body'];
}

/** What was taken, by operation, to be sent again, there or elsewhere with other ids: what was right once is nearly right. */
export class Bodies {
  private readonly taken = new Map<string, Taken[]>();
  private next = 0;

  constructor(private readonly pools: Pools) {}

  add(operation: string, taken: Taken): void {
    let known = this.taken.get(operation);
    if (known === undefined) {
      known = [];
      this.taken.set(operation, known);
    }
    if (known.length < perOperation) known.push(taken);
    else known[this.next++ % perOperation] = taken;
  }

  /** One of them: as it was, or without its path and with other things of the same types in it. */
  pick(operation: string, random: Random): Taken | undefined {
    const known = this.taken.get(operation);
    if (known === undefined) return undefined;
    const { path, body } = random.pick(known);
    const renames = random.chance(0.5);
    if (path !== undefined && random.chance(staysThere)) return { path, body: this.renewed(body, random, 0, renames) };
    return { body: this.renewed(body, random, 0.6, renames) };
  }

  private renewed(body: Taken['body'], random: Random, share: number, renames: boolean): Taken['body'] {
    if (body === undefined || 'bytes' in body) return body;
    return { value: this.with(body.value, random, share, renames) };
  }

  /** The same value with that share of its ids, or its names, replaced. */
  private with(value: unknown, random: Random, share: number, renames: boolean): unknown {
    if (Array.isArray(value)) return value.map((item) => this.with(item, random, share, renames));
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
    const { type, id } = value as Record<string, unknown>;
    const made: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      if (key === 'id' && typeof type === 'string' && random.chance(share))
        made.id = this.pools.pick(type, random) ?? id;
      else if (renames && key === 'name' && typeof item === 'string') made.name = `n${random.below(40)}`;
      else made[key] = this.with(item, random, share, renames);
    }
    return made;
  }
}
