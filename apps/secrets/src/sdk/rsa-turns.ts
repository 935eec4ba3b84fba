import { sign } from 'node:crypto';
import os from 'node:os';
import { promisify } from 'node:util';
import { WorkTurns } from '@keystead/auth';

/**
 * RSA private-key operations take milliseconds in the thread pool that also writes files and logs in to the database.
 * One of the four threads stays free, and there are never more operations than processors.
 */
export const rsaTurns = new WorkTurns(
  { atOnce: Math.min(3, os.availableParallelism()), waiting: 1024, waitMs: 30_000 },
  'RSA operations',
);

const signLater = promisify<string | null, Buffer, Parameters<typeof sign>[2], Buffer>(sign);

/** Signs with an RSA key, off the main thread. Throws `limited` if too many wait, or for too long. */
export const signWithRsa = (hash: string, content: Buffer, key: Parameters<typeof sign>[2]): Promise<Buffer> =>
  rsaTurns.run(() => signLater(hash, content, key));
