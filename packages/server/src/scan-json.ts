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

/**
 * Scans JSON before it is parsed, and cheaply refuses text that is nested too deeply or has too many values (of any
 * kind, at any depth). Yields to the event loop after every slice of a long text. Throws `JsonTooMuch`.
 */
export async function scanJson(
  bytes: Uint8Array,
  limits: { readonly values: number; readonly levels: number },
): Promise<void> {
  const state: Scan = { depth: 0, values: 1, quoted: false, escaped: false };
  for (let from = 0; from < bytes.length; from += sliceBytes) {
    if (from > 0) await nextTurn();
    scan(bytes, from, Math.min(from + sliceBytes, bytes.length), state, limits);
  }
}

/** Resolves when everything that was waiting for the event loop has had its turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Scan {
  depth: number;
  values: number;
  quoted: boolean;
  escaped: boolean;
}

function scan(
  bytes: Uint8Array,
  from: number,
  to: number,
  state: Scan,
  limits: { readonly values: number; readonly levels: number },
): void {
  let { depth, values, quoted, escaped } = state;
  for (let i = from; i < to; i++) {
    const c = bytes[i]!;
    if (quoted) {
      if (escaped) escaped = false;
      else if (c === 92) escaped = true;
      else if (c === 34) quoted = false;
    } else if (c === 34) quoted = true;
    else if (c === 44) {
      if (++values > limits.values) throw new JsonTooMuch('values', limits.values);
    } else if (c === 123 || c === 91) {
      if (++depth > limits.levels) throw new JsonTooMuch('levels', limits.levels);
      if (++values > limits.values) throw new JsonTooMuch('values', limits.values);
    } else if (c === 125 || c === 93) depth--;
  }
  Object.assign(state, { depth, values, quoted, escaped });
}
