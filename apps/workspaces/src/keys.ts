import { existsSync } from 'node:fs';
import { createSealKeyFile, Keyring, readSealKeys, type SealKeySource, type SealKeys } from '@keystead/keyring';
import type { Database } from './kernel/database/database';

const NAME = 'keyring';

function sealKeys(source: SealKeySource, isFirstStart: boolean, warn: (line: string) => void): SealKeys {
  const { value, file } = source;
  if (isFirstStart && (value === undefined || value === '') && file !== undefined && !existsSync(file)) {
    const current = createSealKeyFile(file);
    warn(
      `created the key ${file}: back it up separately from the database; without it, all state and stored keys are lost`,
    );
    return { current };
  }
  return readSealKeys(source);
}

/**
 * The service's keyring, stored in the database under the seal key; created at the first start, by one of several
 * nodes. A keyring that only the previous seal key can open is rewrapped with the current one. With `readsOnly`,
 * nothing is written.
 */
export async function openKeyring(
  db: Database,
  source: SealKeySource,
  warn: (line: string) => void,
  { readsOnly = false }: { readonly readsOnly?: boolean } = {},
): Promise<Keyring> {
  const stored = await db.prisma.setting.findUnique({ where: { name: NAME } });
  if (stored === null && readsOnly)
    throw new Error('this database has not been initialised: start a node that can write first');
  const keys = sealKeys(source, stored === null, warn);
  if (stored === null) {
    const wrapped = Keyring.create().wrap(keys.current).toString('base64');
    await db.prisma.setting.createMany({ data: [{ name: NAME, value: { wrapped } }], skipDuplicates: true });
  }
  const row = await db.prisma.setting.findUniqueOrThrow({ where: { name: NAME } });
  const wrapped = Buffer.from((row.value as { wrapped: string }).wrapped, 'base64');
  const ring = Keyring.unwrap(wrapped, keys.previous === undefined ? [keys.current] : [keys.current, keys.previous]);
  if (keys.previous !== undefined && !readsOnly) {
    await db.prisma.setting.update({
      where: { name: NAME },
      data: { value: { wrapped: ring.wrap(keys.current).toString('base64') } },
    });
  }
  return ring;
}
