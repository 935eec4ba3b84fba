import {
  firstKeys,
  isRotationDue,
  newSigningKey,
  publicJwk,
  type RotatingKeys,
  rotateKeys,
  type SigningKey,
  shownKeys,
} from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import type { Database } from '../database/database';

const name = 'run-identity-keys';
const dayMs = 86_400_000;
const rule = { rotateEveryMs: 30 * dayMs, shownForMs: dayMs };

/** A key as it is stored: its private half encrypted, the public one as the key set shows it. */
interface StoredKey {
  readonly kid: string;
  readonly createdAtMs: number;
  readonly jwk: Record<string, unknown>;
  readonly sealed: string;
}
type StoredKeys = RotatingKeys<StoredKey>;
/** What installations have from before keys were published ahead: a list of keys, newest first. */
interface OldKeyList {
  readonly keys: readonly StoredKey[];
  readonly current?: undefined;
}

const cell = (kid: string) => ({ table: 'setting', row: `${name}/${kid}`, column: 'sealed' });

async function stored(db: Database): Promise<StoredKeys | OldKeyList | undefined> {
  const row = await db.prisma.setting.findUnique({ where: { name } });
  return row?.value as unknown as StoredKeys | OldKeyList | undefined;
}

/** The keys in their turns: made when first asked for, turned every 30 days; of several processes by one. */
async function rotatedKeys(db: Database, keyring: Keyring, nowMs: number): Promise<StoredKeys> {
  const isReady = (kept: StoredKeys | OldKeyList | undefined): kept is StoredKeys =>
    kept?.current !== undefined && !isRotationDue(kept, rule, nowMs);
  const before = await stored(db);
  if (isReady(before)) return before;
  const [one, other] = await Promise.all([made(keyring, nowMs), made(keyring, nowMs)]);
  return db.transaction((tx) =>
    changeKeys(tx, (seen) => {
      if (isReady(seen)) return seen;
      return seen?.current ? rotateKeys(seen, one, rule, nowMs) : firstKeys(seen?.keys[0] ?? other, one, nowMs);
    }),
  );
}

/** Changes the keys while no other process does. */
async function changeKeys(
  tx: Database,
  change: (seen: StoredKeys | OldKeyList | undefined) => StoredKeys,
): Promise<StoredKeys> {
  await tx.prisma.setting.createMany({ data: [{ name, value: { keys: [] } }], skipDuplicates: true });
  await tx.prisma.$queryRaw`SELECT 1 FROM setting WHERE name = ${name} FOR UPDATE`;
  const seen = await stored(tx);
  const keys = change(seen);
  if (keys !== seen) {
    await tx.prisma.setting.update({ where: { name }, data: { value: JSON.parse(JSON.stringify(keys)) } });
  }
  return keys;
}

/** What a change of the keys leaves: the ids of those that are shown, the signing one first. */
const idsOf = (keys: StoredKeys): string[] => shownKeys(keys).map(({ kid }) => kid);

/** Has the next key sign from now on, before its turn. The one that signed stays published for a day. */
export async function turnKeysNow(db: Database, keyring: Keyring, nowMs: number) {
  await rotatedKeys(db, keyring, nowMs);
  const fresh = await made(keyring, nowMs);
  return async (tx: Database): Promise<string[]> =>
    idsOf(await changeKeys(tx, (seen) => rotateKeys(seen as StoredKeys, fresh, rule, nowMs)));
}

/** Takes back the keys that sign no more: what they have signed is good for nothing from now on. */
export async function dropFormerKeys(db: Database, keyring: Keyring, nowMs: number) {
  await rotatedKeys(db, keyring, nowMs);
  return async (tx: Database): Promise<string[]> =>
    idsOf(await changeKeys(tx, (seen) => ({ ...(seen as StoredKeys), previous: [] })));
}

async function made(keyring: Keyring, nowMs: number): Promise<StoredKey> {
  const key = await newSigningKey(nowMs);
  const sealed = keyring.seal(Buffer.from(key.privatePem), cell(key.kid)).toString('base64');
  return { kid: key.kid, createdAtMs: nowMs, jwk: publicJwk(key), sealed };
}

/** The public keys that tokens of runs may be signed with, as a key set: now, next, and a while ago. */
export async function publicKeys(
  db: Database,
  keyring: Keyring,
  nowMs: number,
): Promise<{ keys: Record<string, unknown>[] }> {
  return { keys: shownKeys(await rotatedKeys(db, keyring, nowMs)).map(({ jwk }) => jwk) };
}

/** The key to sign with; it has been published for as long as the one before it signed. */
export async function signingKey(db: Database, keyring: Keyring, nowMs: number): Promise<SigningKey> {
  const { kid, createdAtMs, sealed } = (await rotatedKeys(db, keyring, nowMs)).current;
  return { kid, createdAtMs, privatePem: keyring.open(Buffer.from(sealed, 'base64'), cell(kid)).toString('utf8') };
}
