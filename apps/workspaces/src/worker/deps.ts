import type { OwnConfig } from './config';
import type { Isolation } from './isolation/isolation';
import { type Confinement, findConfinement } from './isolation/launcher';
import { findControlGroups } from './isolation/limits';
import { makeScratch, ownerOf } from './isolation/scratch';
import { findIsolation, type Trial, tryReading, tryUserNamespace } from './isolation/trial';
import { type DatabaseAddress, findDatabaseAddress, findPlace } from './network/database-address';
import { blockCloudEndpoints, blockDatabase } from './network/network';
import { tryCloudEndpoints, tryDatabase } from './network/reach';
import { findOpa, type OpaProgram } from './policies/program';
import { type Binary, findBinaries } from './tool/binaries';
import { fetchTool } from './tool/releases';

/** A worker that cannot start. The message says what to do. */
export class NoWorker extends Error {
  override readonly name = 'NoWorker';
}

/** The dependencies of a worker that were found on its machine. */
export interface WorkerDeps {
  readonly binaries: readonly Binary[];
  /** The OPA binaries, newest first. If empty, other workers evaluate policies. */
  readonly opa: readonly OpaProgram[];
  readonly isolation: Isolation;
  /** The enforced and missing protections, one sentence each. */
  readonly protections: readonly string[];
  /** Blocks runs again from the database and other closed places, in case an address has changed. Never throws. */
  closeAgain(): Promise<void>;
}

const protectedBy: Readonly<Record<Isolation['kind'], string>> = {
  'private-root': 'runs are isolated: separate user ids, processes and file systems',
  'user-namespace': 'runs are isolated: separate processes and file systems, but no separate user ids',
  'own-user': 'runs are isolated only by user ids: they see the processes and the world-readable files of this machine',
  'same-user': 'RUNS ARE NOT ISOLATED: anyone who may start one reaches the keys and the database of this worker',
};

/** The versions that this worker should have; missing ones are downloaded one after the other. Throws NoWorker. */
export async function fetchTools({ versions, releases }: OwnConfig): Promise<string[]> {
  const files: string[] = [];
  for (const version of versions) {
    files.push(
      await fetchTool(version, releases).catch((error: Error) => {
        throw new NoWorker(error.message);
      }),
    );
  }
  return files;
}

/** Finds out what this machine offers. Throws NoWorker if this is not sufficient. */
export async function findWorkerDeps(config: OwnConfig): Promise<WorkerDeps> {
  const fetched = await fetchTools(config);
  const candidates = [...config.binaries, ...fetched];
  const binaries = await findBinaries(candidates, config.searchPath).catch((error: Error) => {
    throw new NoWorker(error.message);
  });
  if (binaries.length === 0)
    throw new NoWorker(
      'neither terraform nor tofu is on the PATH: set WORKSPACES_WORKER_BINARY or WORKSPACES_WORKER_VERSIONS',
    );
  const { scratch } = config;
  await makeScratch(scratch.root);
  const groups = await findControlGroups({ ...config.isolation.limits, cpus: config.cpus });
  if (typeof groups === 'string' && config.cpus !== undefined) {
    throw new NoWorker(`WORKSPACES_WORKER_CPUS needs control groups: ${groups}`);
  }
  const confinement = await findConfinement();
  const trial: Trial = {
    options: {
      ...config.isolation,
      ...(typeof groups === 'string' ? {} : { groups }),
      ...(typeof confinement === 'string' ? {} : { confinement }),
    },
    scratch: scratch.root,
    owner: ownerOf(scratch, scratch.slots - 1),
    secrets: config.secrets,
    trustSameUser: config.trustSameUser,
  };
  const { isolation, missing } = await findIsolation(trial);
  if (!isolation) {
    throw new NoWorker(
      `runs cannot be isolated here (${missing.join('; ')}). WORKSPACES_WORKER_TRUST=same-user runs them anyway, with everything this worker can reach`,
    );
  }
  const unread = await tryReading(isolation, trial, config.isolation.show);
  if (unread.length > 0) {
    throw new NoWorker(
      `WORKSPACES_WORKER_SHOW: runs cannot read ${unread.join(', ')}: all users must be able to read them, and the target of a link must be shown as well`,
    );
  }
  const lines = [protectedBy[isolation.kind], ...missing.map((reason) => `not possible here: ${reason}`)];
  lines.push(...kernelTexts(confinement), await namespaceText(isolation, trial));
  if (config.isolation.network === 'none') lines.push('runs have no network');
  else {
    lines.push(await endpointsText(config, isolation, trial));
    if (isolation.kind !== 'same-user')
      for (const place of placesOf(config)) lines.push(await placeText(place, config, isolation, trial));
    lines.push('the rest of this machine’s network is open to runs, and they see the names of its sockets');
  }
  lines.push(
    typeof groups === 'string'
      ? `the memory of each process of a run is limited, not that of the run as a whole: ${groups}`
      : 'memory and processes of each run are limited as a whole',
  );
  const opa = await findOpa(config.opa, config.searchPath).catch((error: Error) => {
    throw new NoWorker(`WORKSPACES_WORKER_OPA: ${error.message}`);
  });
  lines.push(
    opa.length > 0
      ? `policies can be evaluated by OPA ${opa.map(({ version }) => version).join(', ')}`
      : 'no OPA binary: other workers evaluate policies',
  );
  return { binaries, opa, isolation, protections: lines, closeAgain: () => closePlaces(config, isolation) };
}

function kernelTexts(confinement: Confinement | string): string[] {
  if (typeof confinement === 'string') {
    return [
      `not possible here: system calls of runs are not filtered: ${confinement}`,
      `not possible here: abstract sockets of this machine are open to runs: ${confinement}`,
    ];
  }
  return [
    'runs have only the system calls that tools and providers need',
    confinement.scoped
      ? 'abstract sockets of this machine are closed to runs'
      : 'not possible here: abstract sockets of this machine are open to runs: that takes Landlock of Linux 6.12 or newer',
  ];
}

async function namespaceText(isolation: Isolation, trial: Trial): Promise<string> {
  return (await tryUserNamespace(isolation, trial))
    ? 'RUNS CAN CREATE USER NAMESPACES, and have all capabilities inside: this exposes more of the kernel to them'
    : 'runs cannot create user namespaces';
}

const uidsOf = ({ scratch }: OwnConfig) => ({
  first: scratch.firstUid,
  last: scratch.firstUid + scratch.slots - 1,
});

const noUid = 'runs have no separate user id';

/**
 * Describes whether metadata addresses are blocked. The worker tests this with a real attempt, because rules may exist
 * and have no effect.
 */
async function endpointsText(config: OwnConfig, isolation: Isolation, trial: Trial): Promise<string> {
  const problem = isolation.ownUid ? await blockCloudEndpoints(uidsOf(config)) : noUid;
  const open = problem === undefined ? await tryCloudEndpoints(isolation, trial) : [];
  if (problem === undefined && open?.length === 0) return 'runs cannot reach the metadata and host addresses of clouds';
  if (problem === undefined && open === undefined) {
    return 'runs cannot reach the metadata and host addresses of clouds, by rules that could not be tried';
  }
  return `THE METADATA ADDRESS OF A CLOUD IS OPEN TO RUNS, if there is one: ${problem ?? open?.join(', ')}`;
}

/** A place that runs must not reach. */
interface ClosedPlace {
  readonly name: string;
  find(): Promise<DatabaseAddress>;
}

function placesOf({ databaseUrl, closed, isolation }: OwnConfig): ClosedPlace[] {
  if (isolation.network === 'none') return [];
  return [
    ...(databaseUrl === undefined ? [] : [{ name: 'the database', find: () => findDatabaseAddress(databaseUrl) }]),
    ...closed.map((text) => ({ name: text, find: () => findPlace(text) })),
  ];
}

async function closePlaces(config: OwnConfig, isolation: Isolation): Promise<void> {
  for (const place of placesOf(config)) await closePlace(place, config, isolation);
}

/**
 * Blocks a place to runs if their isolation does not block it already. Returns the reason if this failed. Never throws.
 */
async function closePlace(place: ClosedPlace, config: OwnConfig, isolation: Isolation): Promise<string | undefined> {
  try {
    const found = await place.find();
    if ('socket' in found) return undefined;
    return isolation.ownUid ? await blockDatabase(uidsOf(config), found) : noUid;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Describes whether a closed place is blocked. The worker tests this with a real attempt, because rules may exist and
 * have no effect.
 */
async function placeText(place: ClosedPlace, config: OwnConfig, isolation: Isolation, trial: Trial): Promise<string> {
  const { name } = place;
  const problem = await closePlace(place, config, isolation);
  const reach = await place
    .find()
    .then((found) => tryDatabase(isolation, trial, found))
    .catch(() => undefined);
  if (reach === 'closed') return `runs cannot reach ${name}`;
  if (reach === undefined && !problem) return `runs cannot reach ${name}, by rules that could not be tried`;
  const reached = reach === 'open' ? 'RUNS REACH' : 'RUNS MAY REACH';
  return `${reached} ${name}: ${problem ?? 'its socket is open to them'}`;
}
