import { randomBytes } from 'node:crypto';

const poolBytes = 4096;
const pool = { bytes: Buffer.alloc(0), used: 0 };

/**
 * Random bytes for values that are public once they are used, such as nonces and serial numbers. They are drawn 4 KiB
 * at a time, because each draw takes about 2 µs, regardless of its length. Keys come from `randomBytes`, which keeps no
 * copy.
 */
export function publicRandom(length: number): Buffer {
  if (pool.used + length > pool.bytes.length) {
    pool.bytes = randomBytes(Math.max(poolBytes, length));
    pool.used = 0;
  }
  pool.used += length;
  return pool.bytes.subarray(pool.used - length, pool.used);
}
