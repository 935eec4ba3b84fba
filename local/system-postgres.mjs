import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';

const OLDEST = 15;

/** The folder with the newest PostgreSQL programs installed on this machine, version 15 or later; or undefined. */
export function findSystemPostgres() {
  const onPath = (process.env.PATH ?? '').split(path.delimiter);
  const candidates = [
    ...onPath,
    ...versionsBelow('/usr/lib/postgresql', 'bin'),
    ...versionsBelow('/usr', 'bin'),
    '/opt/homebrew/bin',
  ];
  const found = new Map();
  for (const folder of candidates) {
    const program = path.join(folder, 'postgres');
    if (!existsSync(program)) continue;
    // The program on PATH may be a link. The other programs, such as initdb, are next to the real file.
    const bin = path.dirname(realpathSync(program));
    const version = versionOf(path.join(bin, 'postgres'));
    if (version >= OLDEST && existsSync(path.join(bin, 'initdb'))) found.set(bin, version);
  }
  return [...found].sort(([, a], [, b]) => b - a)[0]?.[0];
}

function versionsBelow(folder, inside) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^(pgsql-)?\d+$/.test(name))
    .map((name) => path.join(folder, name, inside));
}

function versionOf(program) {
  try {
    return Number(/\s(\d+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[1]);
  } catch {
    return 0;
  }
}
