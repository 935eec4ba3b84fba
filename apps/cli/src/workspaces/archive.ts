import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { exitCodes, Problem } from '../problem';

/** A gzip tar: a file, or created from a folder without .git and .terraform. Throws `Problem` for anything else. */
export async function archiveAt(path: string): Promise<Buffer> {
  const bytes = statSync(path).isDirectory() ? await packed(path) : readFileSync(path);
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b)
    throw new Problem(`${path} is neither a folder nor a gzip tar: tar --create --gzip`, exitCodes.file);
  return bytes;
}

/** Packs a folder with this system's `tar`. */
async function packed(folder: string): Promise<Buffer> {
  const leftOut = ['.git', '.terraform'].map((name) => `--exclude=./${name}`);
  const tar = spawn('tar', ['-czf', '-', '-C', folder, ...leftOut, '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [bytes, [code]] = await Promise.all([buffer(tar.stdout), once(tar, 'close')]);
  if (code !== 0) throw new Problem(`${folder} could not be packed by tar`, exitCodes.file);
  return bytes;
}
