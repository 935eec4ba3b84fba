import { named, type ScimAttribute } from './attributes';
import { ScimRefusal } from './dialect';

/** The attributes of a resource, under the names of the schema. */
export type ScimValues = Record<string, unknown>;

const longestText = 1024;
/** The maximum number of values of a multi-valued attribute. */
export const mostValues = 100;
/** The maximum number of characters of all data of one person as JSON. */
const largest = 32_768;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads the attributes that a client sends. Names ignore case. Read-only attributes are skipped, null and empty lists
 * are treated as absent, and unknown attributes are refused with their name.
 */
export function readValues(sent: unknown, attributes: readonly ScimAttribute[]): ScimValues {
  if (!isObject(sent)) throw new ScimRefusal('invalidSyntax', 'Send an object.');
  const values: ScimValues = {};
  for (const [key, value] of Object.entries(sent)) {
    const attribute = named(attributes, key);
    if (attribute === undefined)
      throw new ScimRefusal('invalidValue', `${shortened(key)} is not a supported attribute.`);
    if (attribute.kind === 'readOnly') continue;
    const read = readValue(attribute, value);
    if (read !== undefined) values[attribute.name] = read;
  }
  for (const { name, required } of attributes) {
    if (required && values[name] === undefined) throw new ScimRefusal('invalidValue', `${name} is missing.`);
  }
  if (JSON.stringify({ ...values, members: undefined }).length > largest) {
    throw new ScimRefusal('invalidValue', `The attributes are larger than ${largest} characters.`);
  }
  return values;
}

/** Parses the value of one attribute; undefined if the attribute has no value. */
export function readValue(attribute: ScimAttribute, value: unknown): unknown {
  const { name, kind } = attribute;
  if (value === null || value === undefined) return undefined;
  switch (kind) {
    case 'flag':
      return readFlag(name, value);
    case 'complex':
      return readParts(attribute, value);
    case 'plural': {
      // Clients may send a single value without a list.
      const list = Array.isArray(value) ? value : [value];
      if (list.length > mostValues && name !== 'members') throw bad(name, `has more than ${mostValues} values`);
      return list.length === 0 ? undefined : list.map((one) => readParts(attribute, one));
    }
    default:
      return readText(name, value);
  }
}

function readText(name: string, value: unknown): string | undefined {
  if (typeof value !== 'string') throw bad(name, 'must be a string');
  if (value.length > longestText) throw bad(name, `is longer than ${longestText} characters`);
  return value === '' ? undefined : value;
}

/** Parses a boolean, which some directories send as a word. */
function readFlag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  if (word === 'true' || word === 'false') return word === 'true';
  throw bad(name, 'must be true or false');
}

function readParts({ name, parts = [] }: ScimAttribute, value: unknown): ScimValues {
  if (!isObject(value)) throw bad(name, 'must be an object');
  const names = parts.map((part) => ({ name: part }));
  const read: ScimValues = {};
  for (const [key, inner] of Object.entries(value)) {
    const part = named(names, key)?.name;
    if (part === undefined) throw bad(name, `has no part ${shortened(key)}`);
    const one = readPart(`${name}.${part}`, part, inner);
    if (one !== undefined) read[part] = one;
  }
  return read;
}

/**
 * Parses a part of a value: `primary` is a boolean, a manager may be an object of strings, and everything else is a
 * string.
 */
export function readPart(at: string, part: string, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (part === 'primary') return readFlag(at, value);
  if (part === 'manager' && isObject(value)) {
    const inner = {
      name: 'manager',
      kind: 'complex',
      parts: ['value', '$ref', 'displayName'],
      description: '',
    } as const;
    return readParts(inner, value);
  }
  return readText(at, value);
}

/** A name, shortened for an error message. */
export const shortened = (name: string): string => JSON.stringify(name.slice(0, 100));

const bad = (name: string, message: string) => new ScimRefusal('invalidValue', `${name} ${message}.`);
