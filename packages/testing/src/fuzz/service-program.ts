import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** The main program of a service in a process of its own, which reaches this machine only. */
export interface ServiceProgram {
  readonly url: string;
  readonly pid: number;
  /** An empty folder, the one that it stands in. */
  readonly folder: string;
  /** Log lines at `error` or above, and whatever came on the error stream. */
  readonly complaints: readonly string[];
  readonly warnings: number;
  readonly running: boolean;
  stop(): Promise<void>;
}

/** Starts a main program from its source; resolves once it listens. */
export async function startServiceProgram(main: string, env: Record<string, string>): Promise<ServiceProgram> {
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-fuzz-'));
  const hook = path.join(__dirname, 'loopback-only.ts');
  const loader = require.resolve('tsx');
  const args = ['--conditions=source', '--import', loader, '--import', hook, main];
  const kept = Object.entries(process.env).filter(([name]) => !/^(NODE_|JEST_|SECRETS_|WORKSPACES_)/.test(name));
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...Object.fromEntries(kept), AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const complaints: string[] = [];
  let warnings = 0;
  let url: string | undefined;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const complain = (line: string) => {
    if (complaints.length < 200) complaints.push(line);
  };
  const listening = new Promise<void>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      if (line.includes('"level":"warn"')) warnings++;
      else if (/"level":"(error|fatal)"/.test(line) || !line.startsWith('{')) complain(line);
      else if (url === undefined && line.includes('"msg":"listening"')) {
        url = (JSON.parse(line) as { url: string }).url;
        resolve();
      }
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
    get warnings() {
      return warnings;
    },
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
