import { notFound, Refusal } from '@keystead/refusal';
import type { Database } from '../database/database';

/** A create that may be sent again: its caller, path, key and body. */
export interface IdempotentCreate {
  principal: string;
  path: string;
  key: string;
  body: unknown;
}

interface IdempotentWrite {
  now: number;
  /**
   * Computes the stored hash of a body. It is keyed, because bodies may contain secrets and a plain hash would let
   * others guess them.
   */
  mac: (text: string) => Buffer;
  run: (tx: Database) => Promise<unknown>;
  idOf: (item: unknown) => string;
  /** The created resource, read again; undefined if it no longer exists or the caller may no longer see it. */
  find: (id: string) => Promise<unknown>;
}

const DAY_MS = 86_400_000;
const LONGEST_KEY = 255;

/** Whether a key was already used, so that the request is a repetition or is refused because of another body. */
export async function isClaimed(
  db: Database,
  { principal, path, key }: IdempotentCreate,
  nowMs: number,
): Promise<boolean> {
  const where = { principal, path, key, createdAt: { gte: new Date(nowMs - DAY_MS) } };
  return (await db.prisma.idempotencyKey.count({ where })) > 0;
}

/**
 * Runs a create once for its key. A repetition within a day answers with the current state of the created resource.
 *
 * The key is written first, in the transaction of the create. So if two requests arrive at the same time, the second
 * waits and then is a repetition. Throws `invalid` for another body under the same key.
 */
export async function claimKey(db: Database, create: IdempotentCreate, doing: IdempotentWrite): Promise<unknown> {
  const { principal, path, key } = create;
  if (key === '' || key.length > LONGEST_KEY) {
    throw new Refusal('malformed', `Idempotency-Key must have 1 to ${LONGEST_KEY} characters`);
  }
  const bodyHash = new Uint8Array(doing.mac(JSON.stringify(create.body ?? null)));
  const where = { principal_path_key: { principal, path, key } };
  return db.transaction(async (tx) => {
    const createdAt = new Date(doing.now);
    await tx.prisma.idempotencyKey.deleteMany({
      where: { principal, path, key, createdAt: { lt: new Date(doing.now - DAY_MS) } },
    });
    const { count } = await tx.prisma.idempotencyKey.createMany({
      data: [{ principal, path, key, bodyHash, resourceId: '', createdAt }],
      skipDuplicates: true,
    });
    if (count === 0) {
      const earlier = await tx.prisma.idempotencyKey.findUniqueOrThrow({ where });
      if (Buffer.compare(bodyHash, earlier.bodyHash) !== 0) {
        throw new Refusal('invalid', 'this Idempotency-Key was used with another body');
      }
      const item = await doing.find(earlier.resourceId);
      if (item === undefined) throw notFound();
      return item;
    }
    const item = await doing.run(tx);
    await tx.prisma.idempotencyKey.update({ where, data: { resourceId: doing.idOf(item) } });
    return item;
  });
}
