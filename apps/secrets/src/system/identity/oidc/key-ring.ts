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
  /** The public half, so that publishing it reads no private key. */
  jwk: z.record(z.string(), z.unknown()),
});
type StoredKey = z.output<typeof StoredKey>;
const KeyRing = z.object({
  current: StoredKey,
  /** Published already, so that verifiers who cache our key set know it before it signs. */
  next: StoredKey,
  /** Sign no more; only public halves. */
  previous: z.array(z.object({ jwk: StoredKey.shape.jwk, expiresAtMs: z.number() })),
  currentSinceMs: z.number(),
});
type KeyRing = z.output<typeof KeyRing>;
const rings = collection('oidc/ring/', KeyRing);

/** The keys of a name: made when first needed, of several nodes by one, and replaced by the clock of the database. */
export async function requireRing(storage: Storage, name: string, key: NamedKey, nowMs: number): Promise<KeyRing> {
  const stored = await rings.find(storage, name);
  if (stored && !isDue(stored, key, nowMs)) return stored;
  return turn(storage, name, key, nowMs, { ifDue: true });
}

/** The key that signs now. */
export async function signingKey(storage: Storage, name: string, key: NamedKey, nowMs: number): Promise<SigningKey> {
  return (await requireRing(storage, name, key, nowMs)).current;
}

/**
 * Replaces the key that signs by the one that was published next. What it signed is verified for `verificationTtl` more
 * seconds, as the key says if nothing is given. With `ifDue` only where no other node has done so.
 */
export async function turn(
  storage: Storage,
  name: string,
  key: NamedKey,
  nowMs: number,
  { ifDue = false, verificationTtl = key.verification_ttl }: { ifDue?: boolean; verificationTtl?: number } = {},
): Promise<KeyRing> {
  // Both are made before the turn of the database is waited for.
  const fresh = await Promise.all([newKey(key, nowMs), newKey(key, nowMs)]);
  return storage.transaction(`oidc/ring/${name}`, async (tx) => {
    const seen = await rings.find(tx, name);
    if (ifDue && seen && !isDue(seen, key, nowMs)) return seen;
    const isSame = seen?.current.algorithm === key.algorithm;
    const made: KeyRing = {
      current: seen && isSame ? seen.next : fresh[0],
      next: fresh[1],
      previous: seen ? [retired(seen.current, nowMs + verificationTtl * 1000), ...lasting(seen, nowMs)] : [],
      currentSinceMs: nowMs,
    };
    rings.put(tx, name, made);
    return made;
  });
}

/** Ends keys with everything that they signed. */
export function deleteRing(storage: Storage, name: string): void {
  rings.delete(storage, name);
}

/** The public halves of the keys of these names, by which a token that is still good may have been signed. */
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
