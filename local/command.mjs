// The command line as `./keystead` in the project's folder.
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Writes `keystead` into a project's folder. It can be linked into a folder of PATH, and must be written again if the
 * folder moves.
 */
export function writeCommand(root) {
  const program = path.join(root, 'apps', 'cli', 'dist', 'main.js');
  const text = `#!/bin/sh\n# Made by npm start.\nexec node '${program.replaceAll("'", "'\\''")}' "$@"\n`;
  const file = path.join(root, 'keystead');
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  writeFileSync(file, text);
  chmodSync(file, 0o755);
}
