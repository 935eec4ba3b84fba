import { createWriteStream } from 'node:fs';
import { chown, type FileHandle, lstat, open, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { JobInputs, JobVariable, RunJob } from '../../resources/runs/runs/jobs/job';
import type { ModuleVersion } from '../../resources/runs/runs/run';
import { cleanPath } from '../isolation/command';
import { environmentFile, type Isolation, type JobFolder, makeFolder } from '../isolation/isolation';
import type { Binary } from './binaries';
import { type IdentityFiles, identityFolder } from './identity-files';
import type { ModuleCall } from './requirements';

type OwnedFolder = Pick<JobFolder, 'folder' | 'owner'>;

/** File names in a job's folder. */
export const files = {
  configuration: 'config',
  state: 'state',
  variables: 'run.tfvars',
  plan: 'run.plan',
  settings: 'tool.rc',
  override: 'zzzz_remote_run_override.tf',
  moduleVersions: 'zzzz_module_versions_override.tf',
  generated: 'generated_resources.tf',
  serviceEnvironment: 'service-environment.sh',
  erroredState: 'errored.tfstate',
} as const;

/** A configuration that the run cannot use. The message is for the user who started it. */
export class BadConfiguration extends Error {
  override readonly name = 'BadConfiguration';
}

/** The settings that the worker's operator adds to every run. */
export interface ToolSettings {
  /** Text of the tool's own configuration file. */
  readonly text: string;
  /** Variables from the worker's environment for the tool, such as a proxy. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The folder in which the tool runs, relative to the job's folder. Throws BadConfiguration if it does not exist. */
export async function workingFolder(jobFolder: JobFolder, requestedFolder: string | null): Promise<string> {
  const root = await realpath(path.join(jobFolder.folder, files.configuration));
  const folder = path.join(root, (requestedFolder ?? '').replace(/^\/+/, ''));
  const found = await realpath(folder).catch(() => undefined);
  const inside = found === root || found?.startsWith(`${root}/`);
  if (!found || !inside || !(await lstat(found)).isDirectory()) {
    throw new BadConfiguration(`the configuration has no folder ${JSON.stringify(requestedFolder)}`);
  }
  return path.join(files.configuration, path.relative(root, found));
}

/**
 * The path of the state, relative to the job's folder: where the tool itself stores the state of a workspace with this
 * name.
 */
export function stateFile(job: RunJob): string {
  return path.join(files.state, job.workspaceName, 'terraform.tfstate');
}

/**
 * Writes everything that a run needs next to the configuration: its backend, variables, environment, key and state.
 * Call it before the tool has run in the folder.
 */
export async function writeJobFiles(options: {
  jobFolder: JobFolder;
  isolation: Isolation;
  job: RunJob;
  inputs: JobInputs;
  settings: ToolSettings;
  folder: string;
  product: Binary['product'];
  identity?: IdentityFiles;
}): Promise<void> {
  const { jobFolder, job, inputs, settings, folder } = options;
  const write = (name: string, content: string) => writeOwn(jobFolder, name, content);
  await write(path.join(folder, files.override), backend(folder));
  await write(files.variables, variablesText(inputs.variables));
  await write(files.settings, settings.text + registryText(inputs));
  await makeFolder(path.join(jobFolder.folder, files.state, job.workspaceName), jobFolder.owner, 0o700);
  const state = await inputs.state();
  if (state) await store(jobFolder, stateFile(job), state);
  if (inputs.sshKey !== undefined) {
    await makeFolder(path.join(jobFolder.folder, 'home', '.ssh'), jobFolder.owner, 0o700);
    await write('home/.ssh/run', `${inputs.sshKey.trimEnd()}\n`);
  }
  if (options.identity) await writeIdentity(options.identity, jobFolder, options.isolation.inside(jobFolder));
  await write(environmentFile, environmentText(toolEnvironment(options)));
  await write(files.serviceEnvironment, environmentText(serviceEnvironment(options)));
}

async function writeIdentity(identity: IdentityFiles, jobFolder: JobFolder, home: string): Promise<void> {
  await makeFolder(path.join(jobFolder.folder, identityFolder), jobFolder.owner, 0o700);
  for (const { name, text, identity: of } of identity.contents(home)) {
    const file = await openOwn(jobFolder, name);
    await file.writeFile(text);
    if (of) identity.keep(of, file);
    else await file.close();
  }
}

/**
 * Arguments for the files of variables: the files of the workspace, and then the file of the run, which takes
 * precedence.
 */
export function variableArguments({ varFiles }: RunJob, up: string): string[] {
  const named = varFiles.map((file) => (file.startsWith('/') ? `${up}/${files.configuration}${file}` : file));
  return [...named, `${up}/${files.variables}`].map((file) => `-var-file=${file}`);
}

/**
 * Makes calls of registry modules use the versions that a plan tests, with override files that the tool merges into the
 * calls. Calls within modules that are not part of the configuration keep their versions. Returns the changed calls.
 * Call it while the tool is not running.
 */
export async function replaceModuleVersions(
  jobFolder: OwnedFolder,
  folder: string,
  calls: readonly ModuleCall[],
  versions: readonly ModuleVersion[],
): Promise<string[]> {
  const root = await realpath(path.join(jobFolder.folder, files.configuration));
  const overrides = new Map<string, Map<string, string>>();
  const changed: string[] = [];
  for (const { key, source } of calls) {
    const version = versions.find((one) => one.source.toLowerCase() === source.toLowerCase())?.version;
    const within = key.includes('.') ? calls.find((one) => key === `${one.key}.${nameOf(key)}`)?.folder : '.';
    if (version === undefined || within === undefined) continue;
    // The tool's list can be trusted no more than the configuration.
    const at = await realpath(path.join(jobFolder.folder, folder, within)).catch(() => undefined);
    const isOwn = at === root || at?.startsWith(`${root}/`) === true;
    if (!at || !isOwn || at.includes('/.terraform/') || !isName(nameOf(key))) continue;
    overrides.set(at, (overrides.get(at) ?? new Map()).set(nameOf(key), version));
    changed.push(key);
  }
  for (const [at, blocks] of overrides) {
    const text = [...blocks].map(([name, version]) => `module ${quoted(name)} {\n  version = ${quoted(version)}\n}\n`);
    await writeOwn(
      jobFolder,
      path.join(path.relative(await realpath(jobFolder.folder), at), files.moduleVersions),
      text.join(''),
    );
  }
  return changed;
}

const nameOf = (key: string): string => key.slice(key.lastIndexOf('.') + 1);

const stateNames = ['terraform.tfstate', 'terraform.tfstate.backup', 'terraform.tfstate.d', files.erroredState];

/**
 * Removes states that came with the configuration from the folder in which the tool runs. Otherwise the tool would try
 * to migrate them, or they would be treated as the result of an apply. Returns their names. Call it before the tool
 * runs.
 */
export async function setStatesAside({ folder }: JobFolder, working: string): Promise<string[]> {
  const at = path.join(folder, working);
  const found: string[] = [];
  for (const name of stateNames) {
    if (!(await lstat(path.join(at, name)).catch(() => undefined))) continue;
    await rm(path.join(at, name), { recursive: true, force: true });
    found.push(name);
  }
  // The tool's record of a backend, which each init creates. A link is not followed.
  const data = path.join(at, '.terraform');
  const isFolder = (await lstat(data).catch(() => undefined))?.isDirectory();
  if (isFolder) await rm(path.join(data, 'terraform.tfstate'), { recursive: true, force: true });
  return found;
}

/** The backend for this run. The service stores the state, so a file replaces the backend in the configuration. */
function backend(folder: string): string {
  const up = path.relative(folder, files.state);
  return `terraform {
  backend "local" {
    path          = ${quoted(`${up}/default.tfstate`)}
    workspace_dir = ${quoted(up)}
  }
}
`;
}

const isName = (text: string): boolean => /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(text);

/** Variables in the tool's format: expressions unchanged, everything else as a string without templates. */
function variablesText(variables: readonly JobVariable[]): string {
  return variables
    .filter(({ key }) => isName(key))
    .map(({ key, value, hcl }) => `${key} = ${hcl ? value : quoted(value)}\n`)
    .join('');
}

function quoted(text: string): string {
  const escaped = JSON.stringify(text)
    .replace(/\$\{/g, '$$$${')
    .replace(/%\{/g, '%%{')
    .replace(/\\b/g, '\\u0008')
    .replace(/\\f/g, '\\u000c');
  return escaped;
}

/** Variables that would lead the tool to another state or to another service than this run's. */
const withheld = /^(TF_WORKSPACE|TF_CLOUD_.*|TF_FORCE_LOCAL_BACKEND|TF_CLI_CONFIG_FILE|TF_DATA_DIR)$/;

interface EnvironmentParts {
  readonly jobFolder: JobFolder;
  readonly isolation: Isolation;
  readonly job: RunJob;
  readonly inputs: JobInputs;
  readonly settings: ToolSettings;
  readonly product: Binary['product'];
  readonly folder: string;
  readonly identity?: IdentityFiles;
}

/** The environment that a job gets from its service, and variables that users set, which take precedence. */
function givenEnvironment({ jobFolder, isolation, inputs, folder, identity }: EnvironmentParts): [string, string][] {
  const identities = identity?.environment(isolation.inside(jobFolder), path.relative(folder, '.')) ?? {};
  return [...Object.entries(identities), ...inputs.environment.map(({ key, value }): [string, string] => [key, value])];
}

/**
 * The variables that OpenTofu may need to open a plan that the configuration encrypts: settings, their variables, and
 * key services.
 */
const opensPlans = /^(TF_ENCRYPTION|TF_VAR_.+|(AWS|GOOGLE|AZURE|ARM|VAULT|BAO)_.+)$/;

/**
 * The environment of the service's own commands. It contains no variables of users, except those that open an encrypted
 * plan.
 */
function serviceEnvironment(parts: EnvironmentParts) {
  const { jobFolder, isolation, job, settings, product } = parts;
  const home = isolation.inside(jobFolder);
  const keys = product === 'OpenTofu' ? givenEnvironment(parts).filter(([key]) => opensPlans.test(key)) : [];
  return {
    ...Object.fromEntries(keys),
    PATH: cleanPath,
    LANG: 'C.UTF-8',
    HOME: `${home}/home`,
    TMPDIR: isolation.kind === 'private-root' || isolation.kind === 'user-namespace' ? '/tmp' : `${home}/tmp`,
    TF_IN_AUTOMATION: '1',
    TF_INPUT: '0',
    CHECKPOINT_DISABLE: '1',
    ...settings.environment,
    TF_CLI_CONFIG_FILE: `${home}/${files.settings}`,
    TF_WORKSPACE: job.workspaceName,
  };
}

/** The environment of the tool's own work: init, plan and apply. */
function toolEnvironment(parts: EnvironmentParts): Record<string, string> {
  const { jobFolder, isolation, job, inputs } = parts;
  const home = isolation.inside(jobFolder);
  const chosen = givenEnvironment(parts).filter(([key]) => !withheld.test(key));
  const ssh = `ssh -i ${home}/home/.ssh/run -o IdentitiesOnly=yes -o StrictHostKeyChecking=accept-new`;
  return {
    ...(inputs.sshKey === undefined ? {} : { GIT_SSH_COMMAND: ssh }),
    ...(job.debuggingMode ? { TF_LOG: 'TRACE' } : {}),
    ...serviceEnvironment(parts),
    TFC_RUN_ID: job.runId,
    TFC_WORKSPACE_NAME: job.workspaceName,
    TFC_WORKSPACE_SLUG: `${job.organizationName}/${job.workspaceName}`,
    ...Object.fromEntries(chosen),
  };
}

/** The service's registry for the tool; variables that users set for its host take precedence. */
const registryText = ({ registry }: JobInputs): string =>
  registry ? `\ncredentials ${quoted(registry.host)} {\n  token = ${quoted(registry.token)}\n}\n` : '';

/** Names whose values shells evaluate as numbers when they are set. Any other value ends the shell. */
const computed = /^(OPTIND|HISTCMD|SRANDOM)$/;

/**
 * A script for the job's shell that sets an environment. Each variable is set with `command`, so that a name that the
 * shell reserves does not end the shell.
 */
export function environmentText(environment: Readonly<Record<string, string>>): string {
  return Object.entries(environment)
    .filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !computed.test(name))
    .map(([name, value]) => `command export ${name}='${value.replaceAll('\0', '').replaceAll("'", `'\\''`)}'\n`)
    .join('');
}

/** Writes a file that belongs to the job. A file from the configuration is replaced, and a link is never followed. */
async function writeOwn(jobFolder: OwnedFolder, name: string, content: string): Promise<void> {
  const file = await openOwn(jobFolder, name);
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}

async function openOwn({ folder, owner }: OwnedFolder, name: string): Promise<FileHandle> {
  const at = path.join(folder, name);
  await rm(at, { force: true, recursive: true });
  const file = await open(at, 'wx', 0o600);
  if (owner) await file.chown(owner.uid, owner.gid);
  return file;
}

async function store(jobFolder: JobFolder, name: string, source: Readable): Promise<void> {
  const at = path.join(jobFolder.folder, name);
  await pipeline(source, createWriteStream(at, { flags: 'wx', mode: 0o600 }));
  if (jobFolder.owner) await chown(at, jobFolder.owner.uid, jobFolder.owner.gid);
}
