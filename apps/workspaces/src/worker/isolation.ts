import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Owner } from './archive';
import { folderInside, pathsShown, privateRootScript, toolInside } from './private-root';

/**
 * How the tool is kept apart, strongest first. `private-root`: own uid, own mount and process namespaces.
 * `user-namespace`: the same namespaces made without being root. `own-user`: another uid alone. `same-user`: not at all.
 */
export const isolationKinds = ['private-root', 'user-namespace', 'own-user', 'same-user'] as const;
/** One of them. */
export type IsolationKind = (typeof isolationKinds)[number];

/** A command of a job, to be run in the job's folder. */
export interface Command {
  /** Program and arguments, as seen from inside. */
  readonly argv: readonly string[];
  /** Folder to start in, relative to the job's folder. */
  readonly cwd: string;
}

/** Where one job runs: a folder of its own and, where uids are, a uid of its own. */
export interface Place {
  /** The job's folder on the machine; `home`, `tmp` and the rest lie in it. */
  readonly folder: string;
  /** An empty folder to mount a root on. */
  readonly mountPoint: string;
  /** Who the tool runs as; undefined for the worker's own user. */
  readonly owner: Owner | undefined;
}

/** What to spawn, with a clean environment, for a command to run confined. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
}

/** What is fixed for all jobs of a worker. */
export interface IsolationOptions {
  readonly network: 'host' | 'none';
  /** Further paths that jobs may read. */
  readonly show: readonly string[];
  readonly fileBytes: number;
  readonly processes: number;
}

/** The chosen way to keep jobs apart. */
export interface Isolation {
  readonly kind: IsolationKind;
  /** A uid for each job. */
  readonly ownUid: boolean;
  /** Where the job's folder is, seen by the tool. */
  inside(place: Place): string;
  /** The binary as the tool's own commands see it. */
  toolInside(tool: string): string;
  launch(place: Place, tool: string, command: Command): Launch;
  /** What ends whatever a job left running; undefined where nothing can be left. */
  endAll(place: Place): Launch | undefined;
}

/** The environment of everything before the last step into a job, which alone sees what users set. */
export const cleanPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Name of the file in a job's folder that sets the tool's environment. */
export const environmentFile = 'environment.sh';

// The job's environment is read by the last shell, when every right is gone: it cannot steer what gave them up.
const enter = `
cd "$1" || exit 125
(echo 500 > /proc/self/oom_score_adj) 2>/dev/null
if [ -r "$2" ]; then . "$2"; fi
shift 2
exec "$@"
`;

const untilParentEnds = ['--pdeathsig', 'KILL'];

/** Builds one way of isolation; whether it works here is for `findIsolation` to try. */
export function isolationOf(kind: IsolationKind, options: IsolationOptions): Isolation {
  const rooted = kind === 'private-root' || kind === 'user-namespace';
  const ownUid = kind === 'private-root' || kind === 'own-user';
  const inside = (place: Place) => (rooted ? folderInside : place.folder);
  const limits = (place: Place) => [
    'prlimit',
    '--core=0',
    `--fsize=${options.fileBytes}`,
    // Counted per uid, so it says something about a job only where each has its own.
    ...(place.owner ? [`--nproc=${options.processes}`] : []),
    '--',
  ];
  const drop = ({ owner }: Place) => [
    'setpriv',
    ...untilParentEnds,
    '--no-new-privs',
    '--inh-caps=-all',
    ...(kind === 'same-user' ? [] : ['--bounding-set=-all']),
    ...(owner ? [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'] : []),
    '--',
  ];
  const entering = (place: Place, command: Command) => {
    const home = inside(place);
    return [
      '/bin/sh',
      '-c',
      enter,
      'sh',
      path.join(home, command.cwd),
      path.join(home, environmentFile),
      ...command.argv,
    ];
  };
  const namespaces = () => [
    ...['setpriv', ...untilParentEnds, '--', 'unshare'],
    ...(kind === 'user-namespace' ? ['--user', '--map-root-user'] : []),
    ...['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'],
    ...(options.network === 'none' ? ['--net'] : []),
    '--',
  ];
  const root = (place: Place, tool: string) => [
    ...['/bin/sh', '-eu', '-c', privateRootScript, 'sh', place.mountPoint, place.folder, tool],
    ...[String(place.owner?.uid ?? 0), String(place.owner?.gid ?? 0), ...pathsShown(options.show), '--'],
  ];
  return {
    kind,
    ownUid,
    inside,
    toolInside: (tool) => (rooted ? path.join(toolInside, path.basename(tool)) : tool),
    launch(place, tool, command) {
      const [file = '', ...args] = [
        ...(rooted ? [...namespaces(), ...root(place, tool)] : []),
        ...drop(place),
        ...limits(place),
        ...entering(place, command),
      ];
      return { file, args };
    },
    endAll(place) {
      if (kind !== 'own-user' || !place.owner) return undefined;
      const { uid, gid } = place.owner;
      return {
        file: 'setpriv',
        args: [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--', '/bin/sh', '-c', 'kill -9 -1'],
      };
    },
  };
}

/** What was found out about this machine. */
export interface Found {
  readonly isolation: Isolation | undefined;
  /** Why each stronger way does not work here, one sentence each. */
  readonly lacking: readonly string[];
}

/** What to try isolation with. */
export interface Trial {
  readonly options: IsolationOptions;
  /** Folder in which jobs will have theirs. */
  readonly scratch: string;
  /** The uid of the first job. */
  readonly owner: Owner;
  /** Files that no job may read: keys, the address of the database. */
  readonly secrets: readonly string[];
  readonly trustSameUser: boolean;
}

/** Tries the ways of isolation from the strongest on, with a command that looks for what it must not find. */
export async function findIsolation(trial: Trial): Promise<Found> {
  const root = process.getuid?.() === 0;
  const lacking: string[] = [];
  for (const kind of isolationKinds) {
    if (kind === 'same-user') break;
    if ((kind === 'user-namespace') === root) continue;
    const isolation = isolationOf(kind, trial.options);
    if (!rooted(kind) && trial.options.network === 'none') {
      lacking.push(`${kind}: no network can be withheld without namespaces`);
      continue;
    }
    const problem = await tryIsolation(isolation, trial);
    if (problem === undefined) return { isolation, lacking };
    lacking.push(`${kind}: ${problem}`);
  }
  if (!root) lacking.push('own-user: only root can run the tool as another user');
  // What was asked for is never quietly left out, also where the operator trusts whoever starts runs.
  const trusted = trial.trustSameUser && trial.options.network === 'host';
  return { isolation: trusted ? isolationOf('same-user', trial.options) : undefined, lacking };
}

const rooted = (kind: IsolationKind): boolean => kind === 'private-root' || kind === 'user-namespace';

// Prints what a job can read although it must not; the worker's own environment holds the keys.
const look = `
for secret in "$@"; do
  if [ -r "$secret" ] && cat "$secret" > /dev/null 2>&1; then echo "can read $secret"; fi
done
echo tried > tmp/tried && echo done
`;

async function tryIsolation(isolation: Isolation, trial: Trial): Promise<string | undefined> {
  const at = await mkdtemp(path.join(trial.scratch, 'trial-'));
  const owner = isolation.ownUid ? trial.owner : undefined;
  const place: Place = { folder: path.join(at, 'box'), mountPoint: path.join(at, 'root'), owner };
  try {
    await chmod(at, 0o711);
    await mkdir(place.mountPoint);
    await makeFolder(place.folder, owner, 0o700);
    for (const name of ['tmp', 'home']) await makeFolder(path.join(place.folder, name), owner, 0o700);
    const secrets = [...trial.secrets, `/proc/${process.pid}/environ`, `/proc/${process.pid}/mem`];
    const argv = ['/bin/sh', '-c', look, 'sh', ...secrets];
    const { file, args } = isolation.launch(place, '', { argv, cwd: '.' });
    return await new Promise((resolve) => {
      execFile(file, args, { env: { PATH: cleanPath }, timeout: 20_000 }, (error, stdout, stderr) => {
        const found = stdout
          .trim()
          .split('\n')
          .filter((line) => line.startsWith('can read'));
        if (found.length > 0) resolve(`a job ${found.join(' and ')}`);
        else if (error || !stdout.includes('done')) resolve(firstLine(stderr) ?? error?.message ?? 'nothing happened');
        else resolve(undefined);
      });
    });
  } finally {
    await rm(at, { recursive: true, force: true });
  }
}

const firstLine = (text: string): string | undefined => text.split('\n').find((line) => line.trim() !== '');

/** Makes a folder that belongs to a job. */
export async function makeFolder(at: string, owner: Owner | undefined, mode: number): Promise<void> {
  await mkdir(at, { mode });
  if (owner) await chown(at, owner.uid, owner.gid);
}
