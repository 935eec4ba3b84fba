import { createHmac, type KeyObject } from 'node:crypto';

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
