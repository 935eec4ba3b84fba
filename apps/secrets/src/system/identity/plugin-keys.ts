import { firstKeys, isRotationDue, newSigningKey, rotateKeys } from '@keystead/auth';
import { z } from 'zod';
import { single } from '../../sdk/collection';
import type { Storage } from '../../sdk/storage';

const StoredKey = z.object({ kid: z.string(), privatePem: z.string(), createdAtMs: z.number() });
const KeyRing = z.object({
  current: StoredKey,
  next: StoredKey,
  previous: z.array(StoredKey.extend({ retiredAtMs: z.number() })),
  currentSinceMs: z.number(),
});
type KeyRing = z.output<typeof KeyRing>;
const ring = single('oidc/plugins/keys', KeyRing);

const dayMs = 24 * 3_600_000;
const rule = { rotateEveryMs: dayMs, shownForMs: dayMs };

/**
 * The keys that sign the identity tokens of a namespace's mounts: created when first needed, rotated daily. They are
 * sealed in storage. If several nodes create or rotate them at the same time, the keys of only one node are stored, and
 * all nodes use them.
 */
export async function pluginKeys(storage: Storage, nowMs: number): Promise<KeyRing> {
  const stored = await ring.find(storage);
  if (stored && !isRotationDue(stored, rule, nowMs)) return stored;
  const fresh = await Promise.all([newSigningKey(nowMs), stored ? undefined : newSigningKey(nowMs)]);
  return storage.transaction('oidc/plugins/keys', async (tx) => {
    const existing = await ring.find(tx);
    if (existing && !isRotationDue(existing, rule, nowMs)) return existing;
    const rotated = existing ? rotateKeys(existing, fresh[0], rule, nowMs) : firstKeys(fresh[0], fresh[1]!, nowMs);
    const turned = { ...rotated, previous: [...rotated.previous] };
    ring.put(tx, turned);
    return turned;
  });
}
