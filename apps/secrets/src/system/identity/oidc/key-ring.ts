import { newSigningKey, publicJwk, type SigningKey, signingAlgorithms } from '@keystead/auth';
import { z } from 'zod';
import { collection } from '../../../sdk/collection';
import type { Storage } from '../../../sdk/storage';
import { findKey, type NamedKey } from './named-keys';

const StoredKey = z.object({
  kid: z.string(),
  privatePem: z.string(),
  createdAtMs: z.number(),
  algorithm: z.enum(signingAlgorithms),
  /** The public half, so that publishing it does not read the private key. */
  jwk: z.record(z.string(), z.unknown()),
});
type StoredKey = z.output<typeof StoredKey>;
const KeyRing = z.object({
  current: StoredKey,
  /** Already published, so that verifiers that cache the key set know this key before it signs. */
  next: StoredKey,
  /** Public halves of keys that no longer sign. */
  previous: z.array(z.object({ jwk: StoredKey.shape.jwk, expiresAtMs: z.number() })),
  currentSinceMs: z.number(),
});
type KeyRing = z.output<typeof KeyRing>;
const rings = collection('oidc/ring/', KeyRing);

/**
 * The keys under a name. One node creates them when they are first needed. The database's clock decides when they are
 * rotated.
 */
export async function requireRing(storage: Storage, name: string, key: NamedKey, nowMs: number): Promise<KeyRing> {
  const stored = await rings.find(storage, name);
  if (stored && !isDue(stored, key, nowMs)) return stored;
  return turn(storage, name, key, nowMs, { ifDue: true });
}

/** The current signing key. */
export async function signingKey(storage: Storage, name: string, key: NamedKey, nowMs: number): Promise<SigningKey> {
  return (await requireRing(storage, name, key, nowMs)).current;
}

/**
 * Replaces the signing key by the next published one. Its signatures can be verified for `verificationTtl` more
 * seconds; by default, the setting of the key. With `ifDue`, replaces it only if no other node has done so.
 */
export async function turn(
  storage: Storage,
  name: string,
  key: NamedKey,
  nowMs: number,
  { ifDue = false, verificationTtl = key.verification_ttl }: { ifDue?: boolean; verificationTtl?: number } = {},
): Promise<KeyRing> {
  // Both are generated before waiting for the turn in the database.
  const fresh = await Promise.all([newKey(key, nowMs), newKey(key, nowMs)]);
  return storage.transaction(`oidc/ring/${name}`, async (tx) => {
    const existing = await rings.find(tx, name);
    if (ifDue && existing && !isDue(existing, key, nowMs)) return existing;
    const isSame = existing?.current.algorithm === key.algorithm;
    const created: KeyRing = {
      current: existing && isSame ? existing.next : fresh[0],
      next: fresh[1],
      previous: existing
        ? [retired(existing.current, nowMs + verificationTtl * 1000), ...lasting(existing, nowMs)]
        : [],
      currentSinceMs: nowMs,
    };
    rings.put(tx, name, created);
    return created;
  });
}

/** Removes keys, which invalidates everything that they signed. */
export function deleteRing(storage: Storage, name: string): void {
  rings.delete(storage, name);
}

/** The public halves of these keys that may have signed a token that is still valid. */
export async function publicKeys(storage: Storage, names: readonly string[], nowMs: number): Promise<object[]> {
  const found = await Promise.all(
    [...new Set(names)].map(async (name) => ((await findKey(storage, name)) ? rings.find(storage, name) : undefined)),
  );
  return found.flatMap((ring) =>
    ring ? [ring.current.jwk, ring.next.jwk, ...lasting(ring, nowMs).map(({ jwk }) => jwk)] : [],
  );
}

function isDue({ current, currentSinceMs }: KeyRing, key: NamedKey, nowMs: number): boolean {
  return current.algorithm !== key.algorithm || nowMs - currentSinceMs >= key.rotation_period * 1000;
}

const lasting = ({ previous }: KeyRing, nowMs: number) => previous.filter(({ expiresAtMs }) => expiresAtMs > nowMs);

const retired = ({ jwk }: StoredKey, expiresAtMs: number) => ({ jwk, expiresAtMs });

async function newKey({ algorithm }: NamedKey, nowMs: number): Promise<StoredKey> {
  const key = await newSigningKey(nowMs, algorithm);
  return { ...key, algorithm, jwk: { ...publicJwk(key) } };
}
