import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { asBytes } from './generated-names';

const run = promisify(execFile);

/** A separate Python environment with packages from the registry. */
export interface Python {
  readonly folder: string;
  /** Runs a program of this Python: `python` itself, or one from a package. */
  run(
    program: string,
    args: readonly string[],
    options?: { cwd?: string },
  ): Promise<{ stdout: string; stderr: string }>;
  remove(): void;
}

/** The reason why Python cannot be set up here; undefined if it can. Known before the tests are declared. */
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

/** Sets up a Python with exact package versions. */
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

/** The Python package that `generatedPythonSession` requires. */
export const pythonGenerator = 'openapi-python-client==0.29.1';

/**
 * Generates a client from an OpenAPI document and runs a program with it: the program gets the folder of the client,
 * `service_client`, and then the arguments. Returns its output. Fails on any warning of the generator.
 */
export async function generatedPythonSession(
  python: Python,
  document: object,
  program: string,
  args: readonly string[],
): Promise<string> {
  const described = path.join(python.folder, 'openapi.json');
  writeFileSync(described, JSON.stringify(document));
  const config = path.join(python.folder, 'config.json');
  const content_type_overrides = Object.fromEntries(asBytes.map((type) => [type, 'application/octet-stream']));
  writeFileSync(config, JSON.stringify({ post_hooks: [], content_type_overrides }));
  const into = path.join(python.folder, 'made');
  const client = path.join(into, 'service_client');
  const generate = ['generate', '--path', described, '--output-path', client, '--meta', 'none', '--config', config];
  const { stdout, stderr } = await python.run('openapi-python-client', [...generate, '--fail-on-warning']);
  const complaint = /unable|warning|error/i.exec(`${stdout}${stderr}`);
  if (complaint) throw new Error(`the generator complains: ${stdout}${stderr}`);
  return (await python.run('python', [program, into, ...args])).stdout;
}

/** How many operations a document has. */
export function operationsIn({ paths }: { readonly paths: Readonly<Record<string, object>> }): number {
  const methods = ['get', 'post', 'put', 'patch', 'delete'];
  return Object.values(paths).flatMap((item) => methods.filter((method) => method in item)).length;
}
