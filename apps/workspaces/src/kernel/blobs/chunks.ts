import { Refusal } from '@keystead/refusal';
import type { Database } from '../database/database';
import { type ObjectStore, objectsOf, requireObjects } from './objects';

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
