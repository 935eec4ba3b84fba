import type { Transform } from 'node:stream';
import { constants, createBrotliCompress, createBrotliDecompress, createGunzip, createGzip } from 'node:zlib';

/** What compressed bytes begin with: a stream of gzip begins with this byte by itself, a Brotli stream gets one ahead. */
const gzipMark = 0x1f;
const brotliMark = 0x42;

/** Every write is a trip to another thread, and a block that is compressed by itself. */
export const runBytes = 256 * 1024;

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
export const brotli: Compression = {
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
export function decompressorFor(first: Buffer): { decompressor: Transform; first: Buffer } {
  if (first[0] === gzipMark) return { decompressor: createGunzip(read), first };
  if (first[0] === brotliMark) return { decompressor: createBrotliDecompress(read), first: first.subarray(1) };
  throw new Error('a blob is compressed in an unknown way');
}
