import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { closedToRuns } from '@keystead/addresses';
import { Reach } from '@keystead/outside';
import {
  BadConfig,
  describeSettings,
  entriesOf,
  readSettingFile,
  readSettings,
  webAddress,
  wholeNumber,
} from '@keystead/settings';
import { z } from 'zod';
import { addressBlocks, readConfig } from '../config';
import { cannotBeShown } from './isolation/private-root';
import { closedPlace } from './network/database-address';
import { type WantedTool, wantedTool } from './tool/releases';

const list = z.string().default('').transform(entriesOf);
const mebibyte = 1024 * 1024;
const Variables = z.object({
  WORKSPACES_WORKER_BINARY: list.describe(
    'Binaries of the tool, separated by commas. Each run uses the binary of its version. Unless set: terraform or tofu from PATH.',
  ),
  WORKSPACES_WORKER_VERSIONS: list.describe(
    'Versions of the tool to download, separated by commas: 1.11.4, tofu 1.10.0. Needs WORKSPACES_WORKER_RELEASE_KEYS_FILE.',
  ),
  WORKSPACES_WORKER_OPA: list.describe(
    'OPA binaries that evaluate policies, separated by commas. Each policy set uses the binary of its version. Unless set: opa from PATH.',
  ),
  WORKSPACES_WORKER_RELEASE_KEYS_FILE: z
    .string()
    .optional()
    .describe('Armored OpenPGP keys. The worker runs only releases that one of them signed.'),
  WORKSPACES_WORKER_TERRAFORM_RELEASES: webAddress
    .default('https://releases.hashicorp.com/terraform')
    .describe('URL of Terraform releases, with a folder for each version as on the vendor’s server.'),
  WORKSPACES_WORKER_TOFU_RELEASES: webAddress
    .default('https://github.com/opentofu/opentofu/releases/download')
    .describe('URL of OpenTofu releases.'),
  WORKSPACES_WORKER_TOFU_INDEX: webAddress
    .default('https://get.opentofu.org/tofu/api.json')
    .describe('URL of the list of OpenTofu releases, to refresh the catalogue.'),
  WORKSPACES_WORKER_RELEASE_NETWORKS: addressBlocks
    .optional()
    .describe(
      'Private addresses or CIDR blocks of release mirrors that the worker may call, in addition to public addresses.',
    ),
  WORKSPACES_WORKER_TOOLS: z
    .string()
    .default(path.join(tmpdir(), `keystead-tools-${process.getuid?.() ?? 0}`))
    .describe('Folder for downloaded versions. Workers on one machine may share it.'),
  WORKSPACES_WORKER_JOBS: wholeNumber(1, 64)
    .default(Math.max(1, Math.min(4, availableParallelism())))
    .describe('Maximum number of plans and applies at the same time.'),
  WORKSPACES_WORKER_SCRATCH: z
    .string()
    .default(path.join(tmpdir(), `keystead-worker-${process.getuid?.() ?? 0}`))
    .describe('Folder for the temporary folders of runs. Workers on one machine may share it.'),
  WORKSPACES_WORKER_FIRST_UID: wholeNumber(1000, 2_000_000_000)
    .default(70_000)
    .describe(
      'If the worker is root: first of 64 user ids for runs. Each run gets its own. Use them for nothing else.',
    ),
  WORKSPACES_WORKER_TRUST: z
    .enum(['nobody', 'same-user'])
    .default('nobody')
    .describe(
      'same-user: runs that cannot be isolated run as the worker’s user and can access everything that it can access.',
    ),
  WORKSPACES_WORKER_NETWORK: z
    .enum(['host', 'none'])
    .default('host')
    .describe('none: runs have no network, so providers must be on the machine.'),
  WORKSPACES_WORKER_CLOSED: list
    .refine((places) => places.every((place) => closedPlace.test(place)), 'must be host:port or the path of a socket')
    .describe(
      'Additional destinations that runs cannot reach: host:port or the path of a socket, separated by commas. Cloud metadata, the worker’s database and internal ports of the service are always closed.',
    ),
  WORKSPACES_WORKER_SHOW: list.describe(
    'Additional paths that runs may read, separated by commas. All users of the machine must be able to read them.',
  ),
  WORKSPACES_WORKER_TOOL_CONFIG_FILE: z
    .string()
    .optional()
    .describe('Configuration file of the tool for all runs, for example with a mirror of providers.'),
  WORKSPACES_WORKER_PASS: list.describe(
    'Environment variables of the worker to pass to runs, separated by commas, such as HTTPS_PROXY.',
  ),
  WORKSPACES_WORKER_LOG_LIMIT_MIB: wholeNumber(1, 1024)
    .default(64)
    .describe('Maximum size of the log of a plan or an apply.'),
  WORKSPACES_WORKER_ARCHIVE_LIMIT_MIB: wholeNumber(1, 16_384)
    .default(1024)
    .describe('Maximum size of an unpacked configuration.'),
  WORKSPACES_WORKER_FILE_LIMIT_MIB: wholeNumber(16, 1_048_576)
    .default(8192)
    .describe('Maximum size of a file that a run writes.'),
  WORKSPACES_WORKER_DISK_LIMIT_MIB: wholeNumber(64, 16_777_216)
    .default(16_384)
    .describe('Disk space of one run. The worker checks it every few seconds, so a run may exceed it for a moment.'),
  WORKSPACES_WORKER_MEMORY_MIB: wholeNumber(128, 16_777_216)
    .default(4096)
    .describe('Memory of one run. If the worker cannot create control groups: memory of each process of a run.'),
  WORKSPACES_WORKER_CPUS: z.coerce
    .number()
    .min(0.1)
    .max(4096)
    .optional()
    .describe('Number of processors of one run, such as 1.5. Needs control groups. Unless set: all processors.'),
  WORKSPACES_WORKER_PROCESSES: wholeNumber(50, 1_000_000)
    .default(2000)
    .describe('Maximum number of processes and threads of one run.'),
  WORKSPACES_WORKER_OPEN_FILES: wholeNumber(64, 1_048_576)
    .default(8192)
    .describe('Maximum number of open files of each process of a run.'),
  WORKSPACES_WORKER_FETCH_SECONDS: wholeNumber(1, 3600)
    .default(300)
    .describe('How long fetching a commit of a repository may take.'),
  WORKSPACES_WORKER_DRAIN_SECONDS: wholeNumber(0, 86_400)
    .default(20)
    .describe('How long runs may continue after the worker is stopped, before they are interrupted.'),
  WORKSPACES_WORKER_GRACE_SECONDS: wholeNumber(1, 3600)
    .default(20)
    .describe('How long an interrupted run may take to end by itself before it is killed.'),
  WORKSPACES_WORKER_LEASE_SECONDS: wholeNumber(5, 3600)
    .default(60)
    .describe('If a worker sends no heartbeat for this long, its jobs are given to other workers.'),
});

const secretFile = /^(WORKSPACES_(?!WORKER_|TLS_CERT_).*|AGENT_TOKEN)_FILE$/;

/** The number of user ids for runs. */
export const slots = 64;

/** The settings of a worker process of the service. */
export type WorkerConfig = ReturnType<typeof readWorkerConfig>;

/** The settings of any process that carries out runs. */
export type OwnConfig = ReturnType<typeof readOwnConfig>;

/** Reads the configuration from the environment. Throws `BadConfig` naming every unknown or bad variable. */
export function readWorkerConfig(environment: NodeJS.ProcessEnv) {
  // Settings of database, keys and stores have the same meaning for both processes.
  const service = readConfig(environment);
  const own = readOwnConfig(environment);
  const { listen, metrics, publicUrl, trustedProxies } = service;
  const trustsAddresses = trustedProxies.networks.length > 0 && trustedProxies.secrets.length === 0;
  // The service may be on this machine, so runs must not reach its listeners.
  const listeners = closedToRuns({ ...listen, metrics, publicUrls: [publicUrl], trustsAddresses });
  return { ...own, closed: [...listeners, ...own.closed], databaseUrl: service.databaseUrl, service };
}

/** Reads the settings that workers and agents share. Throws like `readWorkerConfig`. */
export function readOwnConfig(environment: NodeJS.ProcessEnv) {
  const { settings, problems } = readSettings(Variables, environment, { own: /^WORKSPACES_WORKER_/ });
  for (const shown of settings.WORKSPACES_WORKER_SHOW) {
    const problem = cannotBeShown(shown);
    if (problem) problems.push(`WORKSPACES_WORKER_SHOW: ${shown} ${problem}`);
  }
  const tools = settings.WORKSPACES_WORKER_VERSIONS.map(wantedTool);
  if (tools.includes(undefined)) {
    problems.push('WORKSPACES_WORKER_VERSIONS: must be exact versions such as 1.11.4 or tofu 1.10.0');
  }
  const keysFile = settings.WORKSPACES_WORKER_RELEASE_KEYS_FILE;
  const keys = keysFile && readSettingFile('WORKSPACES_WORKER_RELEASE_KEYS_FILE', keysFile, problems);
  if (tools.length > 0 && keysFile === undefined) {
    problems.push('WORKSPACES_WORKER_VERSIONS needs WORKSPACES_WORKER_RELEASE_KEYS_FILE');
  }
  const toolFile = settings.WORKSPACES_WORKER_TOOL_CONFIG_FILE;
  const toolText = toolFile && readSettingFile('WORKSPACES_WORKER_TOOL_CONFIG_FILE', toolFile, problems);
  if (problems.length > 0) throw new BadConfig(problems);
  return {
    /** The database that runs must not reach; undefined for an agent, which does not know it. */
    databaseUrl: undefined as string | undefined,
    /** Other places that runs must not reach: host:port or the path of a socket. */
    closed: settings.WORKSPACES_WORKER_CLOSED,
    /** Files that no run may read. */
    secrets: Object.entries(environment).flatMap(([name, file]) => (secretFile.test(name) && file ? [file] : [])),
    binaries: settings.WORKSPACES_WORKER_BINARY,
    /** Paths of OPA binaries. */
    opa: settings.WORKSPACES_WORKER_OPA,
    /** Versions of tools that are downloaded if they are missing. */
    versions: tools.filter((one): one is WantedTool => one !== undefined),
    releases: {
      places: {
        Terraform: settings.WORKSPACES_WORKER_TERRAFORM_RELEASES,
        OpenTofu: settings.WORKSPACES_WORKER_TOFU_RELEASES,
      },
      indexes: {
        Terraform: `${settings.WORKSPACES_WORKER_TERRAFORM_RELEASES}/index.json`,
        OpenTofu: settings.WORKSPACES_WORKER_TOFU_INDEX,
      },
      keys: keys ?? '',
      folder: path.resolve(settings.WORKSPACES_WORKER_TOOLS),
      reach: new Reach(settings.WORKSPACES_WORKER_RELEASE_NETWORKS ?? []),
      milliseconds: 600_000,
    },
    searchPath: environment.PATH ?? '',
    jobs: settings.WORKSPACES_WORKER_JOBS,
    scratch: {
      root: path.resolve(settings.WORKSPACES_WORKER_SCRATCH),
      firstUid: settings.WORKSPACES_WORKER_FIRST_UID,
      slots,
    },
    trustSameUser: settings.WORKSPACES_WORKER_TRUST === 'same-user',
    isolation: {
      network: settings.WORKSPACES_WORKER_NETWORK,
      show: settings.WORKSPACES_WORKER_SHOW,
      limits: {
        fileBytes: settings.WORKSPACES_WORKER_FILE_LIMIT_MIB * mebibyte,
        memoryBytes: settings.WORKSPACES_WORKER_MEMORY_MIB * mebibyte,
        processes: settings.WORKSPACES_WORKER_PROCESSES,
        openFiles: settings.WORKSPACES_WORKER_OPEN_FILES,
      },
    },
    cpus: settings.WORKSPACES_WORKER_CPUS,
    diskBytes: settings.WORKSPACES_WORKER_DISK_LIMIT_MIB * mebibyte,
    tool: {
      text: `disable_checkpoint = true\n${toolText ?? ''}`,
      environment: Object.fromEntries(
        settings.WORKSPACES_WORKER_PASS.flatMap((name) =>
          environment[name] === undefined ? [] : [[name, environment[name]]],
        ),
      ) as Record<string, string>,
    },
    logBytes: settings.WORKSPACES_WORKER_LOG_LIMIT_MIB * mebibyte,
    archiveBytes: settings.WORKSPACES_WORKER_ARCHIVE_LIMIT_MIB * mebibyte,
    fetchSeconds: settings.WORKSPACES_WORKER_FETCH_SECONDS,
    drainSeconds: settings.WORKSPACES_WORKER_DRAIN_SECONDS,
    graceSeconds: settings.WORKSPACES_WORKER_GRACE_SECONDS,
    leaseSeconds: settings.WORKSPACES_WORKER_LEASE_SECONDS,
  };
}

/** Two lines per variable, for `--help`. */
export const describeWorkerConfig = (): string => describeSettings(Variables);
