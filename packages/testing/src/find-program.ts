import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/**
 * The path of the first of these programs that is installed, searched in the folders of `before` and then on the PATH.
 */
export function findProgram(names: string | readonly string[], before: readonly string[] = []): string | undefined {
  const folders = [...before, ...(process.env.PATH ?? '').split(path.delimiter)].filter(Boolean);
  return [names]
    .flat()
    .flatMap((name) => folders.map((folder) => path.join(folder, name)))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
