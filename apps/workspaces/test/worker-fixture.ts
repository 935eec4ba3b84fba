import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { findProgram } from '@keystead/testing';
import { type Header, pack } from 'tar-stream';
import type { JobInputs, JobVariable, RunJob } from '../src/resources/runs/runs/jobs/job';
import { collect } from '../src/worker/files/archive';
import { cleanPath, runCommand, Stopping } from '../src/worker/isolation/command';
import {
  type Isolation,
  type IsolationKind,
  type IsolationOptions,
  isolationKinds,
  isolationOf,
} from '../src/worker/isolation/isolation';
import { findConfinement } from '../src/worker/isolation/launcher';
import { makeScratch, type ScratchOptions, type Slot, takeSlot } from '../src/worker/isolation/scratch';
import { cloudEndpoints } from '../src/worker/network/cloud-endpoints';
import { firewallRules, type Uids } from '../src/worker/network/network';
import { type Binary, findBinaries } from '../src/worker/tool/binaries';
import type { Executor, RunningJob } from '../src/worker/tool/execute';
import { SchemaCache } from '../src/worker/tool/provider-schemas';
import { RunLog } from '../src/worker/tool/run-log';

/** Uids that only jobs of tests run as. */
export const testUids = { firstUid: 61_000 + (process.pid % 400) * 10, slots: 4 };

const limits = { fileBytes: 1_000_000_000, processes: 500, openFiles: 4096, memoryBytes: 1024 * 1024 * 1024 };
const options = { network: 'host' as const, show: [], limits };

const named = [process.env.KEYSTEAD_TOFU ?? []].flat();

/** The tool that `KEYSTEAD_TOFU` names, or the one on this machine; use it only if `noTool` is undefined. */
export async function findTool(): Promise<Binary> {
  const [found] = await findBinaries(named, process.env.PATH ?? '');
  if (!found) throw new Error('the tool on the PATH does not say its version');
  return found;
}

/** Why there is nothing to test with the tool here; undefined if it is on the PATH. */
export const noTool = named[0] || findProgram(['terraform', 'tofu']) ? undefined : 'neither terraform nor tofu is here';

/** A gzip tar of files by name. */
export async function archiveOf(files: Record<string, string>): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name } as Header, content);
  archive.finalize();
  return gzipSync((await collect(archive, 1_000_000_000))!);
}

/** Ways of isolation that work here. Determined before the first test, so that others show as skipped. */
export function kindsHere(): IsolationKind[] {
  return isolationKinds.filter((kind) => kind === 'same-user' || worksHere(kind));
}

/**
 * A way of isolation for tests. Ways for users other than root are tested as another user: the job's folders belong to
 * that user, who also starts the commands.
 */
export function isolationHere(kind: IsolationKind, given: IsolationOptions): Isolation {
  const isolation = isolationOf(kind, given);
  if (kind !== 'user-namespace' || process.getuid?.() !== 0) return isolation;
  const { firstUid: uid } = testUids;
  return {
    ...isolation,
    launch(place, tool, command) {
      execFileSync('chown', ['-R', `${uid}:${uid}`, place.folder, place.mountPoint]);
      const { file, args } = isolation.launch(place, tool, command);
      const other = ['--pdeathsig', 'KILL', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--'];
      return { file: 'setpriv', args: [...other, file, ...args] };
    },
  };
}

/** Ways of isolation that work for some user of this machine, with `isolationHere`. */
export function kindsTried(): IsolationKind[] {
  return isolationKinds.filter((kind) => kind === 'same-user' || works(kind, isolationHere(kind, options)));
}

function worksHere(kind: IsolationKind): boolean {
  if ((kind === 'user-namespace') === (process.getuid?.() === 0)) return false;
  return works(kind, isolationOf(kind, options));
}

function works(kind: IsolationKind, isolation: Isolation): boolean {
  if (isolation.ownUid && process.getuid?.() !== 0) return false;
  const at = mkdtempSync(path.join(tmpdir(), 'kinds-'));
  const { firstUid } = testUids;
  const owner = isolation.ownUid ? { uid: firstUid, gid: firstUid } : undefined;
  try {
    chmodSync(at, 0o711);
    const place = { folder: path.join(at, 'box'), mountPoint: path.join(at, 'root'), owner };
    for (const folder of ['root', 'box', 'box/tmp', 'box/home']) {
      mkdirSync(path.join(at, folder), { mode: 0o700 });
      if (owner) chownSync(path.join(at, folder), owner.uid, owner.gid);
    }
    const { file, args } = isolation.launch(place, '', { argv: ['/bin/sh', '-c', 'exit 0'], cwd: '.' });
    const { status, stderr } = spawnSync(file, args, { env: { PATH: cleanPath }, encoding: 'utf8' });
    if (status === 0) return true;
    // If the machine supports everything else, this way itself is broken.
    const allowed =
      kind === 'private-root' && spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0;
    if (allowed) throw new Error(`${kind} does not work, though this machine makes namespaces: ${stderr}`);
    return false;
  } finally {
    rmSync(at, { recursive: true });
  }
}

/** An executor with a separate scratch folder, and what to remove at the end. */
export async function makeExecutor(
  kind: IsolationKind,
  tool: Binary,
  show: readonly string[] = [],
): Promise<Executor & { remove(): void }> {
  if (!isolationKinds.includes(kind)) throw new Error(kind);
  const root = mkdtempSync(path.join(tmpdir(), 'scratch-'));
  await makeScratch(root);
  const confinement = await findConfinement();
  return {
    workerId: 'worker-1',
    installation: 'test',
    isolation: isolationOf(kind, { ...options, show, ...(typeof confinement === 'string' ? {} : { confinement }) }),
    scratch: { root, ...testUids },
    binaries: [tool],
    settings: { text: '', environment: {} },
    schemas: new SchemaCache(1024 * 1024),
    limits: {
      archive: { bytes: 10_000_000, entries: 1000 },
      stateBytes: 10_000_000,
      planBytes: 50_000_000,
      disk: { bytes: 50_000_000, everyMs: 200, graceMs: 20_000 },
    },
    stateEveryMs: 200,
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** The settings of a test's job; the rest is ordinary. */
export interface Asked {
  readonly files?: Record<string, string>;
  readonly planFile?: Uint8Array;
  readonly state?: Uint8Array;
  readonly variables?: readonly Partial<JobVariable>[];
  readonly environment?: Record<string, string>;
  readonly sshKey?: string;
  readonly job?: Partial<RunJob>;
  readonly logLimit?: number;
}

/** A job in progress whose log is kept in memory. */
export async function doing(asked: Asked): Promise<RunningJob & { text(): string; saved: Buffer[] }> {
  const kept: Buffer[] = [];
  const saved: Buffer[] = [];
  const stopping = new Stopping();
  const configuration = await archiveOf(asked.files ?? {});
  const stream = (bytes: Uint8Array | undefined) => async () =>
    bytes ? Readable.from([Buffer.from(bytes)]) : undefined;
  const inputs: JobInputs = {
    variables: (asked.variables ?? []).map((given) => ({ key: '', value: '', hcl: false, sensitive: false, ...given })),
    environment: Object.entries(asked.environment ?? {}).map(([key, value]) => ({
      key,
      value,
      hcl: false,
      sensitive: false,
    })),
    sshKey: asked.sshKey,
    registry: undefined,
    state: stream(asked.state),
    configuration: stream(configuration),
    planFile: stream(asked.planFile),
  };
  const log = new RunLog({
    limit: asked.logLimit ?? 1_000_000,
    keep: async (bytes) => void kept.push(bytes),
    full: () => stopping.kill('output'),
  });
  const saveState = async (state: Buffer) => void saved.push(state);
  return {
    job: { ...job, ...asked.job },
    inputs,
    log,
    stopping,
    saveState,
    saved,
    text: () => Buffer.concat([...kept, log.unsent]).toString(),
  };
}

const job: RunJob = {
  id: 'job-1',
  kind: 'plan',
  runId: 'run-1',
  workspaceId: 'ws-1',
  workspaceName: 'stones',
  organizationId: 'org-1',
  organizationName: 'quarry',
  planId: 'plan-1',
  applyId: 'apply-1',
  attempt: 1,
  configurationBlobId: 'blob-1',
  isDestroy: false,
  refresh: true,
  refreshOnly: false,
  targets: [],
  replaces: [],
  planOnly: false,
  isAssessment: false,
  savePlan: false,
  allowEmptyApply: false,
  generateConfig: false,
  moduleVersions: [],
  infraVersion: '',
  workingDirectory: null,
  varFiles: [],
  debuggingMode: false,
  structuredOutput: false,
  timeoutSeconds: 600,
  variables: [],
};

/** The output of a script that ran like a run, and how it ended. */
export interface Ran {
  readonly code: number | null;
  readonly text: string;
  readonly slot: Slot;
}

/** Runs a shell script like a run, in a separate folder; `during` receives its output. */
export async function runScript(
  isolation: Isolation,
  scratch: ScratchOptions,
  script: string,
  during?: (stopping: Stopping, text: () => string) => Promise<void>,
): Promise<Ran> {
  const slot = await takeSlot(scratch, isolation, 'run-x');
  let text = '';
  const take = (bytes: Buffer) => {
    text += bytes;
  };
  const stopping = new Stopping();
  try {
    const launch = isolation.launch(slot.jobFolder, '', { argv: ['/bin/sh', '-c', script], cwd: 'config' });
    const outlets = { stdout: take, stderr: take };
    const ending = runCommand(launch, { outlets, stopping, endAll: isolation.endAll(slot.jobFolder) });
    await during?.(stopping, () => text);
    return { ...(await ending), text, slot };
  } finally {
    await slot.release();
  }
}

/** Process ids of the machine whose command line contains a string. */
export function processesWith(text: string): string[] {
  try {
    return execFileSync('pgrep', ['-f', text], { encoding: 'utf8' })
      .split('\n')
      .filter((pid) => pid !== '' && pid !== String(process.pid));
  } catch {
    return [];
  }
}

/** Removes the network rules that a test added. */
export function unblock(uids: Uids, place: { port: number; addresses: string[]; local: boolean }): void {
  for (const { program, rule } of firewallRules(uids, place)) spawnSync(program, ['-w', '-D', ...rule]);
  for (const { to: address } of cloudEndpoints) {
    const rule = ['to', address, 'ipproto', 'tcp', 'uidrange', `${uids.first}-${uids.last}`, 'prohibit'];
    spawnSync('ip', [address.includes(':') ? '-6' : '-4', 'rule', 'del', ...rule]);
  }
}
