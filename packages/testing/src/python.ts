import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A Python of its own, with packages from their registry. */
export interface Python {
  readonly folder: string;
  /** Runs a program of this Python: `python` itself, or one that a package brought. */
  run(
    program: string,
    args: readonly string[],
    options?: { cwd?: string },
  ): Promise<{ stdout: string; stderr: string }>;
  remove(): void;
}

/** Why no such Python can be set up here; undefined where it can. Known before the first test is. */
export function noPython(): string | undefined {
  const works = spawnSync('python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' });
  if (works.status !== 0) return 'no Python 3 with venv here';
  const folder = mkdtempSync(path.join(tmpdir(), 'python-'));
  try {
    const download = [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--no-input',
      '--no-deps',
      '--retries',
      '1',
      '--dest',
      folder,
    ];
    const { stderr } = spawnSync('python3', [...download, 'pyotp==2.9.0'], { encoding: 'utf8' });
    const away = /connection|timed out|name resolution|no matching distribution/i.test(stderr);
    return away ? 'the package registry cannot be reached' : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Sets up a Python with exact versions of packages. */
export async function pythonWith(packages: readonly string[]): Promise<Python> {
  const folder = mkdtempSync(path.join(tmpdir(), 'python-'));
  const bin = (program: string) => path.join(folder, 'venv', 'bin', program);
  await run('python3', ['-m', 'venv', path.join(folder, 'venv')]);
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', ...packages];
  await run(bin('python'), install);
  return {
    folder,
    run: (program, args, options) => run(bin(program), [...args], { maxBuffer: 64 * 1024 * 1024, ...options }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
