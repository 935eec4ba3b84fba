import { Refusal } from '@keystead/refusal';
import type { Database } from '../database/database';

/** A store of objects outside the database, for the sealed chunks of blobs. It never sees plain text. */
export interface ObjectStore {
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Undefined if there is no object with this key. */
  get(key: string): Promise<Uint8Array | undefined>;
  /** Removes every object whose key begins with the prefix; there may be none. */
  removeAll(prefix: string): Promise<void>;
  close(): void;
}

interface WithObjects extends Database {
  readonly objects: ObjectStore;
}

/** A database whose new blobs go to an object store. */
export function withObjects<D extends Database>(db: D, objects: ObjectStore): D {
  const transaction: Database['transaction'] = (run) => db.transaction((tx) => run(withObjects(tx, objects)));
  return { ...db, transaction, inTurn: (name) => withObjects(db.inTurn(name), objects), objects };
}

/**
 * A view of the database that stores new blobs in the database itself. It is for small blobs that are created in a
 * transaction with other rows. A failed transaction does not remove its objects, and an open transaction must not wait
 * for a store.
 */
export const withoutObjects = (db: Database): Database => Object.assign({ ...db }, { objects: undefined });

/** The object store that new blobs go to; undefined if they go to the database. */
export function objectsOf(db: Database): ObjectStore | undefined {
  return (db as Partial<WithObjects>).objects;
}

/** The object store that contains a blob. Throws `unavailable` if a store is no longer configured. */
export function requireObjects(db: Database): ObjectStore {
  const objects = objectsOf(db);
  if (!objects) throw new Refusal('unavailable', 'the object store that contains this is not configured');
  return objects;
}

const OWNER = 'installation';

/**
 * Makes sure that the objects in the store belong to this database, because it may delete them. The first database that
 * uses the store writes a mark into it. A copy of the database is a different database; a standby that was promoted is
 * not. If the store belongs to another database, throws an Error that says what to do.
 */
async function own(db: Database, objects: ObjectStore): Promise<void> {
  const [database] = await db.rows<{ mine: string }>({
    name: 'object_owner',
    text: `SELECT system_identifier || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) AS mine
             FROM pg_control_system()`,
    values: [],
  });
  const { mine } = database!;
  const read = async () => {
    const bytes = await objects.get(OWNER);
    return bytes && Buffer.from(bytes).toString();
  };
  let owner = await read();
  if (owner === undefined) {
    await objects.put(OWNER, Buffer.from(mine));
    // Another database may have written its mark at the same time.
    owner = await read();
  }
  if (owner === mine) return;
  throw new Error(
    `objects are not deleted: the object store belongs to database ${owner}, this is ${mine}. Give this installation its own ` +
      `store or prefix; or, if the other one is permanently gone, delete the object "${OWNER}" there`,
  );
}

const CLAIM_SECONDS = 60;
const BATCH = 100;

/**
 * Deletes the objects of deleted blobs; returns the number of blobs. Throws if the store belongs to another database.
 * Any node retries failed deletions later, at growing intervals. So no deletion is lost if the store is unavailable for
 * a day, and the store is not called all the time.
 */
export async function removeObjects(db: Database): Promise<number> {
  const objects = objectsOf(db);
  if (!objects) return 0;
  const claimed = await db.rows<{ blob_id: string }>({
    name: 'object_removal_claim',
    text: `UPDATE object_removal SET attempts = attempts + 1,
             not_before = now() + make_interval(secs => least($1 * power(2, attempts), 86400))
            WHERE blob_id IN (SELECT blob_id FROM object_removal WHERE not_before <= now()::timestamptz(3)
                               ORDER BY not_before LIMIT $2 FOR UPDATE SKIP LOCKED)
            RETURNING blob_id`,
    values: [CLAIM_SECONDS, BATCH],
  });
  // The mark is written even if there is nothing to delete, because it must exist before the database is copied.
  await own(db, objects);
  let removed = 0;
  let failure: unknown;
  for (const { blob_id: id } of claimed) {
    try {
      await objects.removeAll(`${id}/`);
      await db.prisma.objectRemoval.deleteMany({ where: { blobId: id } });
      removed++;
    } catch (error) {
      failure = error;
    }
  }
  if (failure) throw failure;
  return removed;
}
