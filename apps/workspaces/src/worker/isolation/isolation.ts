import { chown, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Owner } from '../files/archive';
import type { Launch } from './command';
import { type Apart, type Confinement, launchAtOnce } from './launcher';
import { type ControlGroups, joinScript, processLimits, type RunLimits } from './limits';
import { folderInside, layRoot, privateRootScript, toolInside } from './private-root';

/**
 * How the tool is isolated, strongest first. `private-root`: a separate uid, mount and process namespaces.
 * `user-namespace`: the same namespaces, created without root. `own-user`: only another uid. `same-user`: no isolation.
 */
export const isolationKinds = ['private-root', 'user-namespace', 'own-user', 'same-user'] as const;
/** A way of isolation. */
export type IsolationKind = (typeof isolationKinds)[number];

/** A command of a job, to be run in the job's folder. */
export interface Command {
  /** Program and arguments, as seen from inside. */
  readonly argv: readonly string[];
  /** Folder to start in, relative to the job's folder. */
  readonly cwd: string;
  /** The file in the job's folder that sets its environment; by default the tool's environment. */
  readonly environment?: string;
  /** Whether the command has no network, if it runs in namespaces. */
  readonly offline?: boolean;
}

/** Where one job runs: a separate folder and, where uids are configured, a separate uid. */
export interface JobFolder {
  /** The job's folder on the machine; `home`, `tmp` and the rest are in it. */
  readonly folder: string;
  /** An empty folder to mount a root on. */
  readonly mountPoint: string;
  /** The user that the tool runs as; undefined for the worker's own user. */
  readonly owner: Owner | undefined;
  /** Files to which a process of the job writes its id before anything else, to join the job's control groups. */
  readonly cgroupProcsFiles?: readonly string[];
}

/** The settings that all jobs of a worker share. */
export interface IsolationOptions {
  readonly network: 'host' | 'none';
  /** Further paths that jobs may read. */
  readonly show: readonly string[];
  readonly limits: RunLimits;
  /**
   * The control groups in which the kernel counts a job's resources. Without them, each process is limited separately.
   */
  readonly groups?: ControlGroups;
  /** Denies parts of the kernel to jobs, if this machine supports that. */
  readonly confinement?: Confinement;
}

/** The chosen way to isolate jobs. */
export interface Isolation {
  readonly kind: IsolationKind;
  readonly limits: RunLimits;
  readonly groups: ControlGroups | undefined;
  /** Whether each job has a separate uid. */
  readonly ownUid: boolean;
  /** The path of the job's folder for the tool. */
  inside(jobFolder: JobFolder): string;
  /** The path of the binary for the tool's own commands. */
  toolInside(tool: string): string;
  /** The program to spawn for a command. The first command of a job creates its root, with the tool in it. */
  launch(jobFolder: JobFolder, tool: string, command: Command): Launch;
  /** Kills processes that a job left running; undefined if there cannot be such processes. */
  endAll(jobFolder: JobFolder): Launch | undefined;
}

/** Name of the file in a job's folder that sets the tool's environment. */
export const environmentFile = 'environment.sh';

// The job's environment is read by the last shell, after all rights have been given up, so it cannot influence this.
const enter = `
cd "$1" || exit 125
{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null
if [ -r "$2" ]; then . "$2"; fi
shift 2
exec "$@"
`;

const untilParentEnds = ['--pdeathsig', 'KILL'];

/** The prefix of a command that isolates it if there is no confinement: a program for each step. */
function launchBySteps({ cgroupProcsFiles, namespaces, root, owner, keepsRights, limits }: Apart): string[] {
  return [
    ...(cgroupProcsFiles.length > 0 ? ['/bin/sh', '-c', joinScript, 'sh', ...cgroupProcsFiles, '--'] : []),
    ...(namespaces
      ? [
          ...['setpriv', ...untilParentEnds, '--', 'unshare'],
          ...(namespaces.user ? ['--user', '--map-root-user'] : []),
          ...['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'],
          ...(namespaces.net ? ['--net'] : []),
          '--',
        ]
      : []),
    ...(root ? ['/bin/sh', '-eu', '-c', privateRootScript, 'sh', root.mountPoint, root.mounts] : []),
    ...['setpriv', ...untilParentEnds, '--no-new-privs', '--inh-caps=-all', '--ambient-caps=-all'],
    ...(keepsRights ? [] : ['--bounding-set=-all']),
    ...(owner ? [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'] : []),
    '--',
    ...['prlimit', ...limits.map(({ name, most }) => `--${name}=${most}`), '--'],
  ];
}

/** Builds one kind of isolation. `findIsolation` tests whether it works on this machine. */
export function isolationOf(kind: IsolationKind, options: IsolationOptions): Isolation {
  const rooted = kind === 'private-root' || kind === 'user-namespace';
  const ownUid = kind === 'private-root' || kind === 'own-user';
  const inside = (jobFolder: JobFolder) => (rooted ? folderInside : jobFolder.folder);
  const entering = (jobFolder: JobFolder, command: Command) => {
    const home = inside(jobFolder);
    return [
      '/bin/sh',
      '-c',
      enter,
      'sh',
      path.join(home, command.cwd),
      path.join(home, command.environment ?? environmentFile),
      ...command.argv,
    ];
  };
  const apart = (jobFolder: JobFolder, tool: string, { offline = false }: Command): Apart => ({
    cgroupProcsFiles: jobFolder.cgroupProcsFiles ?? [],
    namespaces: rooted ? { user: kind === 'user-namespace', net: offline || options.network === 'none' } : undefined,
    root: rooted
      ? { mountPoint: jobFolder.mountPoint, mounts: layRoot({ ...jobFolder, tool, show: options.show }) }
      : undefined,
    owner: jobFolder.owner,
    keepsRights: kind === 'same-user',
    limits: processLimits(options.limits, {
      ownUid: jobFolder.owner !== undefined,
      counted: options.groups !== undefined,
    }),
  });
  return {
    kind,
    limits: options.limits,
    groups: options.groups,
    ownUid,
    inside,
    toolInside: (tool) => (rooted ? path.join(toolInside, path.basename(tool)) : tool),
    launch(jobFolder, tool, command) {
      const parts = apart(jobFolder, tool, command);
      const { confinement } = options;
      const before = confinement ? launchAtOnce(confinement, parts) : launchBySteps(parts);
      const [file = '', ...args] = [...before, ...entering(jobFolder, command)];
      return { file, args };
    },
    endAll(jobFolder) {
      if (kind !== 'own-user' || !jobFolder.owner) return undefined;
      const { uid, gid } = jobFolder.owner;
      return {
        file: 'setpriv',
        args: [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--', '/bin/sh', '-c', 'kill -9 -1'],
      };
    },
  };
}

/** Creates a folder that belongs to a job. */
export async function makeFolder(at: string, owner: Owner | undefined, mode: number): Promise<void> {
  await mkdir(at, { mode });
  if (owner) await chown(at, owner.uid, owner.gid);
}
