import { Refusal } from '@keystead/refusal';
import { tooManyValues } from '../pipeline/bounds';

/** Deeper bodies are refused: nothing real nests like that, and every later step may recurse. */
export const maxNesting = 500;

/** So much is looked at in one turn of the event loop: a few milliseconds. */
const sliceBytes = 2 * 1024 * 1024;

/**
 * Looks over JSON before it is parsed: what is nested too deeply, or holds more than `maxValues` values (of any kind, at
 * any depth), is refused before it costs anything. Yields to others after every slice of a long text. Returns how many
 * values there can be at most. Throws `malformed`, `too-large`.
 */
export async function scanJson(bytes: Uint8Array, maxValues: number): Promise<number> {
  const state: Scan = { depth: 0, values: 1, quoted: false, escaped: false };
  for (let from = 0; from < bytes.length; from += sliceBytes) {
    if (from > 0) await nextTurn();
    scan(bytes, from, Math.min(from + sliceBytes, bytes.length), state, maxValues);
  }
  return state.values;
}

/** Resolves when everything that was waiting for the event loop has had its turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Scan {
  depth: number;
  values: number;
  quoted: boolean;
  escaped: boolean;
}

function scan(bytes: Uint8Array, from: number, to: number, state: Scan, maxValues: number): void {
  let { depth, values, quoted, escaped } = state;
  for (let i = from; i < to; i++) {
    const c = bytes[i]!;
    if (quoted) {
      if (escaped) escaped = false;
      else if (c === 92) escaped = true;
      else if (c === 34) quoted = false;
    } else if (c === 34) quoted = true;
    else if (c === 44) values++;
    else if (c === 123 || c === 91) {
      values++;
      if (++depth > maxNesting) {
        throw new Refusal('malformed', `failed to decode JSON input: exceeded ${maxNesting} levels of nesting`);
      }
    } else if (c === 125 || c === 93) depth--;
    if (values > maxValues) throw tooManyValues(maxValues);
  }
  Object.assign(state, { depth, values, quoted, escaped });
}
