import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { Storage } from './storage';

type KeptKey = { readonly key: string };
const parse = JSON.parse as (text: string) => KeptKey;
const opened = new WeakMap<KeptKey, KeyObject>();

/** Stores a private key in an entry for itself. */
export function keepKey(storage: Storage, entry: string, key: KeyObject): void {
  storage.put(entry, JSON.stringify({ key: key.export({ format: 'der', type: 'pkcs8' }).toString('base64') }));
}

/** A private key that is stored, opened once on each node as long as its entry is cached. */
export async function findKept(storage: Storage, entry: string): Promise<KeyObject | undefined> {
  const kept = await storage.read(entry, parse);
  if (!kept) return undefined;
  const found = opened.get(kept);
  if (found) return found;
  const key = createPrivateKey({ key: Buffer.from(kept.key, 'base64'), format: 'der', type: 'pkcs8' });
  opened.set(kept, key);
  return key;
}
