import { type FileHandle, lchown, lstat, mkdir, open, realpath, symlink, unlink } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';

/** An archive that cannot be unpacked. The message is for the user who uploaded it. */
export class BadArchive extends Error {
  override readonly name = 'BadArchive';
}

/** The limits of an archive. */
export interface ArchiveLimits {
  readonly bytes: number;
  readonly entries: number;
}

/** The owner of unpacked files; absent for the current user. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The options of unpacking. */
export interface UnpackOptions {
  readonly limits: ArchiveLimits;
  readonly owner?: Owner;
  /** The only names allowed at the top level. */
  readonly only?: readonly string[];
  /** Skips entries that cannot be created, instead of refusing the archive. */
  readonly lenient?: boolean;
}

interface Unpacking {
  readonly root: string;
  readonly limits: ArchiveLimits;
  readonly owner?: Owner;
  readonly only?: readonly string[];
  readonly lenient?: boolean;
  readonly folders: Set<string>;
  readonly links: { at: string; to: string }[];
  bytes: number;
  entries: number;
}

const longestPath = 4096;
const gzipMagic = [0x1f, 0x8b];

/**
 * Unpacks a tar, gzipped or not, into an empty folder.
 *
 * Only folders, plain files and symbolic links that stay inside are created. Links are created last, so that nothing is
 * written through them. Everything else (absolute paths, `..`, hard links, devices, exceeded limits) throws BadArchive.
 */
export async function unpack(source: Readable, root: string, options: UnpackOptions): Promise<void> {
  const unpacking: Unpacking = {
    root,
    ...options,
    folders: new Set(['']),
    links: [],
    bytes: 0,
    entries: 0,
  };
  const archive = extract();
  const reading = (async () => {
    for await (const entry of archive) {
      await extractEntry(unpacking, entry.header, entry as unknown as Readable);
    }
    await placeLinks(unpacking);
  })();
  const feeding = feed(source, archive as unknown as NodeJS.WritableStream);
  const [read, fed] = await Promise.allSettled([
    reading.catch((error) => {
      archive.destroy();
      source.destroy();
      throw error;
    }),
    feeding,
  ]);
  if (read.status === 'rejected' && read.reason instanceof BadArchive) throw read.reason;
  const failed = [fed, read].find((part) => part.status === 'rejected');
  if (failed?.status === 'rejected') {
    const { code, message } = failed.reason as NodeJS.ErrnoException;
    if (code?.startsWith('E') && !code.startsWith('ERR_')) throw failed.reason;
    throw new BadArchive(`the archive cannot be read: ${message}`);
  }
  if (unpacking.entries === 0) throw new BadArchive('the archive is empty');
}

/** Passes on the bytes of an archive, decompressed if necessary. Gzip is recognised by its first bytes. */
async function feed(source: Readable, archive: NodeJS.WritableStream): Promise<void> {
  const pieces = source[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (start.length < gzipMagic.length) {
    const { value, done } = await pieces.next();
    if (done) break;
    start = Buffer.concat([start, value as Uint8Array]);
  }
  const whole = Readable.from(
    (async function* () {
      yield start;
      for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
    })(),
    { objectMode: false },
  );
  if (gzipMagic.every((byte, index) => start[index] === byte)) await pipeline(whole, createGunzip(), archive);
  else await pipeline(whole, archive);
}

async function extractEntry(unpacking: Unpacking, header: Header, content: Readable): Promise<void> {
  const { limits } = unpacking;
  unpacking.entries++;
  unpacking.bytes += header.size ?? 0;
  if (unpacking.entries > limits.entries) throw new BadArchive(`the archive has more than ${limits.entries} entries`);
  if (unpacking.bytes > limits.bytes) throw new BadArchive(`the archive contains more than ${limits.bytes} bytes`);
  const name = nameInside(header.name);
  if (unpacking.only && !unpacking.only.includes(name.split('/')[0] ?? '')) {
    throw new BadArchive(`${name} is not allowed in this archive`);
  }
  if (header.type === 'directory') await makeFolders(unpacking, name);
  else if (header.type === 'file' || header.type === 'contiguous-file')
    await makeFile(unpacking, name, header, content);
  else if (header.type === 'symlink') {
    await makeFolders(unpacking, parentOf(name));
    const to = header.linkname ?? '';
    if (staysInside(name, to)) unpacking.links.push({ at: name, to });
    else if (!unpacking.lenient) throw new BadArchive(`the link ${name} leads out of the archive`);
  } else if (!unpacking.lenient) throw new BadArchive(`${header.name} is a ${header.type}, which is not accepted`);
  content.resume();
}

function nameInside(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || name.includes('\0') || name.length > longestPath || parts.includes('..')) {
    throw new BadArchive(`${JSON.stringify(name.slice(0, 200))} is not a path inside the archive`);
  }
  return parts.join('/');
}

const parentOf = (name: string): string => name.split('/').slice(0, -1).join('/');

function staysInside(name: string, target: string): boolean {
  const reached = path.posix.normalize(path.posix.join(parentOf(name), target));
  return target !== '' && !target.includes('\0') && !path.posix.isAbsolute(target) && reached.split('/')[0] !== '..';
}

async function makeFolders(unpacking: Unpacking, name: string): Promise<void> {
  if (unpacking.folders.has(name)) return;
  await makeFolders(unpacking, parentOf(name));
  const at = path.join(unpacking.root, name);
  try {
    await mkdir(at, { mode: 0o755 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (!(await lstat(at)).isDirectory()) throw new BadArchive(`${name} is both a file and a folder`);
  }
  await own(unpacking, at);
  unpacking.folders.add(name);
}

async function makeFile(unpacking: Unpacking, name: string, header: Header, content: Readable): Promise<void> {
  if (name === '') throw new BadArchive('the archive contains a file without a name');
  await makeFolders(unpacking, parentOf(name));
  const at = path.join(unpacking.root, name);
  let file: FileHandle;
  try {
    // A later entry with the same name replaces an earlier one, as in tar.
    file = await open(at, 'w', ((header.mode ?? 0) & 0o111) === 0 ? 0o644 : 0o755);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error;
    throw new BadArchive(`${name} is both a file and a folder`);
  }
  try {
    for await (const piece of content) await file.write(piece as Uint8Array);
    if (unpacking.owner) await file.chown(unpacking.owner.uid, unpacking.owner.gid);
  } finally {
    await file.close();
  }
}

async function placeLinks(unpacking: Unpacking): Promise<void> {
  const { root, links } = unpacking;
  for (const { at, to } of links) {
    try {
      await symlink(to, path.join(root, at));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new BadArchive(`${at} is there twice`);
    }
    await own(unpacking, path.join(root, at));
  }
  // The target of each link is inside, but a chain of links might still lead out.
  const inside = await realpath(root);
  for (const { at } of links) {
    const reached = await realpath(path.join(root, at)).catch(() => undefined);
    if (reached !== undefined && reached !== inside && !reached.startsWith(`${inside}/`)) {
      if (!unpacking.lenient) throw new BadArchive(`the link ${at} leads out of the archive`);
      await unlink(path.join(root, at));
    }
  }
}

async function own({ owner }: Unpacking, at: string): Promise<void> {
  if (owner) await lchown(at, owner.uid, owner.gid);
}

/** All bytes of a stream, or undefined if there are more than `limit`. */
export async function collect(source: AsyncIterable<unknown>, limit: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of source) {
    size += (piece as Buffer).length;
    if (size > limit) return undefined;
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces);
}
