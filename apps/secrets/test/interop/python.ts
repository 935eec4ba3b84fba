import { execFile, execFileSync } from 'node:child_process';
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

/** Sets up a Python with exact versions of packages. Undefined, after saying why, where that cannot be done here. */
export async function pythonWith(packages: readonly string[], what: string): Promise<Python | undefined> {
  const skip = (reason: string): undefined => {
    process.stderr.write(`skipped: ${reason}, so no ${what}\n`);
  };
  if (!hasPython()) return skip('no Python 3 with venv here');
  const folder = mkdtempSync(path.join(tmpdir(), 'python-'));
  const bin = (program: string) => path.join(folder, 'venv', 'bin', program);
  await run('python3', ['-m', 'venv', path.join(folder, 'venv')]);
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', ...packages];
  try {
    await run(bin('python'), install);
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr);
    if (!/connection|timed out|name resolution|no matching distribution/i.test(said)) throw error;
    rmSync(folder, { recursive: true, force: true });
    return skip('the package registry cannot be reached');
  }
  return {
    folder,
    run: (program, args, options) => run(bin(program), [...args], { maxBuffer: 64 * 1024 * 1024, ...options }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
