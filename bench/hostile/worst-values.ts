import type { Bounds } from './bodies';
import type { Schema } from './document';

/** The worst values that validators accept for fields of these names. */
export type Hints = Readonly<Record<string, readonly unknown[]>>;

interface Making {
  readonly bounds: Bounds;
  readonly hints: Hints;
  /** The number of characters in every string and of elements in every list and map; small if absent. */
  readonly size: Partial<Record<'string' | 'array' | 'object' | 'any', number>>;
  /** The characters of strings. */
  readonly text?: string;
}

/** A value that fits a schema, of the given size. */
export function makeValue(schema: Schema, making: Making, name = ''): unknown {
  const hinted = making.hints[name];
  if (hinted) return hinted[0];
  const { size, text = 'x' } = making;
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case 'string':
      return text.repeat(Math.max(1, Math.floor((size.string ?? 1) / text.length)));
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return false;
    case 'array': {
      const item = schema.items?.type === 'object' ? {} : 'a';
      const length = Math.min(size.array ?? 1, schema.maxItems ?? making.bounds.elements);
      return Array.from({ length }, (_, n) => (item === 'a' ? `a${n}` : item));
    }
    default:
      return objectFor(schema, making);
  }
}

function objectFor(schema: Schema, making: Making): unknown {
  if (schema.properties) {
    return Object.fromEntries(
      Object.entries(schema.properties).map(([name, one]) => [name, makeValue(one, making, name)]),
    );
  }
  const length = schema.type === 'object' ? (making.size.object ?? 1) : 1;
  return Object.fromEntries(Array.from({ length }, (_, n) => [`k${n}`, 'v']));
}
