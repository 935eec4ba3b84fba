import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './bundle';

/** The version of this program. */
export function version(): string {
  if (bundle) return bundle.version;
  const { version } = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as { version: string };
  return version;
}
