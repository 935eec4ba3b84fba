import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { WorkTurns } from '@keystead/auth';

const LOG2_COST = 15;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const KEY_BYTES = 32;
const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** The minimum length of a password, in characters. */
export const shortestPassword = 10;

/** A stored password: `scrypt$log2cost$blocksize$parallel$salt$key`, so that costs can rise later. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, LOG2_COST, BLOCK_SIZE, PARALLEL);
  return ['scrypt', LOG2_COST, BLOCK_SIZE, PARALLEL, salt.toString('base64'), key.toString('base64')].join('$');
}

/**
 * True if the password matches the stored one. Takes the same time if no password is stored, so that callers cannot
 * notice this.
 */
export async function checkPassword(password: string, stored: string | null): Promise<boolean> {
  const [, cost, block, parallel, salt, key] = (stored ?? dummyHash).split('$');
  const expected = Buffer.from(key ?? '', 'base64');
  const actual = await derive(
    password,
    Buffer.from(salt ?? '', 'base64'),
    Number(cost),
    Number(block),
    Number(parallel),
  );
  return timingSafeEqual(expected, actual) && stored !== null;
}

const dummyHash = `scrypt$${LOG2_COST}$${BLOCK_SIZE}$${PARALLEL}$${'A'.repeat(22)}==$${'A'.repeat(43)}=`;

/**
 * Only a few passwords are hashed at the same time, because each hash takes 32 MiB and a thread that file operations
 * also need.
 */
const turns = new WorkTurns({ atOnce: 2, waiting: 512 }, 'sign-ins');

function derive(password: string, salt: Buffer, cost: number, r: number, p: number): Promise<Buffer> {
  const options: ScryptOptions = { N: 2 ** cost, r, p, maxmem: 256 * 2 ** cost * r };
  return turns.run(() => deriveKey(password.normalize('NFKC'), salt, KEY_BYTES, options));
}
