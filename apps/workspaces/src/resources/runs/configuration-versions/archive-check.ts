import { once } from 'node:events';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';

/** An upload that cannot be a configuration; the message is shown to the uploader. */
export class BadArchive extends Error {
  override readonly name = 'BadArchive';
}

/** The limits of an archive. */
export interface ArchiveLimits {
  /** The size after unpacking. */
  readonly bytes: number;
  readonly entries: number;
}

const longestPath = 4096;
/** A longer README.md is kept only in the archive. */
const longestReadme = 256 * 1024;
const kinds = ['file', 'contiguous-file', 'directory', 'symlink'];

const leavesRoot = (name: string): boolean =>
  path.posix.isAbsolute(name) || path.posix.normalize(name).split('/')[0] === '..';

function requireHarmless({ name, type, linkname }: Header): void {
  if (!kinds.includes(type ?? 'file')) throw new BadArchive(`the archive contains a ${type}: ${name}`);
  if (name.length > longestPath || name.includes('\0'))
    throw new BadArchive('the archive contains a path that is too long');
  if (name.split('/').includes('..') || leavesRoot(name)) {
    throw new BadArchive(`the archive contains a path outside its folder: ${name}`);
  }
  if (type !== 'symlink') return;
  const target = linkname ?? '';
  if (path.posix.isAbsolute(target) || leavesRoot(path.posix.join(path.posix.dirname(name), target))) {
    throw new BadArchive(`the archive contains a link to a path outside it: ${name}`);
  }
}

const isReadme = (name: string, bytes: number): boolean => name === 'README.md' && bytes <= longestReadme;

async function contentOf(entry: AsyncIterable<unknown>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of entry) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/**
 * Checks an archive as it streams, without storing it. It must be a gzip tar within the limits, and contain only
 * folders, files, and links that stay inside. Write every piece, then call end; both throw BadArchive. Only the files
 * that `keeps` selects are stored: README.md by default.
 */
export class ArchiveCheck {
  private readonly gunzip = createGunzip();
  private readonly reading: Promise<void>;
  private isOver = false;
  /** Files to keep, by path, once they are read completely. */
  readonly files = new Map<string, Buffer>();

  constructor(
    private readonly limits: ArchiveLimits,
    private readonly keeps: (name: string, bytes: number) => boolean = isReadme,
  ) {
    this.reading = this.read().catch((error: Error) => {
      throw error instanceof BadArchive ? error : new BadArchive('the upload is not a gzip archive of files');
    });
    this.reading.catch(() => undefined).finally(() => (this.isOver = true));
  }

  async write(piece: Uint8Array): Promise<void> {
    if (this.isOver) return this.reading;
    if (this.gunzip.write(piece)) return;
    // If the stream is not gzip, the wait ends with zlib's error, which the reader turns into a message.
    await Promise.race([once(this.gunzip, 'drain').catch(() => this.reading), this.reading]);
  }

  async end(): Promise<void> {
    this.gunzip.end();
    await this.reading;
  }

  /** The content of README.md at the root of the archive. */
  get readme(): Buffer | undefined {
    return this.files.get('README.md');
  }

  /** Closes an archive that was not read to its end. */
  close(): void {
    this.gunzip.destroy();
  }

  private async read(): Promise<void> {
    const { limits, gunzip } = this;
    const archive = extract();
    let bytes = 0;
    const unpacking = pipeline(
      gunzip,
      async function* (source: AsyncIterable<Buffer>) {
        for await (const piece of source) {
          bytes += piece.length;
          if (bytes > limits.bytes) throw new BadArchive(`the archive unpacks to more than ${limits.bytes} bytes`);
          yield piece;
        }
      },
      archive,
    );
    unpacking.catch(() => undefined);
    let entries = 0;
    for await (const entry of archive) {
      entries++;
      if (entries > limits.entries) throw new BadArchive(`the archive contains more than ${limits.entries} files`);
      requireHarmless(entry.header);
      const { name, type, size = 0 } = entry.header;
      const at = path.posix.normalize(name);
      if ((type ?? 'file') === 'file' && this.keeps(at, size)) this.files.set(at, await contentOf(entry));
      else entry.resume();
    }
    await unpacking;
  }
}
