import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { fromRandomAccessReaderPromise, RandomAccessReader } from 'yauzl';

/** An archive whose files cannot be read. The message is for its publisher. */
export class UnreadableArchive extends Error {
  override readonly name = 'UnreadableArchive';
}

const tailBytes = 1024 * 1024;
const mostFiles = 10_000;
const mostUnpacked = 2 * 1024 ** 3;

/** The last bytes of an archive, where its directory is. */
export class Tail {
  size = 0;
  private readonly ring = Buffer.allocUnsafe(tailBytes);

  add(piece: Uint8Array): void {
    this.size += piece.length;
    const last = piece.subarray(-tailBytes);
    const to = (this.size - last.length) % tailBytes;
    const first = last.subarray(0, tailBytes - to);
    this.ring.set(first, to);
    this.ring.set(last.subarray(first.length), 0);
  }

  bytes(): Buffer {
    const end = this.size % tailBytes;
    if (this.size <= tailBytes) return this.ring.subarray(0, this.size);
    return Buffer.concat([this.ring.subarray(end), this.ring.subarray(0, end)]);
  }
}

/** Reads an archive once from start to end. The directory of the archive is in its tail, which is already in memory. */
class ForwardReader extends RandomAccessReader {
  private buffered: Buffer = Buffer.alloc(0);
  private at = 0;

  constructor(
    private readonly pieces: AsyncIterator<Buffer>,
    private readonly tail: Buffer,
    private readonly size: number,
  ) {
    super();
  }

  override _readStreamForRange(start: number, end: number): Readable {
    const tailAt = this.size - this.tail.length;
    if (start >= tailAt) return Readable.from([this.tail.subarray(start - tailAt, end - tailAt)]);
    return Readable.from(this.forward(start, end), { objectMode: false });
  }

  private async *forward(start: number, end: number): AsyncGenerator<Buffer> {
    if (start < this.at) throw new UnreadableArchive('the files of the archive must be in the order of its directory');
    while (this.at < end) {
      if (this.buffered.length === 0) {
        const next = await this.pieces.next();
        if (next.done) throw new UnreadableArchive('the archive ends too early');
        this.buffered = next.value;
      }
      const skipped = Math.min(this.buffered.length, Math.max(0, start - this.at));
      const part = this.buffered.subarray(skipped, skipped + Math.max(0, end - this.at - skipped));
      this.at += skipped + part.length;
      this.buffered = this.buffered.subarray(skipped + part.length);
      if (part.length > 0) yield part;
    }
  }
}

/**
 * The checksum of the unpacked files of a zip archive, in the form of the tools' lock files: `h1:…`. `tail` must have
 * seen the whole archive. Throws `UnreadableArchive`.
 */
export async function hashOfFiles(pieces: AsyncIterable<Buffer>, tail: Tail): Promise<string> {
  const lines: (readonly [name: Buffer, line: Buffer])[] = [];
  const reading = pieces[Symbol.asyncIterator]();
  let unpacked = 0;
  try {
    const zip = await fromRandomAccessReaderPromise(new ForwardReader(reading, tail.bytes(), tail.size), tail.size, {
      autoClose: false,
      lazyEntries: true,
    });
    for await (const entry of zip.eachEntry()) {
      unpacked += entry.uncompressedSize;
      if (lines.length === mostFiles || unpacked > mostUnpacked) {
        throw new UnreadableArchive(`the archive has more than ${mostFiles} files or ${mostUnpacked} bytes`);
      }
      const digest = createHash('sha256');
      for await (const piece of await zip.openReadStreamPromise(entry)) digest.update(piece);
      const name = entry.fileNameRaw;
      if (name.includes(0x0a)) throw new UnreadableArchive('a name in the archive has a line break');
      lines.push([name, Buffer.concat([Buffer.from(`${digest.digest('hex')}  `), name, Buffer.from('\n')])]);
    }
  } catch (error) {
    if (error instanceof UnreadableArchive) throw error;
    throw new UnreadableArchive(`the archive cannot be read: ${(error as Error).message}`);
  } finally {
    await reading.return?.();
  }
  if (lines.length === 0) throw new UnreadableArchive('the archive has no files');
  const sorted = lines.sort(([one], [other]) => Buffer.compare(one, other)).map(([, line]) => line);
  return `h1:${createHash('sha256').update(Buffer.concat(sorted)).digest('base64')}`;
}
