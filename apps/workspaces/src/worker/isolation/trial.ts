import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Owner } from '../files/archive';
import { cleanPath } from './command';
import {
  type Isolation,
  type IsolationKind,
  type IsolationOptions,
  isolationKinds,
  isolationOf,
  type JobFolder,
  makeFolder,
} from './isolation';

/** The results of testing this machine. */
export interface IsolationFindings {
  readonly isolation: Isolation | undefined;
  /** The reason why each stronger kind of isolation does not work on this machine, one sentence each. */
  readonly missing: readonly string[];
}

/** The inputs of a test of isolation. */
export interface Trial {
  readonly options: IsolationOptions;
  /** The folder that will contain the jobs' folders. */
  readonly scratch: string;
  /** The uid of the first job. */
  readonly owner: Owner;
  /** Files that no job may read: keys, the address of the database. */
  readonly secrets: readonly string[];
  readonly trustSameUser: boolean;
}

/** Tests the ways of isolation, strongest first, with a command that looks for files that it must not find. */
export async function findIsolation(trial: Trial): Promise<IsolationFindings> {
  const root = process.getuid?.() === 0;
  const missing: string[] = [];
  for (const kind of isolationKinds) {
    if (kind === 'same-user') break;
    if ((kind === 'user-namespace') === root) continue;
    const isolation = isolationOf(kind, trial.options);
    if (!rooted(kind) && trial.options.network === 'none') {
      missing.push(`${kind}: no network can be withheld without namespaces`);
      continue;
    }
    const problem = await tryIsolation(isolation, trial);
    if (problem === undefined) return { isolation, missing };
    missing.push(`${kind}: ${problem}`);
  }
  if (!root) missing.push('own-user: only root can run the tool as another user');
  // Configured restrictions are never silently dropped, even if the operator trusts the people who start runs.
  const trusted = trial.trustSameUser && trial.options.network === 'host';
  return { isolation: trusted ? isolationOf('same-user', trial.options) : undefined, missing };
}

const rooted = (kind: IsolationKind): boolean => kind === 'private-root' || kind === 'user-namespace';

// Prints the files that a job can read but must not. The worker's own environment contains the keys.
const look = `
for secret in "$@"; do
  if [ -r "$secret" ] && cat "$secret" > /dev/null 2>&1; then echo "can read $secret"; fi
done
echo tried > tmp/tried && echo done
`;

async function tryIsolation(isolation: Isolation, trial: Trial): Promise<string | undefined> {
  const secrets = [...trial.secrets, `/proc/${process.pid}/environ`, `/proc/${process.pid}/mem`];
  const { error, stdout, stderr } = await inTrial(isolation, trial, {
    argv: ['/bin/sh', '-c', look, 'sh', ...secrets],
  });
  const found = stdout
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('can read'));
  if (found.length > 0) return `a job ${found.join(' and ')}`;
  if (error || !stdout.includes('done')) return firstLine(stderr) ?? error?.message ?? 'nothing happened';
  return undefined;
}

/** Whether a job can create a user namespace and thereby regain the capabilities that it gave up. */
export async function tryUserNamespace(isolation: Isolation, trial: Trial): Promise<boolean> {
  const argv = ['unshare', '--user', '--map-root-user', '/bin/sh', '-c', 'echo made'];
  return (await inTrial(isolation, trial, { argv })).stdout.includes('made');
}

/** The paths that a job should be able to read but cannot. */
export async function tryReading(
  isolation: Isolation,
  trial: Trial,
  paths: readonly string[],
): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const script = 'for path in "$@"; do [ -r "$path" ] || echo "$path"; done; echo looked';
  const { stdout } = await inTrial(isolation, trial, { argv: ['/bin/sh', '-c', script, 'sh', ...paths] });
  const [last, ...unread] = stdout.trim().split('\n').reverse();
  return last === 'looked' ? unread.reverse() : paths;
}

const firstLine = (text: string): string | undefined => text.split('\n').find((line) => line.trim() !== '');

/** The result of a trial's command. */
interface Tried {
  readonly error: Error | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a short command like a run, in a folder created for it. */
export async function inTrial(
  isolation: Isolation,
  trial: Trial,
  command: { tool?: string; argv: readonly string[] },
): Promise<Tried> {
  const at = await mkdtemp(path.join(trial.scratch, 'trial-'));
  const owner = isolation.ownUid ? trial.owner : undefined;
  const jobFolder: JobFolder = { folder: path.join(at, 'box'), mountPoint: path.join(at, 'root'), owner };
  try {
    await chmod(at, 0o711);
    await mkdir(jobFolder.mountPoint);
    await makeFolder(jobFolder.folder, owner, 0o700);
    for (const name of ['tmp', 'home']) await makeFolder(path.join(jobFolder.folder, name), owner, 0o700);
    const { file, args } = isolation.launch(jobFolder, command.tool ?? '', { argv: command.argv, cwd: '.' });
    return await new Promise((resolve) => {
      execFile(file, args, { env: { PATH: cleanPath }, timeout: 20_000 }, (error, stdout, stderr) =>
        resolve({ error, stdout, stderr }),
      );
    });
  } finally {
    await rm(at, { recursive: true, force: true });
  }
}
