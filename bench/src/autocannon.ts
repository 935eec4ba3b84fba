import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Figures } from './figures';
import type { Load } from './load';
import { pinned } from './machine';

const program = path.resolve(__dirname, '..', 'servers', 'autocannon-load.ts');

/** Runs autocannon in a separate process, so that it can be pinned like wrk. */
export async function runAutocannon(
  cores: string | undefined,
  url: string,
  load: Load,
  connections: number,
  seconds: number,
  start: number,
): Promise<Figures> {
  const settings = JSON.stringify({ url, load, connections, seconds, start });
  const [command, args] = pinned(cores, process.execPath, ['--import', 'tsx', program]);
  const running = promisify(execFile)(command, args, { cwd: path.dirname(program) });
  // Ten thousand paths are more than an argument may hold.
  running.child.stdin!.end(settings);
  const { stdout } = await running;
  const figures = JSON.parse(stdout) as Figures & { errors: number };
  if (figures.errors > 0) throw new Error(`${figures.errors} requests failed: ${load.method} ${load.paths[0]}`);
  return figures;
}
