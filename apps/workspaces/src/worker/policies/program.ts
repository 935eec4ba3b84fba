import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { rcompare, valid } from 'semver';
import { cleanPath } from '../isolation/command';

/** An OPA binary on this machine, and the functions that policies may call in it. */
export interface OpaProgram {
  readonly file: string;
  readonly version: string;
  /** JSON: the functions of OPA without those that access files, the network or the machine. */
  readonly capabilities: string;
}

const execute = promisify(execFile);
const run = (file: string, ...args: string[]) =>
  execute(file, args, { env: { PATH: cleanPath }, timeout: 30_000, maxBuffer: 16 * 1024 * 1024 });

/** Functions that use more than the plan: addresses, the environment, and other files. */
const closed = new Set(['http.send', 'net.lookup_ip_addr', 'opa.runtime', 'rego.parse_module']);

/** The given binaries, or `opa` from the search path, newest first. Throws if a given binary does not run. */
export async function findOpa(paths: readonly string[], searchPath: string): Promise<OpaProgram[]> {
  const found =
    paths.length > 0
      ? await Promise.all(paths.map(askProgram))
      : await Promise.all(
          searchPath
            .split(path.delimiter)
            .filter((folder) => path.isAbsolute(folder))
            .map((folder) => askProgram(path.join(folder, 'opa')).catch(() => undefined)),
        );
  return found.filter((one) => one !== undefined).sort((one, other) => rcompare(one.version, other.version));
}

async function askProgram(file: string): Promise<OpaProgram> {
  const { stdout } = await run(file, 'version');
  const version = valid(/^Version: (\S+)$/m.exec(stdout)?.[1]);
  if (!version) throw new Error(`${file} does not print its version`);
  const all = JSON.parse((await run(file, 'capabilities', '--current')).stdout) as { builtins: { name: string }[] };
  const builtins = all.builtins.filter(({ name }) => !closed.has(name));
  return { file: await realpath(file), version, capabilities: JSON.stringify({ ...all, builtins, allow_net: [] }) };
}
