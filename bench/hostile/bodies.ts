import type { Schema } from './document';
import { type Hints, makeValue } from './worst-values';

/** The limits of a sender. */
export interface Bounds {
  readonly bytes: number;
  /** Values of any kind, at any depth. */
  readonly values: number;
  readonly levels: number;
  /** Elements of a declared list. */
  readonly elements: number;
}

/** A body that a sender may send, and why it is expensive. */
export interface Body {
  readonly kind: string;
  readonly media: string;
  /**
   * Generates the body. It is called only when the body is sent, because thousands of bodies of some MiB each do not
   * fit into memory.
   */
  text(): string;
}

/** Bytes that are left free for the headers, and for the values around the many small ones. */
const slack = 40;

/**
 * The most expensive bodies within the bounds: each declared field in turn with the maximum length, and undeclared
 * fields in all shapes. `inside` is the place of the fields in a document.
 */
export function bodiesFor(media: string, schema: Schema, bounds: Bounds, hints: Hints, form: boolean): Body[] {
  const json = (kind: string, value: () => unknown): Body => ({ kind, media, text: () => textOf(value()) });
  const filled = (size: Partial<Record<'string' | 'array' | 'object' | 'any', number>>, text?: string) =>
    makeValue(schema, { bounds, hints: {}, size, text });
  const strings = countOf(schema, 'string');
  const each = Math.floor((bounds.bytes - 2000) / Math.max(1, strings));
  const half = Math.floor(each / 4);
  const lists = Math.max(1, countOf(schema, 'array'));
  const maps = Math.max(1, countOf(schema, 'object'));
  const most = bounds.values - slack - 4 * (strings + lists + maps);
  const bodies: Body[] = [
    json('as meant', () => filled({})),
    json('long texts', () => filled({ string: each })),
    json('unicode', () => filled({ string: half }, '😀')),
    json('commas', () => filled({ string: Math.min(each, 2 * bounds.elements) }, 'a,')),
    json('escapes', () => filled({ string: Math.floor(each / 6) }, '\u0001')),
    json('lists', () => filled({ array: Math.min(bounds.elements, Math.floor(most / lists / 2)) })),
    json('maps', () => filled({ object: Math.min(bounds.elements, Math.floor(most / maps)) })),
    { kind: 'keys', media, text: () => within(schema, keys(bounds.values - slack)) },
    { kind: 'list', media, text: () => within(schema, `"undeclared":[${'1,'.repeat(bounds.values - slack)}1]`) },
    {
      kind: 'objects',
      media,
      text: () => within(schema, `"undeclared":[${'{},'.repeat(bounds.values / 2 - slack)}{}]`),
    },
    { kind: 'depth', media, text: () => within(schema, deep(bounds)) },
    { kind: 'exact numbers', media, text: () => within(schema, `"undeclared":[${'1.10,'.repeat(numbers(bounds))}1]`) },
    { kind: 'one text', media, text: () => within(schema, `"undeclared":"${'x'.repeat(bounds.bytes - 2000)}"`) },
    { kind: 'not JSON', media, text: () => `{"undeclared":"${'x'.repeat(bounds.bytes - 2000)}` },
  ];
  for (const field of fieldsOf(schema)) {
    for (const [index, worst] of (hints[field] ?? []).entries()) {
      const text = () => textOf(makeValue(schema, { bounds, hints: { [field]: [worst] }, size: {} }));
      bodies.push({ kind: `${field} ${index + 1}`, media, text });
    }
  }
  if (form) {
    const asForm = 'application/x-www-form-urlencoded';
    const bytes = Math.min(bounds.bytes, 1024 * 1024);
    bodies.push(
      { kind: 'form fields', media: asForm, text: () => 'k=v&'.repeat(Math.min(bounds.values - 1, bytes / 4)) },
      { kind: 'form names', media: asForm, text: () => formNames(bounds.values - 1, bytes) },
      { kind: 'form escapes', media: asForm, text: () => `k=${'%41'.repeat((bytes - 2) / 3)}` },
    );
  }
  return bodies.filter(({ text }) => Buffer.byteLength(text()) <= bounds.bytes);
}

/** Strings are sent unchanged; other values become JSON. */
const textOf = (value: unknown): string => JSON.stringify(value) ?? '{}';

const numbers = ({ values, bytes }: Bounds) => Math.min(values - slack, Math.floor(bytes / 5) - slack);
const keys = (count: number) => Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',');
const deep = ({ levels, values }: Bounds) => {
  const nests = levels - 6;
  const times = Math.floor((values - slack) / nests);
  return `"undeclared":[${Array.from({ length: times }, () => '['.repeat(nests - 1) + ']'.repeat(nests - 1)).join(',')}]`;
};

function formNames(count: number, bytes: number): string {
  let text = '';
  for (let n = 0; n < count && text.length < bytes - 20; n++) text += `k${n}=&`;
  return text;
}

/** Additional fields, at their place in a document. */
function within(schema: Schema, fields: string): string {
  const data = schema.properties?.data;
  if (!data?.properties) return `{${fields}}`;
  const type = data.properties.type?.enum?.[0];
  return `{"data":{${type === undefined ? '' : `"type":${JSON.stringify(type)},`}"attributes":{${fields}}}}`;
}

function countOf(schema: Schema, type: string): number {
  const here = schema.type === type && !schema.enum && !schema.properties ? 1 : 0;
  return Object.values(schema.properties ?? {}).reduce((sum, one) => sum + countOf(one, type), here);
}

function fieldsOf(schema: Schema): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, one]) => [name, ...fieldsOf(one)]);
}
