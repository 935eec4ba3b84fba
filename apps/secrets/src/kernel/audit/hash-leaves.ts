import { ExactNumber } from '../../sdk/json-text';

/** Turns a text into its keyed hash. */
export type HashText = (text: string) => string;

/** Names of fields that may stand as they are; `all` for everything. */
export type ClearFields = readonly string[] | 'all' | undefined;

/**
 * JSON text of a value with every string in it replaced by its keyed hash, at any depth. Keys, numbers, booleans and
 * null stay. Top-level fields named in `clear` stay whole.
 */
export function hashedText(value: unknown, hash: HashText, clear?: ClearFields): string {
  if (clear === 'all') return plainText(value);
  if (value === null || typeof value !== 'object') return leaf(value, hash);
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
    const shown = clear?.includes(key) ? plainText(item) : hashedText(item, hash);
    text += `${text.length === 1 ? '' : ','}${JSON.stringify(key)}:${shown}`;
  }
  return `${text}}`;
}

function leaf(value: unknown, hash: HashText): string {
  if (typeof value === 'string') return `"${hash(value)}"`;
  return JSON.stringify(value) ?? 'null';
}

function plainText(value: unknown): string {
  return JSON.stringify(value, (_key, item) => (item instanceof ExactNumber ? Number(item.digits) : item)) ?? 'null';
}
