import type { Tx } from '../storage/types';

/**
 * `auto`: unsealed by a seal key from a file or the environment. `shamir`: unsealed by shares entered at every start.
 */
export type SealType = 'auto' | 'shamir';

/** How the installation is sealed: the only row of its table. */
export interface SealRecord {
  readonly type: SealType;
  readonly keyring: Buffer;
  readonly shares: number;
  readonly threshold: number;
  /** Used to recognise the recovery key; only for auto seals. */
  readonly verifier: Buffer | undefined;
  readonly sealed: boolean;
  readonly generation: number;
  readonly initialisedAtMs: number;
  readonly keyInstalledAtMs: number;
}

type WithPrisma = Pick<Tx, 'prisma'>;

const ONE = { id: 1 };

/** The seal record; undefined before the service is initialised. `lock` locks it until the transaction ends. */
export async function findSeal({ prisma }: WithPrisma, lock = false): Promise<SealRecord | undefined> {
  if (lock) await prisma.$executeRaw`SELECT FROM seal WHERE id = 1 FOR UPDATE`;
  const row = await prisma.seal.findUnique({ where: ONE });
  if (!row) return undefined;
  return {
    type: row.type as SealType,
    keyring: Buffer.from(row.keyring),
    shares: row.shares,
    threshold: row.threshold,
    verifier: row.verifier ? Buffer.from(row.verifier) : undefined,
    sealed: row.sealed,
    generation: row.generation,
    initialisedAtMs: Number(row.initialisedAtMs),
    keyInstalledAtMs: Number(row.keyInstalledAtMs),
  };
}

/** Writes the record of a new installation; false if a record already exists. */
export async function insertSeal(
  { prisma }: Tx,
  record: Pick<SealRecord, 'type' | 'keyring' | 'shares' | 'threshold' | 'verifier' | 'initialisedAtMs'>,
): Promise<boolean> {
  const { keyring, verifier, initialisedAtMs } = record;
  const sealed = {
    keyring: copyOf(keyring),
    verifier: verifier && copyOf(verifier),
    keyInstalledAtMs: initialisedAtMs,
  };
  const { count } = await prisma.seal.createMany({ data: { ...record, ...sealed }, skipDuplicates: true });
  return count === 1;
}

/** Seals or unseals all nodes. */
export const flagSeal = ({ prisma }: WithPrisma, sealed: boolean) =>
  prisma.seal.updateMany({ where: ONE, data: { sealed } });

/** Stores the rewrapped keys, unless the stored keys have changed in the meantime. */
export const rewrapSeal = ({ prisma }: WithPrisma, wrapped: Buffer, before: Buffer) =>
  prisma.seal.updateMany({ where: { ...ONE, keyring: copyOf(before) }, data: { keyring: copyOf(wrapped) } });

/** Stores other keys; all nodes will read them. */
export const replaceKeyring = ({ prisma }: Tx, wrapped: Buffer, keyInstalledAtMs: number) =>
  prisma.seal.updateMany({
    where: ONE,
    data: { keyring: copyOf(wrapped), generation: { increment: 1 }, keyInstalledAtMs },
  });

/** Activates another recovery key. */
export const replaceRecovery = ({ prisma }: Tx, verifier: Buffer, shares: number, threshold: number) =>
  prisma.seal.updateMany({ where: ONE, data: { verifier: copyOf(verifier), shares, threshold } });

/** Activates new unseal shares: the same keyring, wrapped with another key. */
export const replaceShares = ({ prisma }: Tx, wrapped: Buffer, shares: number, threshold: number) =>
  prisma.seal.updateMany({
    where: ONE,
    data: { keyring: copyOf(wrapped), shares, threshold, generation: { increment: 1 } },
  });

const copyOf = (bytes: Buffer): Buffer<ArrayBuffer> => Buffer.from(bytes);
