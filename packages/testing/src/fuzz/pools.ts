import { Few } from './few';
import type { Places } from './places';
import type { Random } from './random';

const perPool = 48;
const deepest = 8;
const longestList = 40;

/** Values from answers (ids, names, accessors, tokens, links), by name, for all callers of a program to send again. */
export class Pools {
  private readonly pools = new Map<string, Few>();
  private readonly plainNames = new Map<string, string>();

  /**
   * `never` holds values that must not be sent again, because they would end the caller. `origin` precedes paths in links.
   */
  constructor(
    private readonly never: ReadonlySet<string>,
    private readonly places: Places,
    private readonly origin: string,
  ) {}

  add(pool: string, value: string): void {
    if (value === '' || value.length > 600 || this.never.has(value)) return;
    let values = this.pools.get(pool);
    if (values === undefined) {
      values = new Few(perPool);
      this.pools.set(pool, values);
    }
    values.add(value);
  }

  remove(pool: string, value: string): void {
    this.pools.get(pool)?.remove(value);
  }

  pick(pool: string, random: Random): string | undefined {
    return this.pools.get(pool)?.pick(random);
  }

  /** Collects the values in an answer. */
  harvest(value: unknown): void {
    this.walk(value, '', 0);
  }

  private walk(value: unknown, key: string, depth: number): void {
    if (typeof value === 'string') this.addText(key, value);
    else if (typeof value === 'object' && value !== null && depth < deepest) {
      if (Array.isArray(value)) {
        for (let i = 0; i < value.length && i < longestList; i++) this.walk(value[i], key, depth + 1);
        return;
      }
      const { type, id } = value as Record<string, unknown>;
      if (typeof type === 'string' && typeof id === 'string') {
        this.add(type, id);
        this.places.learnResource(type, id);
        const { token } = ((value as Record<string, unknown>).attributes ?? {}) as { token?: unknown };
        if (typeof token === 'string') this.add(`token of ${type}`, token);
      }
      let fields = 0;
      for (const name in value) {
        if (fields++ === longestList) break;
        this.walk((value as Record<string, unknown>)[name], name, depth + 1);
      }
    }
  }

  private addText(key: string, value: string): void {
    let plain = this.plainNames.get(key);
    if (plain === undefined) {
      plain = key.replaceAll('-', '_');
      // Otherwise the number of made-up names would grow without limit.
      if (this.plainNames.size < 2000) this.plainNames.set(key, plain);
    }
    if (this.pools.size < 3000 || this.pools.has(plain)) this.add(plain, value);
    if (value.startsWith(this.origin)) {
      this.add('links', value);
      this.places.learn(value.slice(this.origin.length));
    } else if (value.startsWith('/')) this.places.learn(value);
    else if (value.startsWith('http')) this.add('links', value);
  }
}
