import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { call } from './call';
import type { LocalConfig, ServiceConfig } from './config';
import { Stop } from './stop';

const FILE = 'first-run.json';
const PART = 'first-run.part.json';
const SHARES = 5;
const THRESHOLD = 3;

/** The credentials that the first start created, shown once. The keys are the names in the file. */
export interface FirstRun {
  secrets: { address: string; root_token: string; recovery_keys: string[] };
  workspaces: { address: string; username: string; password: string; token: string };
}

/** The file of the first start, in the data folder. */
export const firstRunFile = (dataDir: string) => path.join(dataDir, FILE);

/** Reads the file of the first start; `undefined` if it does not exist, or was moved away as advised. */
export function readFirstRun(dataDir: string): FirstRun | undefined {
  return readJson<FirstRun>(firstRunFile(dataDir));
}

/** Creates the first administrator of the workspace service; `undefined` if there is one. */
export type MakeAdministrator = () => Promise<Omit<FirstRun['workspaces'], 'address'> | undefined>;

/**
 * Initialises both services unless that was done and writes the file of the first start. The credentials of one service
 * are saved before the other service is initialised, so that the next start can continue after an interruption. Returns
 * what it created, or `undefined` if there was nothing to do.
 */
export async function initialise(
  { dataDir, services }: LocalConfig,
  makeAdministrator: MakeAdministrator,
): Promise<FirstRun | undefined> {
  const before = readFirstRun(dataDir);
  const part = path.join(dataDir, PART);
  const saved: Partial<FirstRun> = readJson(part) ?? {};
  const secrets = await initialiseSecrets(services.secrets);
  if (secrets) {
    saved.secrets = secrets;
    writeSecret(part, saved);
  }
  const administrator = before?.workspaces ? undefined : await makeAdministrator();
  if (administrator) {
    saved.workspaces = { address: services.workspaces.address, ...administrator };
    writeSecret(part, saved);
  }
  if (!saved.secrets && !saved.workspaces) return undefined;
  const firstRun = { ...before, ...saved } as FirstRun;
  writeSecret(firstRunFile(dataDir), firstRun);
  rmSync(part, { force: true });
  return firstRun;
}

async function initialiseSecrets(service: ServiceConfig): Promise<FirstRun['secrets'] | undefined> {
  const state = await call(service, 'GET', '/v1/sys/init');
  if (state.body?.initialized === true) return undefined;
  const { status, body } = await call(service, 'PUT', '/v1/sys/init', {
    body: await sharesFor(service),
    timeoutMs: 60_000,
  });
  if (status !== 200) throw new Stop(`the secrets service could not be initialised: ${JSON.stringify(body)}`);
  const keys = body.recovery_keys?.length ? body.recovery_keys : body.keys;
  return { address: service.address, root_token: body.root_token, recovery_keys: keys };
}

/**
 * The number of shares and the threshold to request. A service with a seal key has recovery shares; a service without
 * one has unseal shares.
 */
async function sharesFor(service: ServiceConfig): Promise<object> {
  const { body } = await call(service, 'GET', '/v1/sys/seal-status');
  return body?.type === 'shamir'
    ? { secret_shares: SHARES, secret_threshold: THRESHOLD }
    : { recovery_shares: SHARES, recovery_threshold: THRESHOLD };
}

/**
 * Writes a file either completely or not at all, readable only by its owner. The content is on disk before the call
 * returns.
 */
function writeSecret(file: string, value: unknown): void {
  const fresh = `${file}.new`;
  rmSync(fresh, { force: true });
  const descriptor = openSync(fresh, 'wx', 0o600);
  try {
    writeSync(descriptor, `${JSON.stringify(value, null, 2)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(fresh, file);
}

function readJson<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    throw new Stop(`${file} is damaged: put back a copy, or move it away`);
  }
}
