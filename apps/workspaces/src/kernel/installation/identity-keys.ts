import { firstKeys, isRotationDue, type RotatingKeys, rotateKeys, type SigningKey, shownKeys } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import type { Database } from '../database/database';
import { newStoredKey, openedKey, type StoredKey } from './stored-key';

const name = 'run-identity-keys';
const dayMs = 86_400_000;
const rule = { rotateEveryMs: 30 * dayMs, shownForMs: dayMs };

type StoredKeys = RotatingKeys<StoredKey>;
/** The format of older installations, which did not publish the next key: a list of keys, newest first. */
interface OldKeyList {
  readonly keys: readonly StoredKey[];
  readonly current?: undefined;
}

async function stored(db: Database): Promise<StoredKeys | OldKeyList | undefined> {
  const row = await db.prisma.setting.findUnique({ where: { name } });
  return row?.value as unknown as StoredKeys | OldKeyList | undefined;
}

/** The signing keys: created when first needed, and rotated every 30 days by one of the processes. */
async function rotatedKeys(db: Database, keyring: Keyring, nowMs: number): Promise<StoredKeys> {
  const isReady = (keys: StoredKeys | OldKeyList | undefined): keys is StoredKeys =>
    keys?.current !== undefined && !isRotationDue(keys, rule, nowMs);
  const before = await stored(db);
  if (isReady(before)) return before;
  const [one, other] = await Promise.all([newKey(keyring, nowMs), newKey(keyring, nowMs)]);
  return db.transaction((tx) =>
    changeKeys(tx, (latest) => {
      if (isReady(latest)) return latest;
      return latest?.current ? rotateKeys(latest, one, rule, nowMs) : firstKeys(latest?.keys[0] ?? other, one, nowMs);
    }),
  );
}

/** Changes the keys. No other process changes them at the same time. */
async function changeKeys(
  tx: Database,
  change: (latest: StoredKeys | OldKeyList | undefined) => StoredKeys,
): Promise<StoredKeys> {
  await tx.prisma.setting.createMany({ data: [{ name, value: { keys: [] } }], skipDuplicates: true });
  await tx.prisma.$queryRaw`SELECT 1 FROM setting WHERE name = ${name} FOR UPDATE`;
  const before = await stored(tx);
  const keys = change(before);
  if (keys !== before) {
    await tx.prisma.setting.update({ where: { name }, data: { value: JSON.parse(JSON.stringify(keys)) } });
  }
  return keys;
}

/** The ids of the published keys after a change, the signing one first. */
const idsOf = (keys: StoredKeys): string[] => shownKeys(keys).map(({ kid }) => kid);

/** Rotates to the next key before it is due. The previous key stays published for a day. */
export async function turnKeysNow(db: Database, keyring: Keyring, nowMs: number) {
  await rotatedKeys(db, keyring, nowMs);
  const fresh = await newKey(keyring, nowMs);
  return async (tx: Database): Promise<string[]> =>
    idsOf(await changeKeys(tx, (latest) => rotateKeys(latest as StoredKeys, fresh, rule, nowMs)));
}

/** Withdraws the keys that no longer sign: tokens signed by them are no longer valid. */
export async function dropFormerKeys(db: Database, keyring: Keyring, nowMs: number) {
  await rotatedKeys(db, keyring, nowMs);
  return async (tx: Database): Promise<string[]> =>
    idsOf(await changeKeys(tx, (latest) => ({ ...(latest as StoredKeys), previous: [] })));
}

const newKey = (keyring: Keyring, nowMs: number): Promise<StoredKey> => newStoredKey(keyring, name, nowMs);

/** The public keys that run tokens may be signed with, as a key set: the current, the next and the recent ones. */
export async function publicKeys(
  db: Database,
  keyring: Keyring,
  nowMs: number,
): Promise<{ keys: Record<string, unknown>[] }> {
  return { keys: shownKeys(await rotatedKeys(db, keyring, nowMs)).map(({ jwk }) => jwk) };
}

/** The key to sign with. It was already published while the previous key signed. */
export async function signingKey(db: Database, keyring: Keyring, nowMs: number): Promise<SigningKey> {
  return openedKey(keyring, name, (await rotatedKeys(db, keyring, nowMs)).current);
}
