import { execFile } from 'node:child_process';
import { access, constants, realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { coerce, gte } from 'semver';
import { cleanPath } from '../isolation/command';

/** A binary of the tool on this machine. */
export interface Binary {
  readonly file: string;
  readonly version: string;
  /** The tool's own name. */
  readonly product: 'Terraform' | 'OpenTofu';
}

const execute = promisify(execFile);

/** The given binaries, or the first of the known names on the search path. Throws if a given binary does not run. */
export async function findBinaries(paths: readonly string[], searchPath: string): Promise<Binary[]> {
  if (paths.length > 0) return Promise.all(paths.map(askVersion));
  for (const name of ['terraform', 'tofu']) {
    for (const folder of searchPath.split(path.delimiter)) {
      const file = path.join(folder, name);
      const found =
        folder !== '' && (await executable(file)) ? await askVersion(file).catch(() => undefined) : undefined;
      if (found) return [found];
    }
  }
  return [];
}

async function executable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Runs a binary for data that does not depend on the configuration of users. Throws if it does not run. */
export function askTool(file: string, args: readonly string[], options: { cwd?: string; maxBuffer?: number } = {}) {
  const env = { PATH: cleanPath, CHECKPOINT_DISABLE: '1', HOME: '/nonexistent' };
  return execute(file, args, { ...options, env, timeout: 30_000 });
}

/** The product and version that a binary reports. Throws if it does not run. */
export async function askVersion(file: string): Promise<Binary> {
  const { stdout } = await askTool(file, ['version']);
  const [, product, version] = /^(Terraform|OpenTofu) v(\S+)/m.exec(stdout) ?? [];
  if (!product || !version) throw new Error(`${file} does not print its version`);
  return { file: await realpath(file), version, product: product as Binary['product'] };
}

/**
 * The binary of exactly the requested version, because a newer binary would write a state that the requested version
 * cannot read. If no version is requested, any binary is used. Throws if there is no such binary, because workers claim
 * only jobs of their versions.
 */
export function chooseBinary(binaries: readonly Binary[], requestedVersion: string): Binary {
  const found = binaries.find(({ version }) => version === requestedVersion || requestedVersion === '');
  if (!found) throw new Error(`a worker without version ${requestedVersion} took the job`);
  return found;
}

/**
 * The first versions that accept variables with a saved plan. They require ephemeral variables; older versions refuse
 * all variables.
 */
const variablesWithPlan = { Terraform: '1.10.0', OpenTofu: '1.11.0' } as const;

/** Whether this binary accepts variables when it applies a saved plan. */
export function takesVariablesWithPlan({ product, version }: Binary): boolean {
  const release = coerce(version);
  return release !== null && gte(release, variablesWithPlan[product]);
}
