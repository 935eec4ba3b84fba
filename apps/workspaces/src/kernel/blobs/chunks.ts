import { Refusal } from '@keystead/refusal';
import type { Database } from '../database/database';

/** The shortest time between two heartbeats of a writer. The sweep removes blobs whose writer has no heartbeat. */
const aliveEveryMs = 60_000;
/** A first chunk up to this size is read together with the row of its blob. */
const smallBytes = 128 * 1024;

/** Where the sealed chunks of a new blob are stored. */
export interface Chunks {
  /** Whether the only chunk of a blob may be stored later, together with the row that refers to the blob. */
  readonly mayWait: boolean;
  put(position: number, sealed: Buffer): Promise<void>;
  /** Stores the last chunk and completes the blob. */
  finish(position: number, sealed: Buffer, size: number): Promise<void>;
}

const wholeInOne = {
  name: 'blob_whole',
  text: `WITH made AS (INSERT INTO blob (id, size, chunks, completed_at, provisional)
                        VALUES ($1, $2, 1, now(), $3) RETURNING id)
    INSERT INTO blob_chunk (blob_id, position, sealed) SELECT id, 0, $4 FROM made`,
};
const begin = { name: 'blob_begin', text: 'INSERT INTO blob (id, store, provisional) VALUES ($1, $2, $3)' };
const putChunk = {
  name: 'blob_chunk_put',
  text: 'INSERT INTO blob_chunk (blob_id, position, sealed) VALUES ($1, $2, $3)',
};
const alive = { name: 'blob_alive', text: 'UPDATE blob SET alive_at = now() WHERE id = $1' };
const complete = {
  name: 'blob_complete',
  text: `UPDATE blob SET size = $2, chunks = $3, completed_at = now(), alive_at = now()
          WHERE id = $1 AND completed_at IS NULL RETURNING id`,
};
const find = {
  name: 'blob_find',
  text: `SELECT b.chunks, b.size::float8 AS size, b.store, c.sealed FROM blob b
           LEFT JOIN blob_chunk c ON c.blob_id = b.id AND c.position = 0 AND octet_length(c.sealed) <= ${smallBytes}
          WHERE b.id = $1 AND b.completed_at IS NOT NULL`,
};

const keyOf = (id: string, position: number): string => `${id}/${position}`;

/** Calls the object store; a failure becomes a refusal that allows a retry. */
async function orUnavailable<T>(doing: Promise<T>): Promise<T> {
  try {
    return await doing;
  } catch (cause) {
    throw new Refusal('unavailable', 'the object store does not answer; try again', [], { cause });
  }
}

/** Where the chunks of a new blob are stored: in the object store if there is one, otherwise in the database. */
export function chunksFor(db: Database, id: string, provisional: boolean): Chunks {
  const objects = objectsOf(db);
  let aliveAt = performance.now();
  let insertion: Promise<unknown> | undefined;
  const started = () => {
    insertion ??= db.rows({ ...begin, values: [id, objects ? 'objects' : 'database', provisional] });
    return insertion;
  };
  const store = async (position: number, sealed: Buffer): Promise<void> => {
    await started();
    if (objects) await orUnavailable(objects.put(keyOf(id, position), sealed));
    else await db.rows({ ...putChunk, values: [id, position, sealed] });
  };
  return {
    mayWait: !objects,
    async put(position, sealed) {
      await store(position, sealed);
      if (performance.now() - aliveAt > aliveEveryMs) {
        aliveAt = performance.now();
        await db.rows({ ...alive, values: [id] });
      }
    },
    async finish(position, sealed, size) {
      if (position === 0 && !objects) {
        await db.rows({ ...wholeInOne, values: [id, size, provisional, sealed] });
        return;
      }
      await store(position, sealed);
      const completed = await db.rows({ ...complete, values: [id, size, position + 1] });
      if (completed.length > 0) return;
      // The blob was swept while it was being written, so the chunks stored since then must also be removed.
      if (objects) await forget(db, objects, id);
      throw new Refusal('unavailable', 'the upload took too long; try again');
    },
  };
}

async function forget(db: Database, objects: ObjectStore, id: string): Promise<void> {
  await db.prisma.objectRemoval.createMany({ data: [{ blobId: id }], skipDuplicates: true });
  await objects.removeAll(`${id}/`).catch(() => undefined);
}

/** The chunks of a complete blob: their number, the first one if it is small, and a function that reads a chunk. */
export async function chunksIn(db: Database, id: string) {
  const [blob] = await db.rows<{ chunks: number; size: number; store: string; sealed: Buffer | null }>({
    ...find,
    values: [id],
  });
  if (!blob) return undefined;
  const get =
    blob.store === 'database'
      ? (position: number): Promise<Uint8Array | undefined> =>
          db.large({ table: 'blob_chunk', column: 'sealed', where: { blob_id: id, position } })
      : (position: number): Promise<Uint8Array | undefined> =>
          orUnavailable(requireObjects(db).get(keyOf(id, position)));
  return { count: blob.chunks, size: blob.size, first: blob.sealed ?? undefined, get };
}

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
function objectsOf(db: Database): ObjectStore | undefined {
  return (db as Partial<WithObjects>).objects;
}

/** The object store that contains a blob. Throws `unavailable` if a store is no longer configured. */
function requireObjects(db: Database): ObjectStore {
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
