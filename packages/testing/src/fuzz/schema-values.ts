import fc from 'fast-check';
import { names, oddTexts, oddValue, Verbatim } from './odd-values';
import type { Operations, Schema } from './operations';
import type { Pools } from './pools';
import type { Random } from './random';

/** Meaningful values for a field of this name, under any schema. */
export type Hints = Readonly<Record<string, readonly unknown[]>>;

const deepest = 7;
const examplesPerPattern = 24;
const durations = ['1s', '5s', '30s', '1m', '1h', 60, '0', ''];
const instants = ['2031-01-01T00:00:00Z', '2020-01-01T00:00:00Z', '2031-01-01T00:00:00.000+02:00'];

/** Generates JSON values from schemas: valid ones, and valid ones with one mistake. */
export class SchemaValues {
  private readonly examples = new Map<string, readonly string[]>();

  constructor(
    private readonly operations: Operations,
    private readonly random: Random,
    private readonly pools: Pools,
    private readonly hints: Hints,
  ) {}

  /** A value that fits its schema. */
  make(declared: Schema, name = '', depth = 0): unknown {
    const { random } = this;
    const schema = this.operations.schema(declared);
    if (depth > deepest) return null;
    if (schema.nullable && random.chance(0.08)) return null;
    const hints = this.hints[name];
    if (hints !== undefined && random.chance(0.75)) return this.shaped(schema, random.pick(hints));
    if (schema.enum) return random.pick(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return this.make(random.pick(choices), name, depth + 1);
    if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => this.make(part, name, depth + 1)));
    switch (schema.type) {
      case 'string':
        return this.text(schema, name);
      case 'integer':
      case 'number':
        return this.number(schema);
      case 'boolean':
        return random.chance(0.5);
      case 'array':
        return this.array(schema, name, depth);
      case 'object':
        return this.object(schema, depth);
      default:
        return schema.properties ? this.object(schema, depth) : this.anything(name);
    }
  }

  /** Changes one thing anywhere in a document. */
  spoil(value: unknown): unknown {
    const { random } = this;
    if (typeof value !== 'object' || value === null || value instanceof Verbatim || random.chance(0.15)) {
      return this.spoilt(value);
    }
    if (Array.isArray(value)) {
      if (value.length === 0 || random.chance(0.2)) return [...value, oddValue(random)];
      const at = random.below(value.length);
      return value.map((item, i) => (i === at ? this.spoil(item) : item));
    }
    const entries = Object.entries(value);
    const kind = random.next();
    if (entries.length === 0 || kind < 0.15) {
      return Object.fromEntries([...entries, [random.pick(oddTexts), oddValue(random)]]);
    }
    const at = random.below(entries.length);
    if (kind < 0.3) return Object.fromEntries(entries.filter((_entry, i) => i !== at));
    return Object.fromEntries(entries.map(([key, item], i) => [key, i === at ? this.spoil(item) : item]));
  }

  private spoilt(value: unknown): unknown {
    const { random } = this;
    if (random.chance(0.75)) return oddValue(random);
    if (typeof value === 'string') {
      const odd = random.pick(oddTexts);
      return random.pick([
        value + odd,
        odd + value,
        value.repeat(40),
        value.slice(0, -1),
        value.toUpperCase(),
        [value],
      ]);
    }
    if (typeof value === 'number') return random.pick([-value, value * 1e9, value + 0.5, String(value), `${value}s`]);
    return random.pick([[value], { value }, JSON.stringify(value)]);
  }

  private shaped(schema: Schema, hint: unknown): unknown {
    return schema.type === 'array' && !Array.isArray(hint) ? [hint] : hint;
  }

  private text(schema: Schema, name: string): string {
    const { random } = this;
    const value = random.chance(0.6) ? this.knownValue(name) : undefined;
    if (value !== undefined) return value;
    if (schema.pattern !== undefined) return random.pick(this.fitting(schema.pattern));
    if (schema.format === 'duration') return String(random.pick(durations));
    if (schema.format === 'date-time') return random.pick(instants);
    if (schema.format === 'email') return `${random.pick(['a', 'b', 'fuzz'])}@example.com`;
    const text = random.chance(0.7) ? random.pick(names) : random.pick(oddTexts);
    return text.slice(0, schema.maxLength ?? text.length).padEnd(schema.minLength ?? 0, 'x');
  }

  /** An earlier value for a field of this name: `workspace-id` may be the id of any workspace. */
  private knownValue(name: string): string | undefined {
    // `filter[team][id]` means the id of a team.
    const plain = name.replace(/^filter\[([\w-]+)\]\[(?:id|name)\]$/, '$1_id').replaceAll('-', '_');
    const singular = plain.replace(/_ids?$/, '').replaceAll('_', '-');
    return (
      this.pools.pick(plain, this.random) ??
      this.pools.pick(`${singular}s`, this.random) ??
      this.pools.pick(plain.replace(/s$/, ''), this.random)
    );
  }

  private number({ type, minimum = 0, maximum = 100 }: Schema): number {
    const { random } = this;
    if (random.chance(0.3)) return random.pick([minimum, maximum]);
    const value = minimum + random.next() * (Math.min(maximum, minimum + 1000) - minimum);
    return type === 'integer' ? Math.round(value) : value;
  }

  private array(schema: Schema, name: string, depth: number): unknown[] {
    const { random } = this;
    const least = schema.minItems ?? 0;
    const length = Math.min(schema.maxItems ?? 4, least + random.below(4));
    return Array.from({ length }, () => this.make(schema.items ?? {}, name, depth + 1));
  }

  private object(schema: Schema, depth: number): Record<string, unknown> {
    const { random } = this;
    const object: Record<string, unknown> = {};
    const properties = Object.entries(schema.properties ?? {});
    // Only a few fields at a time, because every rule between two fields is another reason to refuse the body.
    const roll = random.next();
    const share = roll < 0.35 ? 0 : roll < 0.92 ? Math.min(0.5, 2.5 / Math.max(1, properties.length)) : 1;
    for (const [key, property] of properties) {
      const structural = key === 'data' || key === 'attributes' || key === 'relationships';
      if (!schema.required?.includes(key) && !structural && !random.chance(share)) continue;
      // Related values are generated together: type and id match.
      const type = key === 'id' && schema.properties?.type && this.operations.schema(schema.properties.type).enum?.[0];
      const id = typeof type === 'string' && random.chance(0.9) ? this.pools.pick(type, this.random) : undefined;
      object[key] = id ?? this.make(property, key, depth + 1);
    }
    if (properties.length === 0 && schema.additionalProperties !== false) {
      const inner = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
      for (let i = random.below(3); i > 0; i--) object[random.pick(names)] = this.make(inner, '', depth + 1);
    }
    return object;
  }

  private anything(name: string): unknown {
    const { random } = this;
    const value = random.chance(0.5) ? this.knownValue(name) : undefined;
    return value ?? random.pick<unknown>([random.pick(names), random.below(100), true, { a: 'b' }, ['a'], '60s']);
  }

  private fitting(pattern: string): readonly string[] {
    let found = this.examples.get(pattern);
    if (found === undefined) {
      found = examplesOf(pattern);
      this.examples.set(pattern, found);
    }
    return found;
  }
}

function examplesOf(pattern: string): readonly string[] {
  try {
    const texts = fc.stringMatching(new RegExp(pattern, 'u'), { size: 'small' });
    return fc.sample(texts, { seed: 20_261_122, numRuns: examplesPerPattern });
  } catch {
    // The library cannot generate strings for every pattern.
    return names;
  }
}
