import { ExactNumber, mayBeInexact, parseExact } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';

/** Fields of a body, and whether some number in them is held by its digits. */
export interface BodyFields {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly exact: boolean;
}

const halfOfCharacter = /\p{Surrogate}/u;
/** Lone halves come only by an escape: bytes are read as UTF-8, which has none. */
const mayHoldHalves = /\\u[dD][89a-fA-F]/;

/**
 * Reads a JSON object that was looked over. Duplicate keys: the last wins. Numbers keep their digits. Throws
 * `malformed` with a text that quotes no more than one character of the body, and the names of fields.
 */
export function parseJsonBody(text: string): BodyFields {
  const exact = mayBeInexact(text);
  const value = exact ? parseExactly(text) : parseNatively(text);
  if (value === null) return { fields: {}, exact: false };
  if (typeof value !== 'object' || Array.isArray(value) || value instanceof ExactNumber) {
    const kind = Array.isArray(value)
      ? 'array'
      : value instanceof ExactNumber
        ? 'number'
        : typeof value === 'boolean'
          ? 'bool'
          : typeof value;
    const text = `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
    throw new Refusal('malformed', `failed to decode JSON input: ${text}`);
  }
  if (mayHoldHalves.test(text)) requireWhole(value, []);
  return { fields: value as Record<string, unknown>, exact };
}

/** Other systems replace half of a character or refuse the whole answer: what is read back would not be what was sent. */
function requireWhole(value: unknown, at: string[]): void {
  if (typeof value === 'string' && halfOfCharacter.test(value)) {
    throw new Refusal('malformed', `${at.join('.') || 'the body'} contains half of a character`);
  }
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return;
  for (const [key, inner] of Object.entries(value)) {
    requireWhole(key, at);
    at.push(key);
    requireWhole(inner, at);
    at.pop();
  }
}

function parseNatively(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw undecodable(text, error);
  }
}

function parseExactly(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    // The native parser has the position in its message; the exact one is not asked twice.
    try {
      JSON.parse(text);
    } catch (native) {
      throw undecodable(text, native);
    }
    throw undecodable(text, error);
  }
}

function undecodable(text: string, error: unknown): Refusal {
  const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
  const at = position === undefined ? undefined : text.charAt(Number(position));
  return new Refusal(
    'malformed',
    at
      ? `failed to decode JSON input: invalid character ${at === "'" ? `'\\''` : `'${printable(at)}'`}`
      : 'failed to decode JSON input: unexpected end of JSON input',
  );
}

function printable(character: string): string {
  return character < ' ' ? JSON.stringify(character).slice(1, -1) : character;
}
