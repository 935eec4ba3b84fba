import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of this program. */
export function version(): string {
  const { version } = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as { version: string };
  return version;
}
