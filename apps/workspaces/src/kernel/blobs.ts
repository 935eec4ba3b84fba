import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import type { Keyring } from '@keystead/keyring';
import type { Database } from './database';
import { newId } from './ids';

const chunkBytes = 1024 * 1024;
/** A blob that is not complete after this long was left behind by a writer that is gone. */
const abandonedMs = 60 * 60_000;

/** More bytes came than may come. */
export class BlobTooLarge extends Error {
  override readonly name = 'BlobTooLarge';
}

/** What a finished blob is known by. */
export interface WrittenBlob {
  readonly id: string;
  /** Bytes before compression. */
  readonly size: number;
}

/** The address a chunk is bound to: its blob, its place in it, and whether it is the last. */
function cell(blobId: string, position: number, last: boolean) {
  return { table: 'blob_chunk', row: `${blobId}/${position}${last ? '/end' : ''}`, column: 'sealed' };
}

/**
 * Writes bytes as they come: compressed, cut into chunks of 1 MiB, each sealed by itself and stored at once, so that
 * neither memory nor a transaction grows with the size. `seen` is shown every piece as it came. Throws BlobTooLarge above
 * `limit` bytes. The blob is invisible until it is complete; what is left behind by a failure is removed here, or swept.
 */
export async function writeBlob(
  db: Database,
  keyring: Keyring,
  source: AsyncIterable<Uint8Array>,
  options: { limit: number; seen?: (piece: Uint8Array) => void },
): Promise<WrittenBlob> {
  const id = newId('blob');
  await db.prisma.blob.create({ data: { id } });
  try {
    const gzip = createGzip({ level: 1 });
    let size = 0;
    const feeding = (async () => {
      for await (const piece of source) {
        size += piece.length;
        if (size > options.limit) throw new BlobTooLarge(`more than ${options.limit} bytes`);
        options.seen?.(piece);
        if (!gzip.write(piece)) await once(gzip, 'drain');
      }
      gzip.end();
    })();
    feeding.catch((error: Error) => gzip.destroy(error));
    const chunks = await storeChunks(db, keyring, id, gzip);
    await feeding;
    await db.prisma.blob.update({ where: { id }, data: { size: BigInt(size), chunks, completedAt: new Date() } });
    return { id, size };
  } catch (error) {
    await removeBlob(db, id).catch(() => undefined);
    throw error;
  }
}

async function storeChunks(db: Database, keyring: Keyring, id: string, source: Readable): Promise<number> {
  let waiting: Buffer[] = [];
  let held = 0;
  let position = 0;
  const store = async (bytes: Buffer, last: boolean) => {
    const sealed = new Uint8Array(keyring.seal(bytes, cell(id, position, last)));
    await db.prisma.blobChunk.create({ data: { blobId: id, position, sealed } });
    position++;
  };
  for await (const piece of source as AsyncIterable<Buffer>) {
    waiting.push(piece);
    held += piece.length;
    // A full chunk is stored only once more has come, because the last one is sealed as the last.
    while (held > chunkBytes) {
      const bytes = Buffer.concat(waiting);
      await store(bytes.subarray(0, chunkBytes), false);
      const rest = bytes.subarray(chunkBytes);
      waiting = [rest];
      held = rest.length;
    }
  }
  await store(Buffer.concat(waiting), true);
  return position;
}

/** The bytes of a complete blob, one chunk in memory at a time; undefined where there is none. A chunk that is missing,
 * moved or changed ends the stream with an error. */
export async function readBlob(db: Database, keyring: Keyring, id: string): Promise<Readable | undefined> {
  const blob = await db.prisma.blob.findUnique({ where: { id } });
  if (!blob?.completedAt) return undefined;
  const out = new PassThrough();
  const gunzip = createGunzip();
  const sealed = Readable.from(opened(db, keyring, id, blob.chunks), { objectMode: false });
  sealed.on('error', (error) => gunzip.destroy(error));
  gunzip.on('error', (error) => out.destroy(error));
  out.on('close', () => {
    sealed.destroy();
    gunzip.destroy();
  });
  return sealed.pipe(gunzip).pipe(out);
}

async function* opened(db: Database, keyring: Keyring, id: string, chunks: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < chunks; position++) {
    const chunk = await db.prisma.blobChunk.findUnique({ where: { blobId_position: { blobId: id, position } } });
    if (!chunk) throw new Error(`blob ${id} lacks chunk ${position} of ${chunks}`);
    yield keyring.open(chunk.sealed, cell(id, position, position === chunks - 1));
  }
}

/** All bytes of a blob at once; for those known to be small. */
export async function readWholeBlob(db: Database, keyring: Keyring, id: string): Promise<Buffer | undefined> {
  const stream = await readBlob(db, keyring, id);
  if (!stream) return undefined;
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** Removes a blob and its chunks. */
export async function removeBlob(db: Database, id: string): Promise<void> {
  await db.prisma.blob.deleteMany({ where: { id } });
}

/** Removes blobs whose writer did not live to complete them; answers how many. */
export async function sweepBlobs(db: Database, nowMs: number): Promise<number> {
  const createdAt = { lt: new Date(nowMs - abandonedMs) };
  return (await db.prisma.blob.deleteMany({ where: { completedAt: null, createdAt } })).count;
}
