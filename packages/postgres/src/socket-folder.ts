import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { giveTo, type Privileges } from './privileges';

/** Part of the socket's name. The folder has no other sockets. */
export const SOCKET_PORT = 5432;

// The longest socket name that works on every system, in bytes.
const LONGEST = 103;

/** Where a server may have its socket, in order of preference: with the server's files, or in a separate folder. */
export function socketFolders(dataDir: string): string[] {
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  return [dataDir, path.join(tmpdir(), `keystead-${name}`)].filter(
    (folder) => Buffer.byteLength(path.join(folder, `.s.PGSQL.${SOCKET_PORT}`)) <= LONGEST,
  );
}

/**
 * Creates a folder for a socket that only PostgreSQL's user and root can enter. Throws if it belongs to another user.
 */
export function makeSocketFolder(folder: string, { owner }: Privileges): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const found = lstatSync(folder);
  if (!found.isDirectory() || ![owner.uid, process.getuid?.()].includes(found.uid)) {
    throw new Error(`${folder} belongs to another user`);
  }
  chmodSync(folder, 0o700);
  giveTo(owner, folder);
}
