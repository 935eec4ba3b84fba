import { randomBytes } from 'node:crypto';

const LIMIT = 2 ** 32 - 1;

/**
 * Nonces of 96 bits that never repeat: 64 random bits for this source and a counter of 32, new random bits when the
 * counter is used up. Wholly random nonces would cost more and stop being safe at 2^32 values a key.
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
