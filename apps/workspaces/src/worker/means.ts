import { type Binary, findBinaries } from './binaries';
import type { WorkerConfig } from './config';
import { findIsolation, type Isolation } from './isolation';
import { blockMetadata } from './network';
import { makeScratch, ownerOf } from './scratch';

/** A worker that cannot start; the message says what to do. */
export class NoWorker extends Error {
  override readonly name = 'NoWorker';
}

/** What a machine offers to a worker. */
export interface Means {
  readonly binaries: readonly Binary[];
  readonly isolation: Isolation;
  /** What is enforced and what is not, a sentence each. */
  readonly said: readonly string[];
}

const protectedBy: Readonly<Record<Isolation['kind'], string>> = {
  'private-root': 'runs are kept apart: own user ids, own processes, own file system',
  'user-namespace': 'runs are kept apart: own processes, own file system; they have no user id of their own',
  'own-user':
    'runs are kept apart by user ids alone: they see the processes and the world-readable files of this machine',
  'same-user': 'RUNS ARE NOT KEPT APART: whoever may start one reaches the keys and the database of this worker',
};

/** Finds out what this machine offers. Throws NoWorker where it is not enough. */
export async function findMeans(config: WorkerConfig): Promise<Means> {
  const binaries = await findBinaries(config.binaries, config.searchPath).catch((error: Error) => {
    throw new NoWorker(error.message);
  });
  if (binaries.length === 0)
    throw new NoWorker('neither terraform nor tofu is on the PATH: set WORKSPACES_WORKER_BINARY');
  const { scratch } = config;
  await makeScratch(scratch.root);
  const { isolation, lacking } = await findIsolation({
    options: config.isolation,
    scratch: scratch.root,
    owner: ownerOf(scratch, scratch.slots - 1),
    secrets: config.secrets,
    trustSameUser: config.trustSameUser,
  });
  if (!isolation) {
    throw new NoWorker(
      `runs cannot be kept apart here (${lacking.join('; ')}). WORKSPACES_WORKER_TRUST=same-user runs them all the same, with everything this worker can reach`,
    );
  }
  const said = [protectedBy[isolation.kind], ...lacking.map((reason) => `not possible here: ${reason}`)];
  if (config.isolation.network === 'none') said.push('runs have no network');
  else said.push(await metadataText(config, isolation), 'runs have the network of this machine');
  return { binaries, isolation, said };
}

async function metadataText({ scratch }: WorkerConfig, isolation: Isolation): Promise<string> {
  const last = scratch.firstUid + scratch.slots - 1;
  const problem = isolation.ownUid
    ? await blockMetadata({ first: scratch.firstUid, last })
    : 'runs have no user id of their own';
  return problem === undefined
    ? 'the metadata addresses of clouds are closed to runs'
    : `THE METADATA ADDRESS OF A CLOUD IS OPEN TO RUNS, if there is one: ${problem}`;
}
