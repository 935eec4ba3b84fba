import { createHmac, type KeyObject } from 'node:crypto';
import { ExactNumber } from '@keystead/envelope';

/** Turns a string into its keyed hash. */
export type HashText = (text: string) => string;

/** Names of fields that stay in the clear; `all` means every field. */
export type ClearFields = readonly string[] | 'all' | undefined;

/** How values and keys are written to a line. */
interface LeafRules {
  readonly hash: HashText;
  /** Names whose strings and numbers are not hashed, at any depth. */
  readonly named?: ReadonlySet<string>;
  /** Whether keys are input of a caller, and are hashed like values. */
  readonly hidesKeys?: boolean;
}

/** Length of a hash in a line, with its quotes. */
const hashLength = 78;

/** The text of some fields for a line. */
export interface ShownFields {
  /** The members of a JSON object, without its braces, with every string and number replaced by its keyed hash. */
  readonly text: string;
  /** False if fields were omitted because they are undeclared or there was no space for them. */
  readonly whole: boolean;
}

/**
 * Fields for a line. Every string and number in them, at any depth, is replaced by its keyed hash. Booleans, null,
 * fields in `clear`, names in `named` and keys are not hashed, except keys that look like a token or that are names in
 * a list. Fields outside `declared`, and fields that do not fit into `room` characters, are omitted before they cost
 * time.
 */
export function shownFields(
  fields: object,
  hash: HashText,
  rules: Omit<LeafRules, 'hash'> & {
    readonly clear?: ClearFields;
    readonly declared?: ReadonlySet<string>;
    readonly room: number;
  },
): ShownFields {
  const { clear, declared, named, hidesKeys = false } = rules;
  const leaves = { hash, named, hidesKeys };
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
    const member = isClear ? `${JSON.stringify(key)}:${plainText(item)}` : hashedMember(key, item, leaves);
    room -= member.length + 1;
    text += text === '' ? member : `,${member}`;
  }
  return { text, whole };
}

/** The strings of more than `length` characters in a value. */
export function longTexts(value: unknown, length: number, into: Set<string> = new Set()): Set<string> {
  if (typeof value === 'string') {
    if (value.length > length) into.add(value);
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) longTexts(item, length, into);
  }
  return into;
}

/** The approximate length of a value in the line; stops counting above `most`. */
function lengthOf(value: unknown, isClear: boolean, most: number): number {
  if (typeof value === 'string') return isClear ? value.length + 2 : hashLength;
  if (typeof value === 'number' || value instanceof ExactNumber) return isClear ? 20 : hashLength;
  if (value === null || typeof value !== 'object') return 5;
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

/** The prefixes of tokens of this service, Vault and OpenBao. A string with such a prefix is never a name. */
const likeToken = /^(?:hv)?[sbr]\.[\w-]{20,}/;

function hashedMember(key: string, value: unknown, rules: LeafRules): string {
  if (rules.named?.has(key) && isPlain(value)) return `${JSON.stringify(key)}:${plainText(value)}`;
  // The details of a list; the names themselves are hashed in `keys`.
  const below = key === 'key_info' ? { ...rules, hidesKeys: true } : rules;
  const isHidden = rules.hidesKeys || likeToken.test(key);
  // Only the names in the list are hidden, not the names of their details.
  const inside = rules.hidesKeys ? { ...rules, hidesKeys: false } : below;
  return `${isHidden ? `"${rules.hash(key)}"` : JSON.stringify(key)}:${hashedText(value, inside)}`;
}

/**
 * Whether a value is a string, number, boolean or null, or a list of them. Only such a value may stay unhashed under a
 * name in `named`.
 */
const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isScalar) : isScalar(value) || value instanceof ExactNumber;

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object';

function hashedText(value: unknown, rules: LeafRules): string {
  const { hash } = rules;
  if (typeof value === 'string') return `"${hash(value)}"`;
  if (typeof value === 'number') return `"${hash(String(value))}"`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (value instanceof ExactNumber) return `"${hash(value.digits)}"`;
  if (Array.isArray(value)) {
    let text = '[';
    for (let i = 0; i < value.length; i++) text += (i === 0 ? '' : ',') + hashedText(value[i], rules);
    return `${text}]`;
  }
  let text = '{';
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    text += `${text.length === 1 ? '' : ','}${hashedMember(key, item, rules)}`;
  }
  return `${text}}`;
}

function plainText(value: unknown): string {
  return JSON.stringify(value, (_key, item) => (item instanceof ExactNumber ? Number(item.digits) : item)) ?? 'null';
}

/** Characters that are hashed in one turn of the event loop: about a millisecond. */
const sliceLength = 512 * 1024;

/** The keyed hash of a string or bytes, as in the lines. */
export function keyedHash(key: KeyObject, text: string | Uint8Array): string {
  return `hmac-sha256:${createHmac('sha256', key).update(text).digest('hex')}`;
}

/** Computes the same hash in slices, over several turns of the event loop. */
export async function keyedHashInSlices(key: KeyObject, text: string | Uint8Array): Promise<string> {
  const hmac = createHmac('sha256', key);
  for (let from = 0; from < text.length; ) {
    if (from > 0) await new Promise((resolve) => setImmediate(resolve));
    const to = typeof text === 'string' ? endOfSlice(text, from + sliceLength) : from + sliceLength;
    hmac.update(typeof text === 'string' ? text.slice(from, to) : text.subarray(from, to));
    from = to;
  }
  return `hmac-sha256:${hmac.digest('hex')}`;
}

// A surrogate pair must not be split.
function endOfSlice(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  return before >= 0xd800 && before <= 0xdbff ? at + 1 : at;
}
