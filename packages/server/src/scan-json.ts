/** A JSON text has too many values or is nested too deeply. */
export class JsonTooMuch extends Error {
  override readonly name = 'JsonTooMuch';
  constructor(
    readonly bound: 'values' | 'levels',
    readonly limit: number,
  ) {
    super(bound === 'values' ? `it contains more than ${limit} values` : `it is nested deeper than ${limit} levels`);
  }
}

/** Characters that are scanned in one turn of the event loop: a few milliseconds. */
const sliceBytes = 2 * 1024 * 1024;

/** The limits of a JSON text. */
export interface JsonLimits {
  readonly values: number;
  readonly levels: number;
}

/**
 * Scans JSON before it is parsed, and cheaply refuses text that is nested too deeply or has too many values (of any
 * kind, at any depth). Returns whether it contains anything that may be a number. Throws `JsonTooMuch`.
 */
export function scanJsonAtOnce(bytes: Uint8Array, limits: JsonLimits): boolean {
  const state = beginning();
  scan(bytes, 0, state, limits);
  return state.numbers;
}

/** As `scanJsonAtOnce`, but yields to the event loop after every slice of a long text. */
export async function scanJson(bytes: Uint8Array, limits: JsonLimits): Promise<boolean> {
  const state = beginning();
  for (let from = 0; from < bytes.length; from += sliceBytes) {
    if (from > 0) await nextTurn();
    scan(bytes.subarray(0, from + sliceBytes), from, state, limits);
  }
  return state.numbers;
}

/** Resolves when everything that was waiting for the event loop has had its turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Scan {
  depth: number;
  values: number;
  quoted: boolean;
  escaped: boolean;
  numbers: boolean;
}

const beginning = (): Scan => ({ depth: 0, values: 1, quoted: false, escaped: false, numbers: false });

/** After this many characters of a string, its end is found by one native search, which costs about as much. */
const shortString = 32;

/** Scans from a position to the end. */
function scan(bytes: Uint8Array, from: number, state: Scan, limits: JsonLimits): void {
  let { depth, values, quoted, escaped, numbers } = state;
  let plain = 0;
  for (let i = from; i < bytes.length; i++) {
    const c = bytes[i]!;
    if (quoted) {
      if (escaped) escaped = false;
      else if (c === BACKSLASH) escaped = true;
      else if (c === QUOTE) quoted = false;
      else if (++plain === shortString) {
        plain = 0;
        i = lastBefore(bytes, i);
      }
    } else if (c === QUOTE) {
      quoted = true;
      plain = 0;
    } else if (c === 44) {
      if (++values > limits.values) throw new JsonTooMuch('values', limits.values);
    } else if (c === 123 || c === 91) {
      if (++depth > limits.levels) throw new JsonTooMuch('levels', limits.levels);
      if (++values > limits.values) throw new JsonTooMuch('values', limits.values);
    } else if (c === 125 || c === 93) depth--;
    else if (c <= 57 && c >= 45) numbers = true;
  }
  Object.assign(state, { depth, values, quoted, escaped, numbers });
}

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * The position from which a string must be scanned again: the last character before the next quote, or before the
 * backslashes in front of that quote.
 */
function lastBefore(bytes: Uint8Array, from: number): number {
  const quote = bytes.indexOf(QUOTE, from);
  let at = (quote < 0 ? bytes.length : quote) - 1;
  while (at > from && bytes[at] === BACKSLASH) at--;
  return at;
}
