import { ExactNumber } from '@keystead/envelope';
import { parseDuration } from './duration';

/** A failed conversion: the message after `error converting input …:`. `whole` replaces the complete message. */
export class Failure {
  constructor(
    readonly message: string,
    readonly whole = false,
  ) {}
}

/** True for JSON objects, false for arrays, null and plain values. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** The maximum number of elements of a list or map field. Decision 0060. */
export const maxElements = 10_000;

/** The maximum length of a value that a refusal prints. */
const longestShown = 200;

/**
 * A value as refusals print it, in the notation that clients expect: `zz`, `[a b]`, `map[k:v]`. Only the shown part of
 * a long value is read.
 */
export function shown(value: unknown): string {
  const text = printed(value, longestShown + 1);
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`;
}

/** The printed value if it is no longer than `most`; otherwise a longer prefix of it. */
function printed(value: unknown, most: number): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return series('[', value, (item, room) => printed(item, room), most);
  if (!isObject(value)) return String(value).slice(0, most);
  const keys = Object.keys(value).sort();
  return series('map[', keys, (key, room) => `${key.slice(0, room)}:${printed(value[key], room)}`, most);
}

function series<T>(head: string, items: readonly T[], print: (item: T, room: number) => string, most: number): string {
  let text = head;
  for (const [index, item] of items.entries()) {
    if (text.length >= most) return text;
    text += `${index === 0 ? '' : ' '}${print(item, most)}`;
  }
  return `${text}]`;
}

/** The refusal of a field whose value cannot be converted, in the wording that clients expect. */
export function fieldProblem(field: string, input: string, reason: string): string {
  return `Field validation failed: error converting input ${input} for field "${field}": ${reason}`;
}

/** The JSON type of a value, as a strict decoder names it. */
export function jsonKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value instanceof ExactNumber) return `number ${shown(value)}`;
  if (typeof value === 'boolean') return 'bool';
  return typeof value;
}

/** Converts to text: a string, a number (with the digits that were sent), or a boolean (`1`, `0`). */
export function toText(value: unknown, at = ''): string | Failure {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  return unconvertible(value, 'string', at);
}

/** Converts to a whole number: a number, numeric text (empty text is 0), or a boolean. */
export function toInt(value: unknown): number | Failure {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value === '') return 0;
  if (typeof value !== 'string' && typeof value !== 'number' && !(value instanceof ExactNumber)) {
    return unconvertible(value, 'int');
  }
  const text = String(value);
  // A number such as 5.0 or 1e3 is whole; text must consist of digits.
  const isWhole = typeof value === 'string' ? wholeText.test(text) : Number.isInteger(Number(text));
  if (isWhole && Number.isSafeInteger(Number(text))) return Number(text) + 0;
  return unparsable('int', 'ParseInt', text, isWhole ? 'value out of range' : 'invalid syntax');
}

const wholeText = /^([+-]?\d+|0[xX][\da-fA-F]+)$/;

/** Converts to a boolean: a boolean, text (`"true"`, `"0"`; empty text is false), or 1 and 0. */
export function toBool(value: unknown): boolean | Failure {
  if (typeof value === 'boolean') return value;
  if (Array.isArray(value) || isObject(value)) return unconvertible(value, 'bool');
  const text = String(value);
  if (trueTexts.has(text)) return true;
  return falseTexts.has(text) ? false : unparsable('bool', 'ParseBool', text, 'invalid syntax');
}

const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts = new Set(['', '0', 'f', 'F', 'false', 'FALSE', 'False']);

/** Converts to seconds: a whole number, or text with or without units. */
export function toSeconds(value: unknown): number | Failure {
  if (typeof value !== 'string' && typeof value !== 'number' && !(value instanceof ExactNumber)) {
    return new Failure('could not parse duration from input');
  }
  // A number such as 5.0 or 1e3 is whole, however it was written.
  const text = typeof value !== 'string' && Number.isInteger(Number(value)) ? String(Number(value)) : String(value);
  return parseDuration(text) ?? new Failure(durationProblem(text));
}

function durationProblem(text: string): string {
  const quoted = JSON.stringify(shown(text));
  const start = durationStart.exec(text.slice(0, longestDuration));
  if (!start) return `time: invalid duration ${quoted}`;
  const unit = start[1]!;
  if (unit === '') return `time: ${/^[+-]?\d+$/.test(text) ? 'invalid' : 'missing unit in'} duration ${quoted}`;
  return knownUnits.test(unit)
    ? `time: invalid duration ${quoted}`
    : `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
}

/** Longer strings are not durations; the rest is not read. */
const longestDuration = 100;
const durationStart = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|[smhd]))*(?:\d+(?:\.\d*)?|\.\d+)([^\d.]*)/;
const knownUnits = /^(ns|us|µs|μs|ms|[smhd])$/;

/** The failure of a field with too many elements; undefined if there are not too many. */
export function tooManyElements(value: unknown): Failure | undefined {
  const count = Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
  return count > maxElements ? new Failure(`more than ${maxElements} elements`) : undefined;
}

/** A list of strings from an array; anything else becomes its only element, except empty values (`""`, `{}`). */
export function toList(value: unknown): string[] | Failure {
  if (value === '' || (isObject(value) && Object.keys(value).length === 0)) return [];
  const failures: string[] = [];
  const list = (Array.isArray(value) ? value : [value]).map((item: unknown, at) => {
    const text = item === null ? '' : toText(item, `[${at}]`);
    if (!(text instanceof Failure)) return text;
    failures.push(text.message);
    return '';
  });
  return failures.length === 0 ? list : severally(failures);
}

/** Converts to pairs: an object, a list of objects, a list of `key=value` strings, or one such string. */
export function toPairs(value: unknown): Record<string, string> | Failure {
  const pairs: Record<string, string> = {};
  const objects = isObject(value) ? [value] : Array.isArray(value) && value.every(isObject) ? value : undefined;
  const items = objects?.flatMap((object) => Object.entries(object));
  if (items?.every(([, item]) => !Array.isArray(item) && !isObject(item))) {
    for (const [key, item] of items) define(pairs, key, item === null ? '' : (toText(item) as string));
    return pairs;
  }
  const list = toList(value);
  if (list instanceof Failure) return list;
  for (const item of list) {
    const at = item.indexOf('=');
    if (at < 1) return new Failure(`invalid key pair ${JSON.stringify(shown(item))}`);
    define(pairs, item.slice(0, at), item.slice(at + 1));
  }
  return pairs;
}

/** An object; a list of objects is merged. */
export function toObject(value: unknown, at = ''): Record<string, unknown> | Failure {
  if (isObject(value)) return value;
  if (!Array.isArray(value)) return new Failure(`'${at}' expected a map, got '${scalarKind(value)}'`);
  const merged: Record<string, unknown> = {};
  for (const [index, item] of value.entries()) {
    const object = toObject(item, `${at}[${index}]`);
    if (object instanceof Failure) return object;
    for (const [key, one] of Object.entries(object)) define(merged, key, one);
  }
  return merged;
}

/** A list of objects; a single object becomes the only element. */
export function toObjects(value: unknown): Record<string, unknown>[] | Failure {
  const failures: string[] = [];
  const list = (Array.isArray(value) ? value : [value]).map((item: unknown, at) => {
    const object = toObject(item, `[${at}]`);
    if (!(object instanceof Failure)) return object;
    failures.push(object.message);
    return {};
  });
  if (failures.length > 0) return severally(failures);
  return isObject(value) && Object.keys(value).length === 0 ? [] : list;
}

/** Defines an own property, even for names like `__proto__`. */
function define<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

function unconvertible(value: unknown, expectedType: string, at = ''): Failure {
  const kind = Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
  return new Failure(
    `'${at}' expected type '${expectedType}', got unconvertible type '${kind}', value: '${shown(value)}'`,
  );
}

function unparsable(expectedType: string, reader: string, text: string, reason: string): Failure {
  const quoted = JSON.stringify(shown(text));
  return new Failure(`cannot parse '' as ${expectedType}: strconv.${reader}: parsing ${quoted}: ${reason}`);
}

/** The maximum number of failures that are listed. The rest of a long list is only counted. */
const listedFailures = 10;

function severally(failures: readonly string[]): Failure {
  const listed = failures.slice(0, listedFailures).map((text) => `* ${text}`);
  if (failures.length > listedFailures) listed.push(`* and ${failures.length - listedFailures} more`);
  return new Failure(`${failures.length} error(s) decoding:\n\n${listed.join('\n')}`);
}

function scalarKind(value: unknown): string {
  return typeof value === 'boolean' ? 'bool' : 'string';
}
