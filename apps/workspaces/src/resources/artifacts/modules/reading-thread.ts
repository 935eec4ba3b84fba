import { startThread } from '@keystead/auth';

const readMs = 20_000;

/**
 * Parses a string in a separate thread, because a third-party parser cannot be interrupted. `file` is the file of the
 * thread without its extension. If parsing takes too long or too much memory, the error names `what`. A thread returns
 * an object, or an error message.
 */
export async function readInThread<T extends object>(
  file: string,
  texts: ReadonlyMap<string, Uint8Array>,
  what: string,
): Promise<T | string> {
  const worker = startThread(file, {
    workerData: texts,
    resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
  });
  const late = setTimeout(() => void worker.terminate(), readMs);
  try {
    return await new Promise<T | string>((resolve) => {
      worker.once('message', resolve);
      worker.once('error', () => resolve(`${what} cannot be read: it is too deeply nested, or too large`));
      worker.once('exit', () => resolve(`${what} cannot be read: it takes too long`));
    });
  } finally {
    clearTimeout(late);
    await worker.terminate();
  }
}
