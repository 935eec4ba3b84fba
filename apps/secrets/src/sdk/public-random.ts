import { randomBytes } from 'node:crypto';

const poolBytes = 4096;
let pool = Buffer.alloc(0);
let used = 0;

/**
 * Random bytes for values that are public once they are used, such as nonces and serial numbers. They are drawn 4 KiB
 * at a time, because drawing costs about 2 µs whatever the length. Keys come from `randomBytes`, which keeps no copy.
 */
export function publicRandom(length: number): Buffer {
  if (used + length > pool.length) {
    pool = randomBytes(Math.max(poolBytes, length));
    used = 0;
  }
  used += length;
  return pool.subarray(used - length, used);
}
