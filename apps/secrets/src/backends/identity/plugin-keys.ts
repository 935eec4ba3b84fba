import { newSigningKey, type SigningKey } from '@keystead/auth';
import { z } from 'zod';
import { single } from '../../sdk/collection';
import type { Storage } from '../../sdk/storage';

const StoredKey = z.object({ kid: z.string(), privatePem: z.string(), createdAtMs: z.number() });
const KeyRing = z.object({
  current: StoredKey,
  /** Published already, so that whoever keeps our key set for a while knows it before it signs. */
  next: StoredKey,
  /** Signs no more; tokens it signed are still good. */
  previous: z.array(StoredKey.extend({ retiredAtMs: z.number() })),
  currentSinceMs: z.number(),
});
type KeyRing = z.output<typeof KeyRing>;
const ring = single('oidc/plugins/keys', KeyRing);

const turnEveryMs = 24 * 3_600_000;
/** Longer than any token lives, and than anybody keeps what we publish. */
const publishedForMs = 24 * 3_600_000;

/**
 * The keys that sign the identity tokens of a namespace's mounts: made when first needed, turned once a day. They lie
 * sealed in storage; of several nodes that make or turn them at once, one wins and all use its keys.
 */
export async function pluginKeys(storage: Storage, nowMs: number): Promise<KeyRing> {
  const stored = await ring.find(storage);
  if (stored && nowMs - stored.currentSinceMs < turnEveryMs) return stored;
  const fresh = await Promise.all([newSigningKey(nowMs), stored ? undefined : newSigningKey(nowMs)]);
  return storage.transaction(async (tx) => {
    const seen = await ring.find(tx);
    if (seen && nowMs - seen.currentSinceMs < turnEveryMs) return seen;
    const turned = seen ? turn(seen, fresh[0], nowMs) : begin(fresh[0], fresh[1]!, nowMs);
    ring.put(tx, turned);
    return turned;
  });
}

/** Every key by which a token that is still good may have been signed, and the one that will sign next. */
export function publishedKeys({ current, next, previous }: KeyRing): readonly SigningKey[] {
  return [current, next, ...previous];
}

function begin(current: SigningKey, next: SigningKey, nowMs: number): KeyRing {
  return { current, next, previous: [], currentSinceMs: nowMs };
}

function turn(before: KeyRing, next: SigningKey, nowMs: number): KeyRing {
  const kept = before.previous.filter(({ retiredAtMs }) => nowMs - retiredAtMs < publishedForMs);
  return {
    current: before.next,
    next,
    previous: [{ ...before.current, retiredAtMs: nowMs }, ...kept],
    currentSinceMs: nowMs,
  };
}
