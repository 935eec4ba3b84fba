import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { Storage } from './storage';

type KeptKey = { readonly key: string };
const parse = JSON.parse as (text: string) => KeptKey;
const opened = new WeakMap<KeptKey, KeyObject>();

/** Stores a private key in a separate entry. */
export function keepKey(storage: Storage, entry: string, key: KeyObject): void {
  storage.put(entry, JSON.stringify({ key: key.export({ format: 'der', type: 'pkcs8' }).toString('base64') }));
}

/** A stored private key. Each node parses it once while its entry is cached. */
export async function findKept(storage: Storage, entry: string): Promise<KeyObject | undefined> {
  const stored = await storage.read(entry, parse);
  if (!stored) return undefined;
  const found = opened.get(stored);
  if (found) return found;
  const key = createPrivateKey({ key: Buffer.from(stored.key, 'base64'), format: 'der', type: 'pkcs8' });
  opened.set(stored, key);
  return key;
}
