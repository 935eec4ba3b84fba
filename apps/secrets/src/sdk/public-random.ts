import { randomBytes } from 'node:crypto';

const poolBytes = 4096;
const drawn = { bytes: Buffer.alloc(0), used: 0 };

/**
 * Random bytes for values that are public once they are used, such as nonces and serial numbers. They are drawn 4 KiB
 * at a time, because drawing costs about 2 µs for any length. Keys come from `randomBytes`, which keeps no copy.
 */
export function publicRandom(length: number): Buffer {
  if (drawn.used + length > drawn.bytes.length) {
    drawn.bytes = randomBytes(Math.max(poolBytes, length));
    drawn.used = 0;
  }
  drawn.used += length;
  return drawn.bytes.subarray(drawn.used - length, drawn.used);
}
