import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { publicRandom } from '../../../sdk/public-random';
import type { Storage } from '../../../sdk/storage';
import { fail } from './problem';

const lifetimeMs = 3600_000;
const entry = 'acme/nonce-key';
const used = 'acme/used/';
interface NonceKey {
  /** Base64. */
  readonly key: string;
}
const parse = JSON.parse as (text: string) => NonceKey;
/** Key objects, created once for each stored record. */
const keys = new WeakMap<NonceKey, KeyObject>();

/** Stores a nonce key for the mount, unless it has one. */
export async function keepNonceKey(storage: Storage, key: Buffer): Promise<void> {
  if (!(await storage.read(entry, parse))) storage.put(entry, JSON.stringify({ key: key.toString('base64') }));
}

function codeOf(settings: NonceKey, content: Buffer): Buffer {
  let key = keys.get(settings);
  if (!key) {
    key = createSecretKey(Buffer.from(settings.key, 'base64'));
    keys.set(settings, key);
  }
  return createHmac('sha256', key).update(content).digest().subarray(0, 16);
}

/**
 * A nonce: the time and a random number, with a MAC under the key of the mount. Every node can verify it without a
 * record, and only used nonces are stored.
 */
export async function newNonce(storage: Storage, nowMs: number): Promise<string> {
  const settings = await storage.read(entry, parse);
  if (!settings) return fail('serverInternal', 'config/acme must be written again');
  const content = Buffer.alloc(20);
  content.writeBigUInt64BE(BigInt(Math.floor(nowMs)));
  publicRandom(12).copy(content, 8);
  return Buffer.concat([content, codeOf(settings, content)]).toString('base64url');
}

/** A parsed nonce of a request. */
export interface ReadNonce {
  readonly text: string;
  readonly madeAtMs: number;
}

const unacceptable = (): never => fail('badNonce', 'the nonce is unknown, too old, or was already used');

/** Parses and verifies a nonce, but does not check whether it was used. Throws `badNonce`. */
export async function readNonce(storage: Storage, text: unknown, nowMs: number): Promise<ReadNonce> {
  const settings = await storage.read(entry, parse);
  if (!settings || typeof text !== 'string' || !/^[\w-]{48}$/.test(text)) return unacceptable();
  const bytes = Buffer.from(text, 'base64url');
  const content = bytes.subarray(0, 20);
  if (!timingSafeEqual(codeOf(settings, content), bytes.subarray(20))) return unacceptable();
  const madeAtMs = Number(content.readBigUInt64BE());
  // Allow for clock differences between nodes.
  if (nowMs - madeAtMs > lifetimeMs || madeAtMs - nowMs > 60_000) return unacceptable();
  return { text, madeAtMs };
}

const hourOf = (ms: number): number => Math.floor(ms / 3600_000);

/** Marks a nonce as used. Throws `badNonce` if a node has already marked it. */
export function useNonce(storage: Storage, { text, madeAtMs }: ReadNonce): Promise<void> {
  const key = `${used}${hourOf(madeAtMs)}/${text}`;
  return storage.transaction(key, async (tx) => {
    if ((await tx.get(key)) !== undefined) unacceptable();
    tx.put(key, 'true');
  });
}

/** Deletes used nonces that have expired. */
export async function forgetNonces(storage: Storage, nowMs: number): Promise<void> {
  const folders = await storage.list(used, { limit: 100 });
  for (const folder of folders) {
    if (Number(folder.slice(0, -1)) < hourOf(nowMs) - 2) storage.deletePrefix(used + folder);
  }
}
