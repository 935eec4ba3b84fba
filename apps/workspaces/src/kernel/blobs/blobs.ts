import { pipeline, Readable, type Transform } from 'node:stream';
import { constants, createBrotliCompress, createBrotliDecompress, createGunzip, createGzip } from 'node:zlib';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../database/database';
import { newId } from '../database/ids';
import { type Chunks, chunksFor, chunksIn } from './chunks';

const chunkBytes = 1024 * 1024;
/** Chunks on their way to the store at once. */
const inFlight = 2;
/** A blob whose writer has not been heard of for this long was left behind by one that is gone. */
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
  /** Nothing is left to be stored: what still has a chunk is not a finished blob. */
  readonly sealed?: undefined;
}

/** A blob whose only chunk may still have to be stored: with `storeBlob`, or in the statement that refers to it. */
export interface GatheredBlob extends Omit<WrittenBlob, 'sealed'> {
  readonly sealed?: Buffer;
}

/** How a blob is written. */
export interface WriteOptions {
  readonly limit: number;
  /** Is shown every piece as it came; the next one when what it answered has resolved. What it throws ends the writing. */
  readonly seen?: (piece: Uint8Array) => Promise<void> | undefined;
  /** Removed after an hour, unless `keepBlob` says that something refers to it. */
  readonly provisional?: boolean;
  /** How it is compressed; by Brotli if nothing is said. */
  readonly compression?: Compression;
}

/** The address a chunk is bound to: its blob, its place in it, and whether it is the last. */
function cell(blobId: string, position: number, last: boolean) {
  return { table: 'blob_chunk', row: `${blobId}/${position}${last ? '/end' : ''}`, column: 'sealed' };
}

/**
 * Writes bytes as they come: compressed, cut into chunks of 1 MiB, each sealed by itself and stored at once, so that
 * neither memory nor a transaction grows with the size. Throws BlobTooLarge above the limit, and `unavailable` when the
 * store fails. The blob is invisible until it is complete; what is left behind by a failure is removed here, or swept.
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

/** Stores what was gathered and is not stored yet; answers the blob as it is then. */
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

/** As `writeBlob`; but what is one chunk for the database is not stored, only sealed. */
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
    return options.seen?.(piece);
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
  seen: (piece: Uint8Array) => Promise<void> | undefined,
): Promise<void> {
  // Two runs in turn: one is filled while the other is compressed. Fresh buffers for all would be as much garbage as
  // there are bytes.
  const runs = [Buffer.allocUnsafe(runBytes), Buffer.allocUnsafe(runBytes)];
  let pressing = Promise.resolve();
  let turn = 0;
  let held = 0;
  const press = async () => {
    const run = runs[turn]!.subarray(0, held);
    turn = 1 - turn;
    held = 0;
    await pressing;
    pressing = new Promise((resolve, reject) => into.write(run, (error) => (error ? reject(error) : resolve())));
    pressing.catch(() => undefined);
  };
  for await (const piece of source) {
    await seen(piece);
    for (let from = 0; from < piece.length; ) {
      const part = piece.subarray(from, from + runBytes - held);
      runs[turn]!.set(part, held);
      held += part.length;
      from += part.length;
      if (held === runBytes) await press();
    }
  }
  if (held > 0) await press();
  await pressing;
  into.end();
}

/** Cuts what comes into chunks, seals and stores them; a few are under way at once. */
class ChunkWriter {
  /** Grows to a chunk, where a state is that large. */
  private chunk = Buffer.allocUnsafe(64 * 1024);
  private held = 0;
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
      // A full chunk is stored only once more has come, because the last one is sealed as the last.
      if (this.held === chunkBytes) await this.store();
      const part = piece.subarray(from, from + chunkBytes - this.held);
      this.makeRoom(part.length);
      part.copy(this.chunk, this.held);
      this.held += part.length;
      from += part.length;
    }
  }

  private makeRoom(more: number): void {
    if (this.held + more <= this.chunk.length) return;
    const larger = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(this.held + more, 2 * this.chunk.length)));
    this.chunk.copy(larger, 0, 0, this.held);
    this.chunk = larger;
  }

  /** Stores the rest, and makes the blob visible; or answers its only chunk, where that may wait. */
  async end(size: number): Promise<Buffer | undefined> {
    await Promise.all(this.underWay);
    if (this.failed) throw this.failed.error;
    const sealed = this.seal(true);
    if (this.position === 0 && this.chunks.mayWait) return sealed;
    await this.chunks.finish(this.position, sealed, size);
    return undefined;
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  private seal(last: boolean): Buffer {
    return this.keyring.seal(this.chunk.subarray(0, this.held), cell(this.id, this.position, last));
  }

  private async store(): Promise<void> {
    while (this.underWay.size >= inFlight) await Promise.race(this.underWay);
    if (this.failed) throw this.failed.error;
    const storing = this.chunks.put(this.position, this.seal(false)).catch((error) => {
      this.failed = { error };
    });
    this.position++;
    this.held = 0;
    this.underWay.add(storing);
    void storing.then(() => this.underWay.delete(storing));
  }
}

/**
 * The bytes of a complete blob, a chunk or two in memory at a time; undefined if there is none. A chunk that is missing,
 * moved or changed ends the stream with an error. Throws `unavailable` when the store fails.
 */
export async function readBlob(db: Database, keyring: Keyring, id: string): Promise<Readable | undefined> {
  const blob = await chunksIn(db, id);
  if (!blob) return undefined;
  const pieces = opened(keyring, id, blob);
  const { decompressor, first } = decompressorFor((await pieces.next()).value ?? Buffer.alloc(0));
  const all = async function* () {
    if (first.length > 0) yield first;
    yield* pieces;
  };
  // An error anywhere reaches the reader of the last stream.
  pipeline(Readable.from(all(), { objectMode: false, highWaterMark: 1 }), decompressor, () => undefined);
  return decompressor;
}

async function* opened(
  keyring: Keyring,
  id: string,
  { count, first, get }: NonNullable<Awaited<ReturnType<typeof chunksIn>>>,
): AsyncGenerator<Buffer> {
  let coming = Promise.resolve(first);
  for (let position = 0; position < count; position++) {
    const sealed = await coming;
    if (!sealed) throw new Error(`blob ${id} lacks chunk ${position} of ${count}`);
    if (position + 1 < count) {
      // The next one is on its way while this one is being read.
      coming = get(position + 1);
      coming.catch(() => undefined);
    }
    yield keyring.open(sealed, cell(id, position, position === count - 1));
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

/** Says that something refers to provisional blobs; to be called in the transaction that makes it so. */
export async function keepBlob(tx: Database, ...ids: string[]): Promise<void> {
  const { count } = await tx.prisma.blob.updateMany({ where: { id: { in: ids } }, data: { provisional: false } });
  if (count !== ids.length) throw new Refusal('unavailable', 'the upload took too long; try again');
}

/** Removes a blob and its chunks. */
export async function removeBlob(db: Database, id: string): Promise<void> {
  await db.prisma.blob.deleteMany({ where: { id } });
}

/** Removes blobs whose writer did not live to complete them, or to use them; answers how many. */
export async function sweepBlobs(db: Database, nowMs: number): Promise<number> {
  const aliveAt = { lt: new Date(nowMs - abandonedMs) };
  const where = { aliveAt, OR: [{ completedAt: null }, { provisional: true }] };
  return (await db.prisma.blob.deleteMany({ where })).count;
}

/** What compressed bytes begin with: a stream of gzip begins with this byte by itself, a Brotli stream gets one ahead. */
const gzipMark = 0x1f;
const brotliMark = 0x42;

/** Every write is a trip to another thread, and a block that is compressed by itself. */
const runBytes = 256 * 1024;

const read = { chunkSize: 64 * 1024 };

/** How bytes are compressed that will be kept; `head` comes before them. */
export interface Compression {
  readonly head: Buffer;
  compressor(): Transform;
}

/**
 * Brotli at its second lowest quality: half the processor time of the fastest gzip for states, a fifth for what hardly
 * shrinks, and smaller. The window is as large as a run: what is read again needs no more memory than that.
 */
const brotli: Compression = {
  head: Buffer.of(brotliMark),
  compressor: () =>
    createBrotliCompress({
      chunkSize: runBytes,
      params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 },
    }),
};

/** How everything was compressed at first. */
export const gzip: Compression = {
  head: Buffer.alloc(0),
  compressor: () => createGzip({ level: 1, chunkSize: runBytes }),
};

/** What undoes the compression of bytes that begin with this piece, and the piece as it wants it. */
function decompressorFor(first: Buffer): { decompressor: Transform; first: Buffer } {
  if (first[0] === gzipMark) return { decompressor: createGunzip(read), first };
  if (first[0] === brotliMark) return { decompressor: createBrotliDecompress(read), first: first.subarray(1) };
  throw new Error('a blob is compressed in an unknown way');
}
