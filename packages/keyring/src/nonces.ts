import { randomBytes } from 'node:crypto';

const LIMIT = 2 ** 32 - 1;

/**
 * Nonces of 96 bits that never repeat: 64 random bits and a counter of 32 bits. When the counter is used up, new random
 * bits are chosen. Completely random nonces would cost more, and would be safe only up to 2^32 values per key.
 */
export class Nonces {
  private readonly nonce = randomBytes(12);

  /** `count` is the first value; default 0. */
  constructor(private count = 0) {}

  /** The next nonce. The buffer is reused: it is valid until the next call. */
  next(): Buffer {
    if (this.count === LIMIT) {
      randomBytes(8).copy(this.nonce);
      this.count = 0;
    }
    this.nonce.writeUInt32BE(this.count++, 8);
    return this.nonce;
  }
}
