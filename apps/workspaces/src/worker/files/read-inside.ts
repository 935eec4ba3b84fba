import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { collect } from './archive';

/** A file that may not be read: it is not a plain file of the job's owner, or too large. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads a file from a job's folder; undefined if the file does not exist.
 *
 * The job may have put any file there, such as a link to a key that the worker can read. So every folder in the path is
 * opened separately, no link is followed, and only a plain file of the expected owner is read.
 */
export async function readInside(
  folder: string,
  name: string,
  options: { limit: number; uid: number | undefined },
): Promise<Buffer | undefined> {
  const parts = path.normalize(name).split('/').filter(Boolean);
  const file = parts.pop() ?? '';
  const open: FileHandle[] = [];
  try {
    open.push(await step(undefined, folder, folderFlags));
    for (const part of parts) open.push(await step(open.at(-1), part, folderFlags));
    const found = await step(open.at(-1), file, fileFlags, folder);
    open.push(found);
    const about = await found.stat();
    const expected = options.uid ?? process.getuid?.() ?? about.uid;
    if (!about.isFile() || about.uid !== expected) throw new UnreadableFile(`${name} is not a plain file of the run`);
    const bytes = await collect(found.createReadStream({ autoClose: false, start: 0 }), options.limit);
    if (!bytes) throw new UnreadableFile(`${name} is larger than ${options.limit} bytes`);
    return bytes;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP' || code === 'ENOTDIR') throw new UnreadableFile(`${name} is a link`);
    throw error;
  } finally {
    for (const handle of open.reverse()) await handle.close();
  }
}

/** Opens a name below an open folder. Without `/proc` that is not possible, and the path is used. */
async function step(below: FileHandle | undefined, name: string, flags: number, folder = ''): Promise<FileHandle> {
  if (!below) return open(name, flags);
  if (process.platform === 'linux') return open(`/proc/self/fd/${below.fd}/${name}`, flags);
  return open(path.join(folder, name), flags);
}
