import { accessSync, constants, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

/** What the databases of one test run take at most, with room for the tests themselves. */
const enough = 8 * 2 ** 30;

/**
 * Where short-lived files are made quickest: in memory, where a machine has enough of it, else in its folder for
 * temporary files. A database is a thousand files; on a disk making them takes ten times as long.
 */
export function quickFolder(memory = '/dev/shm', free = freemem()): string {
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    if (bavail * bsize >= enough && free >= enough) return memory;
  } catch {
    // There is no such folder, or it is not ours.
  }
  return tmpdir();
}
