import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fromSource } from '../from-source';

/** The main program of a service in a separate process, without access to other machines. */
export interface ServiceProgram {
  readonly url: string;
  readonly pid: number;
  /** An empty folder, its working directory. */
  readonly folder: string;
  /** Log lines at `error` or above, and everything on the error stream. */
  readonly complaints: readonly string[];
  /** Its warnings, with how often each occurred. */
  readonly warnings: ReadonlyMap<string, number>;
  readonly running: boolean;
  stop(): Promise<void>;
}

/** Whether all lines of the log are at `info` or below. */
const isOrdinary = (lines: string): boolean => !/"level":"(?:warn|error|fatal)"|(?:^|\n)(?!\{|$)/.test(lines);

/** The warning in a line, without the parts that vary. */
const warningIn = (line: string): string =>
  `${/"msg":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1]} ${/"message":"([^"\\]{0,80})/.exec(line)?.[1] ?? ''}`
    .replace(/[0-9a-f]{8,}|\d+/g, '#')
    .trim();

function count(counts: Map<string, number>, what: string): void {
  if (counts.size < 40 || counts.has(what)) counts.set(what, (counts.get(what) ?? 0) + 1);
}

/** Starts a main program from its source; resolves once it listens. */
export async function startServiceProgram(main: string, env: Record<string, string>): Promise<ServiceProgram> {
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-fuzz-'));
  const hook = path.join(__dirname, 'loopback-only.ts');
  const args = [...fromSource, '--require', hook, main];
  const environment = Object.entries(process.env).filter(([name]) => !/^(NODE_|JEST_|SECRETS_|WORKSPACES_)/.test(name));
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...Object.fromEntries(environment), AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const complaints: string[] = [];
  const warnings = new Map<string, number>();
  let url: string | undefined;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const complain = (line: string) => {
    if (complaints.length < 200) complaints.push(line);
  };
  const listening = new Promise<void>((resolve) => {
    const lookAt = (line: string) => {
      if (line.includes('"level":"warn"')) count(warnings, warningIn(line));
      else if (/"level":"(error|fatal)"/.test(line) || !line.startsWith('{')) complain(line);
      else if (url === undefined && line.includes('"msg":"listening"')) {
        url = (JSON.parse(line) as { url: string }).url;
        resolve();
      }
    };
    let partial = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      const text = partial + piece;
      const end = text.lastIndexOf('\n') + 1;
      partial = text.slice(end);
      // Request lines are not interesting: pieces that consist of them are not parsed.
      const complete = text.slice(0, end);
      if (url === undefined || !isOrdinary(complete))
        for (const line of complete.split('\n').slice(0, -1)) lookAt(line);
    });
  });
  createInterface(child.stderr).on('line', complain);
  await Promise.race([listening, ended]);
  if (url === undefined) throw new Error(`it did not start: ${complaints.join('\n')}`);
  return {
    url,
    pid: child.pid!,
    folder,
    complaints,
    warnings,
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
