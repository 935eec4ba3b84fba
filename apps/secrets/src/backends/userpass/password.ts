import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { Refusal } from '@keystead/refusal';

/** A password as stored: with its parameters, so that they can be raised later. */
export interface PasswordHash {
  readonly algorithm: 'scrypt';
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
  /** Base64. */
  readonly salt: string;
  /** Base64. */
  readonly hash: string;
}

const cost = 16_384;
const blockSize = 8;
const parallelization = 5;
const hashBytes = 32;
const atOnce = 2;
const mostWaiting = 512;

/** Hashes and checks passwords. Only a few run at once: each takes a thread that audit and other files need, too. */
export class Passwords {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  async hash(password: string): Promise<PasswordHash> {
    const salt = randomBytes(16);
    const hash = await this.derive(password, salt, { cost, blockSize, parallelization });
    return {
      algorithm: 'scrypt',
      cost,
      blockSize,
      parallelization,
      salt: salt.toString('base64'),
      hash: hash.toString('base64'),
    };
  }

  /** Whether a password matches the stored one. Without a stored one it takes as long and returns false. */
  async matches(password: string, stored: PasswordHash | undefined): Promise<boolean> {
    const against = stored ?? { cost, blockSize, parallelization, salt: '', hash: '' };
    const hash = await this.derive(password, Buffer.from(against.salt, 'base64'), against);
    const expected = Buffer.from(against.hash, 'base64');
    return expected.length === hash.length && timingSafeEqual(hash, expected);
  }

  private async derive(
    password: string,
    salt: Buffer,
    options: { readonly cost: number; readonly blockSize: number; readonly parallelization: number },
  ): Promise<Buffer> {
    await this.takeSlot();
    try {
      return await new Promise((resolve, reject) => {
        const maxmem = 256 * options.cost * options.blockSize;
        scrypt(password.normalize('NFC'), salt, hashBytes, { ...options, maxmem }, (error, key) =>
          error ? reject(error) : resolve(key),
        );
      });
    } finally {
      this.running -= 1;
      this.waiting.shift()?.();
    }
  }

  private async takeSlot(): Promise<void> {
    if (this.running >= atOnce) {
      if (this.waiting.length >= mostWaiting) throw new Refusal('limited', 'too many logins at once');
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    this.running += 1;
  }
}
