import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** The file of the first of these programs that is installed: the PATH decides, after the folders of `before`. */
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
