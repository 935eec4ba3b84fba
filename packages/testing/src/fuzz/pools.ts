import type { Random } from './random';

const perPool = 48;
const deepest = 8;
const longestList = 40;

/** What answers told of (ids, names, accessors, tokens, links), kept by name to be sent again by all callers of a program. */
export class Pools {
  private readonly pools = new Map<string, string[]>();
  private next = 0;

  /** `never` is what must not be sent again: what would end the caller itself. */
  constructor(private readonly never: ReadonlySet<string>) {}

  add(pool: string, value: string): void {
    if (value === '' || value.length > 600 || this.never.has(value)) return;
    let values = this.pools.get(pool);
    if (values === undefined) {
      values = [];
      this.pools.set(pool, values);
    }
    if (values.length < perPool) values.push(value);
    else values[this.next++ % perPool] = value;
  }

  pick(pool: string, random: Random): string | undefined {
    const values = this.pools.get(pool);
    return values === undefined ? undefined : random.pick(values);
  }

  /** Takes up what an answer tells; `list` names the pool of the keys of a listing. */
  harvest(value: unknown, list: string): void {
    this.walk(value, '', list, 0);
  }

  private walk(value: unknown, key: string, list: string, depth: number): void {
    if (typeof value === 'string') {
      this.add(key === 'keys' ? list : key.replaceAll('-', '_'), value);
      if (/^https?:/.test(value)) this.add('links', value);
    } else if (typeof value === 'object' && value !== null && depth < deepest) {
      if (Array.isArray(value)) {
        for (const item of value.slice(0, longestList)) this.walk(item, key, list, depth + 1);
        return;
      }
      const { type, id } = value as Record<string, unknown>;
      if (typeof type === 'string' && typeof id === 'string') this.add(type, id);
      for (const [name, item] of Object.entries(value).slice(0, longestList)) this.walk(item, name, list, depth + 1);
    }
  }
}
