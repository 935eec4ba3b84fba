import { spawn } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stepsOf } from './document';

/** A request that a guide made, from the arguments of `curl`. */
export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly string[];
  readonly data: string;
}

/** Wrappers of the real commands that fail once on demand, and record their calls. */
export interface Watched {
  /** The folder to put in front of `PATH`. */
  readonly folder: string;
  /** Makes the next wrapped command fail, as if the service had refused. */
  failNext(): void;
  /** Whether a command has failed on demand. */
  hasFailed(): boolean;
  /** The requests since the last call. */
  requests(): Request[];
}

const [field, record] = ['\x1f', '\x1e'];

/** Installs wrappers for commands; `commands` names the real program of each. */
export function watch(folder: string, commands: Readonly<Record<string, string>>): Watched {
  const fail = join(folder, '.fail-next');
  const log = join(folder, '.requests');
  for (const [name, program] of Object.entries(commands)) {
    const script = `#!/bin/sh
if rm '${fail}' 2>/dev/null; then echo '${name}: failed, as told' >&2; exit 22; fi
${name === 'curl' ? `{ printf '%s\\037' "$@"; printf '\\036'; } >> '${log}'` : ''}
exec ${program} "$@"
`;
    writeFileSync(join(folder, name), script);
    chmodSync(join(folder, name), 0o755);
  }
  return {
    folder,
    failNext: () => writeFileSync(fail, ''),
    hasFailed: () => !existsSync(fail),
    requests() {
      const text = existsSync(log) ? readFileSync(log, 'utf8') : '';
      rmSync(log, { force: true });
      return text
        .split(record)
        .filter((line) => line !== '')
        .map((line) => requestOf(line.split(field).slice(0, -1)));
    },
  };
}

function requestOf(args: readonly string[]): Request {
  const valuesOf = (option: string) => args.flatMap((arg, index) => (args[index - 1] === option ? [arg] : []));
  const data = [...valuesOf('--data'), ...valuesOf('--upload-file')].join('\n');
  return {
    method: valuesOf('--request')[0] ?? (data === '' ? 'GET' : 'POST'),
    url: args.find((arg) => /^https?:/.test(arg)) ?? '',
    headers: valuesOf('--header'),
    data,
  };
}

/**
 * Pastes the commands of a page into an interactive shell, as a reader does: after a failed command the rest still
 * runs. Resolves when the shell has ended for any reason.
 */
export function pasteDocument(path: string, options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<string> {
  const text = stepsOf(path)
    .map(({ command }) => command)
    .join('\n');
  const child = spawn('bash', ['--noprofile', '--norc', '-i'], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env, HISTFILE: '', PS1: '', PS2: '' },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => {
      printed += piece;
    });
  }
  child.stdin.on('error', () => {});
  child.stdin.end(`${text}\nexit\n`);
  return new Promise((resolve) => child.once('close', () => resolve(printed)));
}
