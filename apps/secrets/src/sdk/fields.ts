import { z } from 'zod';
import { parseDuration } from './duration';

/**
 * Lenient wire fields: each accepts what clients of this protocol really send, answers one clean type, refuses with the
 * exact text clients match on, and carries its own JSON schema (`meta.json`), because a transform cannot be exported.
 * `undefined` and null never reach a field: null means not given, and is dropped before parsing.
 */
export interface FieldMeta {
  readonly json: Readonly<Record<string, unknown>>;
}

type Convert<T> = (value: unknown) => T | Failure;

/** A failed conversion: the text after `error converting input …:`; `whole` replaces the complete error text. */
class Failure {
  constructor(
    readonly message: string,
    readonly whole = false,
  ) {}
}

function field<T>(json: Record<string, unknown>, convert: Convert<T>, hidden = false) {
  return z
    .unknown()
    .transform((value, ctx): T => {
      if (value === undefined) {
        ctx.issues.push({ code: 'custom', message: 'required', params: { missing: true }, input: value });
        return z.NEVER;
      }
      const result = convert(value);
      if (!(result instanceof Failure)) return result;
      ctx.issues.push({
        code: 'custom',
        message: result.message,
        params: { whole: result.whole, hidden },
        input: value,
      });
      return z.NEVER;
    })
    .meta({ json });
}

/** A string; numbers and booleans are taken as their text. */
export const string = () => field({ type: 'string' }, toText);

/** A string that is kept out of every error text. */
export const secretString = () => field({ type: 'string', format: 'password' }, toText, true);

/** A string out of a closed list, compared exactly; `text` is the whole refusal. */
export const oneOf = <const T extends readonly string[]>(values: T, text?: (value: string) => string) =>
  field<T[number]>({ type: 'string', enum: [...values] }, (value) => {
    const given = toText(value);
    if (given instanceof Failure) return given;
    if (values.includes(given)) return given;
    return text ? new Failure(text(given), true) : new Failure(`must be one of ${values.join(', ')}`);
  });

/** A whole number, from a number or numeric text. */
export const int = () => field({ type: 'integer' }, toInt);

/** True or false, also from text (`"true"`, `"0"`) and from 1 and 0. */
export const bool = () =>
  field({ type: 'boolean' }, (value) => {
    if (typeof value === 'boolean') return value;
    const given = toText(value);
    if (given instanceof Failure) return given;
    if (trueTexts.has(given)) return true;
    if (falseTexts.has(given)) return false;
    return new Failure(`cannot parse '' as bool: strconv.ParseBool: parsing ${JSON.stringify(given)}: invalid syntax`);
  });

const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts = new Set(['', '0', 'f', 'F', 'false', 'FALSE', 'False']);

/** A lifetime in whole seconds: from a number, numeric text, or text with units (`1h30m`, `1d`). Negatives are refused. */
export const duration = () =>
  field({ type: 'string', format: 'duration', description: 'Seconds, or text with a unit such as 30s or 1h.' }, (v) => {
    const seconds = toSeconds(v);
    if (typeof seconds === 'number' && seconds < 0) {
      return new Failure(`cannot provide negative value '${shown(v)}'`);
    }
    return seconds;
  });

/** A lifetime that may be negative; what a negative one means is said by the operation. */
export const signedDuration = () => field({ type: 'string', format: 'duration' }, toSeconds);

/** A list from an array, or from text split at commas; elements trimmed, empty ones dropped. */
export const commaList = () =>
  field(listOfText, (value) => {
    const list = typeof value === 'string' ? value.split(',') : toList(value);
    return list instanceof Failure ? list : list.map((item) => item.trim()).filter((item) => item !== '');
  });

/** A list from an array; a lone text becomes one element, commas and all. */
export const stringList = () => field(listOfText, toList);

const listOfText = { type: 'array', items: { type: 'string' } };

/** A map of text to text: from an object, a list of `key=value`, or one such text. */
export const keyValues = () =>
  field<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }, (value) => {
    const pairs: Record<string, string> = {};
    if (isObject(value)) {
      for (const [key, item] of Object.entries(value)) {
        const text = toText(item);
        if (text instanceof Failure) return text;
        define(pairs, key, text);
      }
      return pairs;
    }
    const list = toList(value);
    if (list instanceof Failure) return list;
    for (const item of list) {
      if (item === '' && list.length === 1) continue;
      const at = item.indexOf('=');
      if (at < 0) return new Failure(`invalid key pair "${item}"`);
      define(pairs, item.slice(0, at).trim(), item.slice(at + 1).trim());
    }
    return pairs;
  });

/** An object of any JSON values. */
export const object = () =>
  field<Record<string, unknown>>({ type: 'object' }, (value) =>
    isObject(value) ? value : new Failure(`'' expected a map, got '${kindOf(value)}'`),
  );

/** A list of objects of any JSON values. */
export const objectList = () =>
  field<Record<string, unknown>[]>({ type: 'array', items: { type: 'object' } }, (value) =>
    Array.isArray(value) && value.every(isObject) ? value : new Failure(`'' expected a list of maps`),
  );

/** Any JSON value, as it came. */
export const anything = () => field<unknown>({}, (value) => value);

/** Defines an own key even where its name is one that assignment treats specially. */
export function define<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

/** True for JSON objects, false for arrays, null and plain values. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as refusals print it: short scalars as they are, everything else by its kind. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.length <= 200 ? value : `${value.slice(0, 200)}…`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return kindOf(value);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value === 'object' ? 'map' : typeof value;
}

function toText(value: unknown): string | Failure {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  return new Failure(`'' expected type 'string', got unconvertible type '${kindOf(value)}'`);
}

function toInt(value: unknown): number | Failure {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number') {
    return Number.isFinite(value) && Number.isSafeInteger(Math.trunc(value))
      ? Math.trunc(value)
      : new Failure('value out of range');
  }
  if (typeof value === 'string') {
    if (/^[+-]?\d+$/.test(value) && Number.isSafeInteger(Number(value))) return Number(value);
    const quoted = JSON.stringify(value);
    return new Failure(`cannot parse '' as int: strconv.ParseInt: parsing ${quoted}: invalid syntax`);
  }
  return new Failure(`'' expected type 'int', got unconvertible type '${kindOf(value)}'`);
}

function toSeconds(value: unknown): number | Failure {
  if (typeof value !== 'string' && typeof value !== 'number') {
    return new Failure('could not parse duration from input');
  }
  return parseDuration(String(value)) ?? new Failure(`time: invalid duration "${shown(value)}"`);
}

function toList(value: unknown): string[] | Failure {
  if (!Array.isArray(value)) {
    const text = toText(value);
    return text instanceof Failure
      ? new Failure(`'' expected a list, got '${kindOf(value)}'`)
      : text === ''
        ? []
        : [text];
  }
  const list: string[] = [];
  for (const item of value) {
    const text = toText(item);
    if (text instanceof Failure) return text;
    list.push(text);
  }
  return list;
}
