import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { WorkTurns } from '@keystead/auth';

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
const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/**
 * Hashes and checks passwords. Only a few run at the same time, because each takes a thread that audit writes and other
 * file operations also need.
 */
export class Passwords {
  private readonly turns = new WorkTurns({ atOnce: 2, waiting: 512 }, 'logins');

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

  /** Whether a password matches the stored one. Without a stored password, takes just as long and returns false. */
  async matches(password: string, stored: PasswordHash | undefined): Promise<boolean> {
    const against = stored ?? { cost, blockSize, parallelization, salt: '', hash: '' };
    const hash = await this.derive(password, Buffer.from(against.salt, 'base64'), against);
    const expected = Buffer.from(against.hash, 'base64');
    return expected.length === hash.length && timingSafeEqual(hash, expected);
  }

  private derive(
    password: string,
    salt: Buffer,
    options: { readonly cost: number; readonly blockSize: number; readonly parallelization: number },
  ): Promise<Buffer> {
    const maxmem = 256 * options.cost * options.blockSize;
    return this.turns.run(() => deriveKey(password.normalize('NFC'), salt, hashBytes, { ...options, maxmem }));
  }
}
