import { ExactNumber } from '@keystead/envelope';

/** Turns a text into its keyed hash. */
export type HashText = (text: string) => string;

/** Names of fields that may stand as they are; `all` for everything. */
export type ClearFields = readonly string[] | 'all' | undefined;

/** Length of a hash as it stands in a line, with its quotes. */
const hashLength = 78;

/** What of some fields goes into a line. */
export interface ShownFields {
  /** The members of a JSON object, without its braces: every string in them replaced by its keyed hash. */
  readonly text: string;
  /** False when something was left out: undeclared fields, and those for which there was no room. */
  readonly whole: boolean;
}

/**
 * Fields as they stand in a line: every string in them, at any depth, replaced by its keyed hash. Keys, numbers, booleans
 * and null stay, and so do fields named in `clear`. What is not in `declared`, and what would make the text longer than
 * `room` characters, is left out before it costs anything.
 */
export function shownFields(
  fields: object,
  hash: HashText,
  rules: { readonly clear?: ClearFields; readonly declared?: ReadonlySet<string>; readonly room: number },
): ShownFields {
  const { clear, declared } = rules;
  let { room } = rules;
  let text = '';
  let whole = true;
  for (const key of Object.keys(fields)) {
    const item = (fields as Record<string, unknown>)[key];
    if (item === undefined) continue;
    const isClear = clear !== undefined && (clear === 'all' || clear.includes(key));
    const length = declared && !declared.has(key) ? room : key.length + 4 + lengthOf(item, isClear, room);
    if (length >= room) {
      whole = false;
      continue;
    }
    const member = `${JSON.stringify(key)}:${isClear ? plainText(item) : hashedText(item, hash)}`;
    room -= member.length + 1;
    text += text === '' ? member : `,${member}`;
  }
  return { text, whole };
}

/** The texts of more than `length` characters in a value. */
export function longTexts(value: unknown, length: number, into: Set<string> = new Set()): Set<string> {
  if (typeof value === 'string') {
    if (value.length > length) into.add(value);
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) longTexts(item, length, into);
  }
  return into;
}

/** About the length of what a value becomes; stops counting above `most`. */
function lengthOf(value: unknown, isClear: boolean, most: number): number {
  if (typeof value === 'string') return isClear ? value.length + 2 : hashLength;
  if (value === null || typeof value !== 'object') return 5;
  if (value instanceof ExactNumber) return value.digits.length;
  let length = 2;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && length <= most; i++) length += 1 + lengthOf(value[i], isClear, most);
    return length;
  }
  for (const key of Object.keys(value)) {
    if (length > most) break;
    length += key.length + 4 + lengthOf((value as Record<string, unknown>)[key], isClear, most);
  }
  return length;
}

function hashedText(value: unknown, hash: HashText): string {
  if (typeof value === 'string') return `"${hash(value)}"`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (value instanceof ExactNumber) return value.digits;
  if (Array.isArray(value)) {
    let text = '[';
    for (let i = 0; i < value.length; i++) text += (i === 0 ? '' : ',') + hashedText(value[i], hash);
    return `${text}]`;
  }
  let text = '{';
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    text += `${text.length === 1 ? '' : ','}${JSON.stringify(key)}:${hashedText(item, hash)}`;
  }
  return `${text}}`;
}

function plainText(value: unknown): string {
  return JSON.stringify(value, (_key, item) => (item instanceof ExactNumber ? Number(item.digits) : item)) ?? 'null';
}
