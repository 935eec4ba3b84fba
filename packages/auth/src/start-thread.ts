import path from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * Starts a thread. `file` is its program without the extension, which is the same as the extension of this file. When
 * running from source, the thread needs the loader, which must be found from any folder.
 */
export function startThread(file: string, options: Omit<WorkerOptions, 'execArgv'> = {}): Worker {
  const extension = path.extname(__filename);
  const execArgv = extension === '.ts' ? ['--conditions=source', '--require', require.resolve('tsx/cjs')] : [];
  return new Worker(`${file}${extension}`, { ...options, execArgv });
}
