import { createHash } from 'node:crypto';
import { parseExact } from '@keystead/envelope';
import { exitCodes, Problem } from '../problem';
import { attempt, type Import, listOrReport } from './import';
import { Refused } from './refused';
import type { RemoteResource } from './resource';

/** The reason given for our locks, by which a later run recognises the lock of an interrupted one. */
const REASON = 'keystead import';
/** A state up to this size is sent in the request that creates it: one step, without the service's public address. */
const INLINE_BYTES = 4 * 1024 * 1024;

/** A workspace on both servers. `made` is undefined if it is only planned. */
interface Pair {
  organization: string;
  source: RemoteResource;
  target: RemoteResource | undefined;
}

interface StateCopy {
  version: RemoteResource;
  /** The state's serial does not follow the previous one: the state was rolled back to it. */
  force: boolean;
}

const serialOf = (version: RemoteResource) => BigInt(String(version.attributes.serial));
const bySerial = (a: RemoteResource, b: RemoteResource) =>
  Number(serialOf(a) - serialOf(b)) ||
  String(a.attributes['created-at']).localeCompare(String(b.attributes['created-at']));
const isWhole = ({ attributes: { status } }: RemoteResource) => status === undefined || status === 'finalized';

/** Copies the states of a workspace in the order of their serials; existing ones are not changed. */
export async function copyStates(job: Import, label: string, pair: Pair): Promise<void> {
  const statesToCopy = await statesThere(job, label, pair);
  if (statesToCopy.length === 0) return;
  const name = String(pair.source.attributes.name);
  const present = pair.target ? (await job.to.list(listOf(pair.organization, name))).filter(isWhole).map(serialOf) : [];
  const { steps, late } = stepsOf(statesToCopy, present);
  job.report.skip('state version', statesToCopy.length - steps.length - late);
  if (late > 0) job.report.manualStep(`${label}: ${late} states are older than the newest here and were left out`);
  if (job.plan || !pair.target) return job.report.add('state version', steps.length);
  if (steps.length > 0) await upload(job, label, pair.target.id, steps);
}

const listOf = (organization: string, name: string) =>
  `state-versions?filter%5Borganization%5D%5Bname%5D=${encodeURIComponent(organization)}` +
  `&filter%5Bworkspace%5D%5Bname%5D=${encodeURIComponent(name)}`;

/** The states to copy, oldest first. The current state is last, regardless of its serial. */
async function statesThere(job: Import, label: string, { organization, source }: Pair): Promise<RemoteResource[]> {
  const current = await job.from.find(`workspaces/${source.id}/current-state-version`);
  if (!current) return [];
  if (!job.history) return [current];
  const all = await listOrReport(job, 'state versions', label, listOf(organization, String(source.attributes.name)));
  const older = all.filter((version) => version.id !== current.id && isWhole(version));
  return [...older.sort(bySerial), current];
}

/** The states left to copy, and the number of those that can no longer be added because newer ones exist here. */
function stepsOf(
  statesToCopy: readonly RemoteResource[],
  present: readonly bigint[],
): { steps: StateCopy[]; late: number } {
  const here = new Map<bigint, number>();
  for (const serial of present) here.set(serial, (here.get(serial) ?? 0) + 1);
  let newest = -1n;
  for (const serial of present) if (serial > newest) newest = serial;
  const onlyTheirs = present.every((serial) => statesToCopy.some((version) => serialOf(version) === serial));
  const steps: StateCopy[] = [];
  let late = 0;
  for (const version of statesToCopy) {
    const serial = serialOf(version);
    const times = here.get(serial) ?? 0;
    if (times > 0) {
      here.set(serial, times - 1);
      continue;
    }
    const isCurrent = version === statesToCopy.at(-1);
    if (serial <= newest && steps.length === 0 && !(isCurrent && onlyTheirs && statesToCopy.length > 1)) {
      late += 1;
      continue;
    }
    steps.push({ version, force: serial <= newest });
    if (serial > newest) newest = serial;
  }
  return { steps, late };
}

async function upload(job: Import, label: string, to: string, steps: readonly StateCopy[]): Promise<void> {
  await lock(job, to);
  try {
    for (const [done, step] of steps.entries()) {
      if (done > 0) job.progress.about(`workspace ${label}, state ${done + 1} of ${steps.length}`);
      await copyState(job, label, step, to);
    }
  } finally {
    await attempt(job, label, () => job.to.act(`workspaces/${to}/actions/unlock`));
  }
}

async function lock(job: Import, to: string): Promise<void> {
  try {
    await job.to.act(`workspaces/${to}/actions/lock`, { reason: REASON });
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409) throw error;
    const { attributes } = await job.to.get(`workspaces/${to}`);
    if (attributes['locked-reason'] !== REASON) throw error;
  }
}

async function copyState(job: Import, label: string, { version, force }: StateCopy, to: string): Promise<void> {
  const url = version.attributes['hosted-state-download-url'];
  const bytes = typeof url === 'string' && url !== '' ? await job.from.download(url) : undefined;
  const { serial, size } = version.attributes;
  if (!bytes)
    return job.report.manualStep(`${label}: the source no longer has the content of the state with serial ${serial}`);
  const state = stateIn(bytes);
  if (!state) return job.report.manualStep(`${label}: the file of the state with serial ${serial} is not a state`);
  if (typeof size === 'number' && size > 0 && size !== bytes.length) {
    const message = `${label}: the source sent ${bytes.length} bytes instead of ${size} for the state with serial ${serial}`;
    throw new Problem(message, exitCodes.unreachable);
  }
  const created = await job.to.create(`workspaces/${to}/state-versions`, {
    type: 'state-versions',
    attributes: {
      // The serial and the lineage in the file take precedence over those in the list.
      serial: state.serial ?? serial,
      md5: createHash('md5').update(bytes).digest('hex'),
      ...(typeof state.lineage === 'string' && state.lineage !== '' ? { lineage: state.lineage } : {}),
      ...(force ? { force } : {}),
      ...(bytes.length <= INLINE_BYTES ? { state: bytes.toString('base64') } : {}),
    },
  });
  const target = created.attributes['hosted-state-upload-url'];
  // There is no upload link if the state was sent with the request, or uploaded before.
  if (typeof target === 'string') await job.to.upload(target, bytes);
  job.report.add('state version');
}

function stateIn(bytes: Buffer): { serial?: unknown; lineage?: unknown } | undefined {
  try {
    const parsed = parseExact(bytes.toString('utf8'));
    const isState =
      typeof parsed === 'object' && parsed !== null && ('version' in parsed || 'encrypted_data' in parsed);
    return isState ? (parsed as { serial?: unknown; lineage?: unknown }) : undefined;
  } catch {
    return undefined;
  }
}
