import { existsSync } from 'node:fs';
import path from 'node:path';
import type { LocalConfig, ServiceName } from './config';
import { type FirstRun, firstRunFile, readFirstRun } from './first-run';
import { sealKeyFile } from './seal-keys';
import type { WorkerMeans } from './worker-process';

/** The data of the report that the program prints when everything runs. */
export interface Ready {
  config: LocalConfig;
  database: string;
  /** Only present at the first start. */
  firstRun?: FirstRun;
  newKeys: ServiceName[];
  /** Undefined if no worker is wanted. */
  worker?: WorkerMeans;
  /** The time since the process began, including installation and build. */
  seconds: string;
}

/**
 * The text at the end of a start: running programs with addresses, created files, what to keep, three commands to try.
 */
export function readyText(ready: Ready): string {
  const { config, database, firstRun, newKeys, worker, seconds } = ready;
  const { secrets, workspaces } = config.services;
  return [
    '',
    `Keystead is ready (${seconds} s).`,
    '',
    `  secrets             ${secrets.address}/ui/`,
    `  workspaces          ${workspaces.address}/ui/`,
    '',
    `  secrets service     ${secrets.address}/v1`,
    `  workspace service   ${workspaces.address}/api/v2`,
    `  their interfaces    ${secrets.address}/docs  ${workspaces.address}/docs`,
    `  database            ${database}`,
    `  data and logs       ${config.dataDir}`,
    '  command line        ./keystead',
    ...workerText(worker),
    ...(newKeys.length > 0 ? keysText(config, newKeys) : []),
    ...(firstRun ? firstRunText(config, firstRun) : []),
    ...warningText(config),
    '',
    'Try:',
    ...tryText(config),
    '',
    'Ctrl-C stops everything; the data stays.',
    '',
  ].join('\n');
}

function workerText(worker: WorkerMeans | undefined): string[] {
  if (!worker) return [];
  if (!worker.works) return [`  remote runs         wait: no worker here (${worker.why})`];
  const [tool = '', ...more] = worker.lines;
  return [`  remote runs         by ${tool}`, ...more.map((line) => `                      ${line}`)];
}

function keysText(config: LocalConfig, names: ServiceName[]): string[] {
  const loss: Record<ServiceName, string> = {
    secrets: 'every secret, token and policy',
    workspaces: 'all state, SSH keys and sensitive variables',
  };
  return [
    '',
    'Made for this installation; keep a copy of each elsewhere:',
    ...names.map((name) => `  ${sealKeyFile(config.dataDir, name)}: if you lose it, you lose ${loss[name]}`),
  ];
}

function firstRunText(config: LocalConfig, { secrets, workspaces }: FirstRun): string[] {
  const secretsText = secrets && [
    `  root token          ${secrets.root_token}`,
    ...secrets.recovery_keys.map((key, index) => `  recovery key ${index + 1}      ${key}`),
    '                      any three of the five recovery keys are required together',
  ];
  const workspacesText = workspaces && [
    `  administrator       ${workspaces.username}`,
    `  password            ${workspaces.password}`,
    `  token               ${workspaces.token}`,
  ];
  return [
    '',
    `Shown only once, and written to ${firstRunFile(config.dataDir)}:`,
    ...(secretsText || []),
    ...(workspacesText || []),
  ];
}

function warningText(config: LocalConfig): string[] {
  const { dataDir } = config;
  if (!readFirstRun(dataDir)?.secrets?.recovery_keys?.length || !existsSync(sealKeyFile(dataDir, 'secrets'))) return [];
  return [
    '',
    `Warning: root token, recovery keys and seal key are all in ${dataDir}. That is fine for`,
    'trying things out. For anything else give the recovery keys to different people, revoke the root token, and move',
    `${path.basename(firstRunFile(dataDir))} out of there.`,
  ];
}

function tryText(config: LocalConfig): string[] {
  const { secrets, workspaces } = config.services;
  const trusted = secrets.certificateFile ? [`  export SERVICE_CACERT=${secrets.certificateFile}`] : [];
  // The file was moved away as advised, or the data was restored from the backup of another installation, which has the
  // file.
  if (!existsSync(firstRunFile(config.dataDir))) {
    return [`  export SERVICE_ADDR=${secrets.address}`, ...trusted, '  ./keystead status', '  ./keystead login'];
  }
  const token = (name: string) => `$(node -p "require('${firstRunFile(config.dataDir)}').${name}")`;
  const curl = (secure: boolean) => (secure ? 'curl --insecure' : 'curl');
  return [
    `  export SERVICE_ADDR=${secrets.address} SERVICE_TOKEN=${token('secrets.root_token')}`,
    ...trusted,
    '  ./keystead write cubbyhole/hello color=green',
    '  ./keystead read cubbyhole/hello',
    `  ${curl(Boolean(workspaces.certificate))} -H "Authorization: Bearer ${token('workspaces.token')}" ${workspaces.address}/api/v2/account/details`,
  ];
}
