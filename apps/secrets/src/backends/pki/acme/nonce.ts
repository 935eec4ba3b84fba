import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Storage } from '../../../sdk/storage';
import { fail } from './problem';

/** Nonces are good for so long. */
const lifetimeMs = 3600_000;
const entry = 'acme/nonce-key';
const used = 'acme/used/';
const parse = JSON.parse as (text: string) => { readonly key: string };

/** Gives the mount a key for its nonces, unless it has one. */
export async function keepNonceKey(storage: Storage, key: Buffer): Promise<void> {
  if (!(await storage.read(entry, parse))) storage.put(entry, JSON.stringify({ key: key.toString('base64') }));
}

const codeOf = (key: string, content: Buffer): Buffer =>
  createHmac('sha256', Buffer.from(key, 'base64')).update(content).digest().subarray(0, 16);

/**
 * A nonce: the time and a random number, authenticated with the key of the mount. Every node knows a good one without a
 * record; only one that was used leaves a record.
 */
export async function newNonce(storage: Storage, nowMs: number): Promise<string> {
  const kept = await storage.read(entry, parse);
  if (!kept) return fail('serverInternal', 'config/acme must be written again');
  const content = Buffer.alloc(20);
  content.writeBigUInt64BE(BigInt(Math.floor(nowMs)));
  randomBytes(12).copy(content, 8);
  return Buffer.concat([content, codeOf(kept.key, content)]).toString('base64url');
}

/** A nonce that came with a request. */
export interface ReadNonce {
  readonly text: string;
  readonly madeAtMs: number;
}

const unacceptable = (): never => fail('badNonce', 'the nonce is not one of this service, too old, or was used');

/** Reads a nonce without looking whether it was used. Throws `badNonce`. */
export async function readNonce(storage: Storage, text: unknown, nowMs: number): Promise<ReadNonce> {
  const kept = await storage.read(entry, parse);
  if (!kept || typeof text !== 'string' || !/^[\w-]{48}$/.test(text)) return unacceptable();
  const bytes = Buffer.from(text, 'base64url');
  const content = bytes.subarray(0, 20);
  if (!timingSafeEqual(codeOf(kept.key, content), bytes.subarray(20))) return unacceptable();
  const madeAtMs = Number(content.readBigUInt64BE());
  // The clocks of nodes differ.
  if (nowMs - madeAtMs > lifetimeMs || madeAtMs - nowMs > 60_000) return unacceptable();
  return { text, madeAtMs };
}

const hourOf = (ms: number): number => Math.floor(ms / 3600_000);

/** Uses a nonce, once among all nodes. Throws `badNonce` if it was used. */
export function useNonce(storage: Storage, { text, madeAtMs }: ReadNonce): Promise<void> {
  const key = `${used}${hourOf(madeAtMs)}/${text}`;
  return storage.transaction(key, async (tx) => {
    if ((await tx.get(key)) !== undefined) unacceptable();
    tx.put(key, 'true');
  });
}

/** Forgets nonces that are too old to be used again. */
export async function forgetNonces(storage: Storage, nowMs: number): Promise<void> {
  const folders = await storage.list(used, { limit: 100 });
  for (const folder of folders) {
    if (Number(folder.slice(0, -1)) < hourOf(nowMs) - 2) storage.deletePrefix(used + folder);
  }
}
