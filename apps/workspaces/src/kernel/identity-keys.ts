import { newSigningKey, publicJwk, type SigningKey } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import type { Database } from './database';

const name = 'run-identity-keys';
const rotatesAfterMs = 30 * 86_400_000;

/** A key as it is kept: its private half sealed, the public one as it stands in the key set. */
interface StoredKey {
  readonly kid: string;
  readonly createdAtMs: number;
  readonly jwk: Record<string, unknown>;
  readonly sealed: string;
}

const cell = (kid: string) => ({ table: 'setting', row: `${name}/${kid}`, column: 'sealed' });

async function stored(db: Database): Promise<StoredKey[]> {
  const row = await db.prisma.setting.findUnique({ where: { name } });
  return (row?.value as { keys: StoredKey[] } | undefined)?.keys ?? [];
}

/** The public keys that tokens of runs may be signed with, newest first, as a key set. The first is made when asked for. */
export async function publicKeys(
  db: Database,
  keyring: Keyring,
  nowMs: number,
): Promise<{ keys: Record<string, unknown>[] }> {
  let known = await stored(db);
  if (known.length === 0) {
    await signingKey(db, keyring, nowMs);
    known = await stored(db);
  }
  return { keys: known.map(({ jwk }) => jwk) };
}

/** The key to sign with. Made when there is none or the newest is 30 days old; of several processes by one. */
export async function signingKey(db: Database, keyring: Keyring, nowMs: number): Promise<SigningKey> {
  const isFresh = (key: StoredKey | undefined) => key !== undefined && key.createdAtMs > nowMs - rotatesAfterMs;
  const [newest] = await stored(db);
  if (newest && isFresh(newest)) return opened(keyring, newest);
  return db.transaction(async (tx) => {
    await tx.prisma.setting.createMany({ data: [{ name, value: { keys: [] } }], skipDuplicates: true });
    await tx.prisma.$queryRaw`SELECT 1 FROM setting WHERE name = ${name} FOR UPDATE`;
    const known = await stored(tx);
    if (known[0] && isFresh(known[0])) return opened(keyring, known[0]);
    const key = await newSigningKey(nowMs);
    const sealed = keyring.seal(Buffer.from(key.privatePem), cell(key.kid)).toString('base64');
    const added = { kid: key.kid, createdAtMs: nowMs, jwk: publicJwk(key), sealed };
    // The one before is shown until the next comes: longer than any token lives.
    const keys = [added, ...known.slice(0, 1)];
    await tx.prisma.setting.update({ where: { name }, data: { value: JSON.parse(JSON.stringify({ keys })) } });
    return key;
  });
}

function opened(keyring: Keyring, { kid, createdAtMs, sealed }: StoredKey): SigningKey {
  return { kid, createdAtMs, privatePem: keyring.open(Buffer.from(sealed, 'base64'), cell(kid)).toString('utf8') };
}
