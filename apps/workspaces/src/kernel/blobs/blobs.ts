import { pipeline, Readable, type Transform } from 'node:stream';
import {
  brotliDecompressSync,
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createGunzip,
  createGzip,
  gunzipSync,
} from 'node:zlib';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../database/database';
import { newId } from '../database/ids';
import { type Chunks, chunksFor, chunksIn } from './chunks';

const chunkBytes = 1024 * 1024;
/** The number of chunks that are stored at the same time. */
const inFlight = 2;
/** If a blob has no heartbeat from its writer for this long, its writer has died. */
const abandonedMs = 60 * 60_000;

/** More bytes arrived than allowed. */
export class BlobTooLarge extends Error {
  override readonly name = 'BlobTooLarge';
}

/** The description of a finished blob. */
export interface WrittenBlob {
  readonly id: string;
  /** Bytes before compression. */
  readonly size: number;
  /** Always undefined, because all chunks are stored. `GatheredBlob` has a chunk here that must still be stored. */
  readonly sealed?: undefined;
}

/** A blob whose only chunk may still have to be stored, by `storeBlob` or in the statement that refers to it. */
export interface GatheredBlob extends Omit<WrittenBlob, 'sealed'> {
  readonly sealed?: Buffer;
}

/** How a blob is written. */
export interface WriteOptions {
  readonly limit: number;
  /**
   * Receives every piece as it arrives. The next piece is passed when the returned promise resolves. An error thrown
   * here stops the write.
   */
  readonly onPiece?: (piece: Uint8Array) => Promise<void> | undefined;
  /** The blob is removed after an hour unless `keepBlob` is called for it. */
  readonly provisional?: boolean;
  /** The compression; Brotli by default. */
  readonly compression?: Compression;
}

/** The cell that a chunk is bound to: its blob, its position, and whether it is the last. */
function cell(blobId: string, position: number, last: boolean) {
  return { table: 'blob_chunk', row: `${blobId}/${position}${last ? '/end' : ''}`, column: 'sealed' };
}

/**
 * Writes a stream of bytes. It is compressed and cut into chunks of 1 MiB, which are sealed separately and stored
 * immediately, so that memory and transactions do not grow with the size. Throws BlobTooLarge above the limit, and
 * `unavailable` if the store fails. The blob is invisible until it is complete. The remains of a failed write are
 * removed here or by a later sweep.
 */
export async function writeBlob(
  db: Database,
  keyring: Keyring,
  source: AsyncIterable<Uint8Array>,
  options: WriteOptions,
): Promise<WrittenBlob> {
  const gathered = await gatherBlob(db, keyring, source, options);
  return storeBlob(db, gathered, options);
}

/** Stores the chunk of a gathered blob if it is not stored yet; returns the finished blob. */
export async function storeBlob(
  db: Database,
  { id, size, sealed }: GatheredBlob,
  { provisional = false }: Pick<WriteOptions, 'provisional'>,
): Promise<WrittenBlob> {
  if (sealed === undefined) return { id, size };
  try {
    await chunksFor(db, id, provisional).finish(0, sealed, size);
  } catch (error) {
    await removeBlob(db, id).catch(() => undefined);
    throw error;
  }
  return { id, size };
}

/** Like `writeBlob`, but if the blob is a single chunk for the database, the chunk is sealed and not stored. */
export async function gatherBlob(
  db: Database,
  keyring: Keyring,
  source: AsyncIterable<Uint8Array>,
  options: WriteOptions,
): Promise<GatheredBlob> {
  const id = newId('blob');
  const writer = new ChunkWriter(chunksFor(db, id, options.provisional === true), keyring, id);
  const { head, compressor } = options.compression ?? brotli;
  const pressed = compressor();
  let size = 0;
  const feeding = feed(pressed, source, (piece) => {
    size += piece.length;
    if (size > options.limit) throw new BlobTooLarge(`more than ${options.limit} bytes`);
    return options.onPiece?.(piece);
  });
  feeding.catch((error: Error) => pressed.destroy(error));
  try {
    await writer.write(head);
    for await (const piece of pressed as AsyncIterable<Buffer>) await writer.write(piece);
    await feeding;
    return { id, size, sealed: await writer.end(size) };
  } catch (error) {
    pressed.destroy();
    await writer.settled();
    await removeBlob(db, id).catch(() => undefined);
    throw error;
  }
}

async function feed(
  into: Transform,
  source: AsyncIterable<Uint8Array>,
  onPiece: (piece: Uint8Array) => Promise<void> | undefined,
): Promise<void> {
  // Two buffers are used in turn: one is filled while the other is compressed. New buffers each time would produce as
  // much garbage as there is data.
  const runs = [Buffer.allocUnsafe(runBytes), Buffer.allocUnsafe(runBytes)];
  let pressing = Promise.resolve();
  let turn = 0;
  let filled = 0;
  const press = async () => {
    const run = runs[turn]!.subarray(0, filled);
    turn = 1 - turn;
    filled = 0;
    await pressing;
    pressing = new Promise((resolve, reject) => into.write(run, (error) => (error ? reject(error) : resolve())));
    pressing.catch(() => undefined);
  };
  for await (const piece of source) {
    await onPiece(piece);
    for (let from = 0; from < piece.length; ) {
      const part = piece.subarray(from, from + runBytes - filled);
      runs[turn]!.set(part, filled);
      filled += part.length;
      from += part.length;
      if (filled === runBytes) await press();
    }
  }
  if (filled > 0) await press();
  await pressing;
  into.end();
}

/** Cuts the stream into chunks, seals and stores them; a few are stored at the same time. */
class ChunkWriter {
  /** Grows with the data, up to the size of a chunk. */
  private chunk = Buffer.allocUnsafe(64 * 1024);
  private chunkLength = 0;
  private position = 0;
  private readonly underWay = new Set<Promise<void>>();
  private failed: { error: unknown } | undefined;

  constructor(
    private readonly chunks: Chunks,
    private readonly keyring: Keyring,
    private readonly id: string,
  ) {}

  async write(piece: Buffer): Promise<void> {
    for (let from = 0; from < piece.length; ) {
      // A full chunk is stored only when more bytes arrive, because the seal of a chunk includes whether it is the
      // last.
      if (this.chunkLength === chunkBytes) await this.store();
      const part = piece.subarray(from, from + chunkBytes - this.chunkLength);
      this.makeRoom(part.length);
      part.copy(this.chunk, this.chunkLength);
      this.chunkLength += part.length;
      from += part.length;
    }
  }

  private makeRoom(more: number): void {
    if (this.chunkLength + more <= this.chunk.length) return;
    const larger = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(this.chunkLength + more, 2 * this.chunk.length)));
    this.chunk.copy(larger, 0, 0, this.chunkLength);
    this.chunk = larger;
  }

  /** Stores the rest and makes the blob visible. If its only chunk may be stored later, returns the chunk instead. */
  async end(size: number): Promise<Buffer | undefined> {
    await Promise.all(this.underWay);
    if (this.failed) throw this.failed.error;
    const sealed = this.seal(true);
    if (this.position === 0 && this.chunks.mayWait) return sealed;
    await this.chunks.finish(this.position, sealed, size);
    return undefined;
  }

  /** Resolves when all started chunks are stored. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  private seal(last: boolean): Buffer {
    return this.keyring.seal(this.chunk.subarray(0, this.chunkLength), cell(this.id, this.position, last));
  }

  private async store(): Promise<void> {
    while (this.underWay.size >= inFlight) await Promise.race(this.underWay);
    if (this.failed) throw this.failed.error;
    const storing = this.chunks.put(this.position, this.seal(false)).catch((error) => {
      this.failed = { error };
    });
    this.position++;
    this.chunkLength = 0;
    this.underWay.add(storing);
    void storing.then(() => this.underWay.delete(storing));
  }
}

/**
 * The bytes of a complete blob, with one or two chunks in memory at a time; undefined if the blob does not exist. A
 * missing, moved or changed chunk ends the stream with an error. Throws `unavailable` if the store fails.
 */
export async function readBlob(db: Database, keyring: Keyring, id: string): Promise<Readable | undefined> {
  const blob = await chunksIn(db, id);
  return blob && streamOf(keyring, id, blob);
}

async function streamOf(keyring: Keyring, id: string, blob: StoredChunks): Promise<Readable> {
  const pieces = opened(keyring, id, blob);
  const { decompressor, first } = decompressorFor((await pieces.next()).value ?? Buffer.alloc(0));
  const all = async function* () {
    if (first.length > 0) yield first;
    yield* pieces;
  };
  // An error in any of the streams also ends the last stream, so its reader gets the error.
  pipeline(Readable.from(all(), { objectMode: false, highWaterMark: 1 }), decompressor, () => undefined);
  return decompressor;
}

type StoredChunks = NonNullable<Awaited<ReturnType<typeof chunksIn>>>;

async function* opened(keyring: Keyring, id: string, { count, first, get }: StoredChunks): AsyncGenerator<Buffer> {
  let coming: Promise<Uint8Array | undefined> = first ? Promise.resolve(first) : get(0);
  for (let position = 0; position < count; position++) {
    const sealed = await coming;
    if (!sealed) throw new Error(`blob ${id} has no chunk ${position} of ${count}`);
    if (position + 1 < count) {
      // The next chunk is fetched while this one is read.
      coming = get(position + 1);
      coming.catch(() => undefined);
    }
    yield keyring.open(sealed, cell(id, position, position === count - 1));
  }
}

/** Up to this size, bytes are decompressed in one turn, because streams cost more than the decompression. */
const atOnceBytes = 256 * 1024;

/** All bytes of a blob in one buffer, up to `most` bytes. */
export async function readBlobAtOnce(
  db: Database,
  keyring: Keyring,
  id: string,
  most: number,
): Promise<Readable | Buffer | undefined> {
  const blob = await chunksIn(db, id);
  if (!blob) return undefined;
  return blob.size > most ? streamOf(keyring, id, blob) : wholeOf(keyring, id, blob);
}

/**
 * All bytes of a blob in one buffer; undefined if the blob does not exist, has more than `most` bytes, or is in an
 * object store, which may take long to answer.
 */
export async function readSmallBlob(
  db: Database,
  keyring: Keyring,
  id: string,
  most: number,
): Promise<Buffer | undefined> {
  const blob = await chunksIn(db, id);
  return blob?.first && blob.size <= most ? wholeOf(keyring, id, blob) : undefined;
}

async function wholeOf(keyring: Keyring, id: string, blob: StoredChunks): Promise<Buffer> {
  if (blob.count > 1 || blob.size > atOnceBytes || !blob.first) return allOf(await streamOf(keyring, id, blob));
  const bytes = keyring.open(blob.first, cell(id, 0, true));
  const options = { maxOutputLength: atOnceBytes };
  return bytes[0] === gzipMark ? gunzipSync(bytes, options) : brotliDecompressSync(bytes.subarray(1), options);
}

async function allOf(stream: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** All bytes of a blob in one buffer, for blobs that are known to be small. */
export async function readWholeBlob(db: Database, keyring: Keyring, id: string): Promise<Buffer | undefined> {
  const stream = await readBlob(db, keyring, id);
  return stream && allOf(stream);
}

/**
 * Records that something refers to provisional blobs; call it in the transaction that adds the reference. Throws
 * `unavailable` if one of the blobs was already removed.
 */
export async function keepBlob(tx: Database, ...ids: string[]): Promise<void> {
  const { count } = await tx.prisma.blob.updateMany({ where: { id: { in: ids } }, data: { provisional: false } });
  if (count !== ids.length) throw new Refusal('unavailable', 'the upload took too long; try again');
}

/** Removes a blob and its chunks. */
export async function removeBlob(db: Database, id: string): Promise<void> {
  await db.prisma.blob.deleteMany({ where: { id } });
}

/** Removes uploads that nothing uses. They are left if the same request was sent twice at the same time. */
export async function dropBlobs(db: Database, ids: readonly string[]): Promise<void> {
  await db.prisma.blob.deleteMany({ where: { id: { in: [...ids] }, provisional: true } });
}

/** Removes blobs whose writer died before it completed or used them; returns how many. */
export async function sweepBlobs(db: Database, nowMs: number): Promise<number> {
  const aliveAt = { lt: new Date(nowMs - abandonedMs) };
  const where = { aliveAt, OR: [{ completedAt: null }, { provisional: true }] };
  return (await db.prisma.blob.deleteMany({ where })).count;
}

/**
 * The first byte of compressed data. gzip streams already begin with this byte; for Brotli streams, a byte is
 * prepended.
 */
const gzipMark = 0x1f;
const brotliMark = 0x42;

/**
 * The number of bytes for each write to the compressor. Each write is a round trip to another thread and produces a
 * separate compressed block.
 */
const runBytes = 256 * 1024;

const read = { chunkSize: 64 * 1024 };

/** How stored bytes are compressed; `head` precedes them. */
export interface Compression {
  readonly head: Buffer;
  compressor(): Transform;
}

/**
 * Brotli at its second lowest quality. Compared with the fastest gzip, it takes half the processor time for states and
 * a fifth for bytes that hardly shrink, and the result is smaller. The window is as large as a run, so reading needs no
 * more memory than that.
 */
const brotli: Compression = {
  head: Buffer.of(brotliMark),
  compressor: () =>
    createBrotliCompress({
      chunkSize: runBytes,
      params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 },
    }),
};

/** The compression of older blobs. */
export const gzip: Compression = {
  head: Buffer.alloc(0),
  compressor: () => createGzip({ level: 1, chunkSize: runBytes }),
};

/** The decompressor for bytes that begin with this piece, and the piece without its mark. */
function decompressorFor(first: Buffer): { decompressor: Transform; first: Buffer } {
  if (first[0] === gzipMark) return { decompressor: createGunzip(read), first };
  if (first[0] === brotliMark) return { decompressor: createBrotliDecompress(read), first: first.subarray(1) };
  throw new Error('a blob has an unknown compression');
}
