import { createHash } from 'node:crypto';

/** Hash functions by their names in requests, with library names and sizes. */
export const hashes = new Map(
  [
    ['sha1', 20],
    ['sha2-224', 28],
    ['sha2-256', 32],
    ['sha2-384', 48],
    ['sha2-512', 64],
    ['sha3-224', 28],
    ['sha3-256', 32],
    ['sha3-384', 48],
    ['sha3-512', 64],
  ].map(([name, bytes]) => [
    name as string,
    { digest: (name as string).replace('sha2-', 'sha'), bytes: bytes as number },
  ]),
);

export type Hash = { readonly digest: string; readonly bytes: number };

export const hashOf = ({ digest }: Hash, input: Buffer): Buffer => createHash(digest).update(input).digest();
