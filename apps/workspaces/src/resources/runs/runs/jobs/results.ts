import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { parseExact } from '@keystead/envelope';
import type { Keyring } from '@keystead/keyring';
import { isRefusal } from '@keystead/refusal';
import type { Actor } from '../../../../kernel/audit/audit';
import { dropBlobs, keepBlob, writeBlob } from '../../../../kernel/blobs/blobs';
import type { Database } from '../../../../kernel/database/database';
import * as quarantine from '../../../states/state-versions/quarantine';
import { serialIn } from '../../../states/state-versions/scanner/parse-state';
import * as states from '../../../states/state-versions/service';
import { uploadRaw } from '../../../states/state-versions/upload';
import { requireWorkspace } from '../../../workspaces/workspaces/workspace';
import { afterPlan, finish } from '../queue';
import { noteRequirements } from '../requirements';
import type { LockedRun } from '../run';
import { noteApplied } from '../run-triggers';
import { lockRunIfThere, movePhase, recordEvent } from '../transition';
import { type ApplyResult, type Bytes, isMine, type PlanResult, type RunJob, type SentState } from './job';
import { appendEnd } from './logs';

const limit = 1024 * 1024 * 1024;

async function stored(db: Database, keyring: Keyring, bytes: Bytes | undefined): Promise<string | null> {
  if (bytes === undefined) return null;
  if ('blobId' in bytes) return bytes.blobId;
  const source = bytes instanceof Uint8Array ? Readable.from([bytes]) : bytes;
  return (await writeBlob(db, keyring, source, { limit, provisional: true })).id;
}

const present = (ids: readonly (string | null)[]): string[] => ids.filter((id) => id !== null);

/** Ends the job and records how long it took. Returns whether someone had requested its end. */
async function endJob(tx: Database, job: RunJob): Promise<boolean> {
  const [ended] = await tx.prisma.$queryRaw<{ cancel: string }[]>`
    WITH j AS (
      UPDATE run_job SET state = 'done' WHERE id = ${job.id}
      RETURNING run_id, kind, cancel, (extract(epoch FROM now() - started_at) * 1000)::int AS ms)
    UPDATE run SET plan_ms = CASE WHEN j.kind = 'plan' THEN j.ms ELSE plan_ms END,
                   apply_ms = CASE WHEN j.kind = 'apply' THEN j.ms ELSE apply_ms END
      FROM j WHERE run.id = j.run_id RETURNING j.cancel`;
  return ended?.cancel !== 'no';
}

const counts = ({ additions, changes, destructions, imports }: PlanResult | ApplyResult) => ({
  additions,
  changes,
  destructions,
  imports,
});

/** Ends a plan job. Returns false and changes nothing if this worker no longer holds it. */
export async function finishPlan(
  db: Database,
  keyring: Keyring,
  job: RunJob,
  workerId: string,
  result: PlanResult,
): Promise<boolean> {
  const planned = result.outcome === 'planned';
  const blobs = {
    jsonBlobId: planned ? await stored(db, keyring, result.jsonPlan) : null,
    redactedBlobId: planned ? await stored(db, keyring, result.redactedJsonPlan) : null,
    planBlobId: planned ? await stored(db, keyring, result.planFile) : null,
  };
  const accepted = await db.transaction(async (tx) => {
    const run = await lockRunIfThere(tx, keyring, job.runId);
    if (!run || !(await isMine(tx, job, workerId))) return false;
    await appendEnd(tx, keyring, job, result.log);
    const isCanceled = await endJob(tx, job);
    if (!planned || isCanceled) {
      await endUnsuccessful(tx, run, job.planId, result);
      return planned ? 'dropped' : true;
    }
    await keepBlob(tx, ...present(Object.values(blobs)));
    await movePhase(tx, job.planId, 'finished', {
      ...blobs,
      ...counts(result),
      hasChanges: result.hasChanges === true,
      generatedConfiguration: result.generatedConfiguration === true,
      ...(run.isAssessment && result.health ? { health: { ...result.health } } : {}),
    });
    await noteRequirements(tx, run, result.requirements);
    await afterPlan(tx, run, result.hasChanges === true);
    return true;
  });
  if (accepted !== true) await dropBlobs(db, present(Object.values(blobs)));
  return accepted !== false;
}

async function endUnsuccessful(
  tx: Database,
  run: LockedRun,
  phaseId: string,
  { outcome, errorMessage }: Pick<PlanResult | ApplyResult, 'outcome' | 'errorMessage'>,
): Promise<void> {
  const status = outcome === 'errored' ? 'errored' : 'canceled';
  await movePhase(tx, phaseId, status, { errorMessage });
  await finish(tx, run, status, { reason: errorMessage });
}

const holderOf = (runId: string): Actor => ({ type: 'runs', id: runId, name: runId });

/** The serial and the lineage that a state contains. */
function headOf(state: Uint8Array): { serial: bigint; lineage: string | null } {
  const { serial, lineage } = parseExact(Buffer.from(state).toString('utf8')) as { serial?: unknown; lineage?: string };
  return { serial: serialIn(serial) ?? 0n, lineage: lineage ?? null };
}

/**
 * Makes a state the current one, on behalf of the run that holds the workspace's lock. If the state is refused, throws
 * the refusal and quarantines the state.
 */
export async function saveState(db: Database, keyring: Keyring, job: RunJob, state: Uint8Array): Promise<void> {
  const md5 = createHash('md5').update(state).digest('hex');
  await takeState(db, keyring, job, { ...headOf(state), md5, bytes: Readable.from([state]) });
}

/** Stores a refused state in quarantine, for as long as other refused states. */
export async function quarantineState(
  db: Database,
  keyring: Keyring,
  job: Pick<RunJob, 'runId' | 'workspaceId'>,
  { serial, lineage, md5, bytes }: SentState,
  reason: string,
): Promise<void> {
  const workspace = await requireWorkspace(db, job.workspaceId);
  const blob = await writeBlob(db, keyring, bytes, { limit, provisional: true });
  await quarantine.keep(db, holderOf(job.runId), workspace, { serial, lineage, md5, force: false }, blob, reason);
}

/** Like `saveState`, for a state whose bytes arrive as a stream. */
export async function takeState(db: Database, keyring: Keyring, job: RunJob, state: SentState): Promise<void> {
  const workspace = await requireWorkspace(db, job.workspaceId);
  const { serial, lineage, md5, bytes } = state;
  const current = workspace.currentStateVersionId
    ? await db.prisma.stateVersion.findUnique({ where: { id: workspace.currentStateVersionId } })
    : null;
  if (current?.md5 === md5) return;
  const input = { serial, lineage, md5, run: job.runId };
  const actor = holderOf(job.runId);
  const version = await states.create(db, { keyring }, actor, workspace, input).catch(async (error: Error) => {
    // The state was refused before its bytes were read, for example because the run has lost the lock. The bytes are
    // stored nevertheless.
    await quarantineState(db, keyring, job, state, error.message);
    throw error;
  });
  await uploadRaw(db, { keyring }, version, bytes, limit);
  const run = await db.prisma.run.findUnique({ where: { id: job.runId } });
  if (!run?.createdById) return;
  // The run held the lock. The author of the version is the user who started the run.
  const by = { createdByType: run.createdByType, createdById: run.createdById };
  await db.prisma.stateVersion.update({ where: { id: version.id }, data: by });
}

/**
 * Ends an apply job. If this worker no longer holds it, stores the state of the result in quarantine and returns false.
 */
export async function finishApply(
  db: Database,
  keyring: Keyring,
  job: RunJob,
  workerId: string,
  result: ApplyResult,
): Promise<boolean> {
  const lost = result.state && (await saveOrSay(db, keyring, job, result.state));
  const erroredState = lost ? result.state : result.erroredState;
  return endApply(db, keyring, job, workerId, { ...result, erroredState, lost });
}

/** Ends an apply job whose state was uploaded before. `lost` is the reason if the state was refused. */
export async function endApply(
  db: Database,
  keyring: Keyring,
  job: RunJob,
  workerId: string,
  result: Omit<ApplyResult, 'state'> & { readonly lost?: string },
): Promise<boolean> {
  const { lost } = result;
  const stateBlobId = await stored(db, keyring, result.erroredState);
  const errorMessage = [lost, result.errorMessage].filter(Boolean).join('. ') || undefined;
  const accepted = await db.transaction(async (tx) => {
    const run = await lockRunIfThere(tx, keyring, job.runId);
    if (!run || !(await isMine(tx, job, workerId))) return false;
    await appendEnd(tx, keyring, job, result.log);
    await endJob(tx, job);
    await keepBlob(tx, ...present([stateBlobId]));
    await tx.prisma.runPhase.update({ where: { id: job.applyId }, data: { ...counts(result), stateBlobId } });
    if (lost) await recordEvent(tx, run.id, 'state-lost', { description: lost });
    if (lost || result.outcome !== 'applied') {
      await endUnsuccessful(tx, run, job.applyId, { outcome: lost ? 'errored' : result.outcome, errorMessage });
      return true;
    }
    await movePhase(tx, job.applyId, 'finished');
    if (run.configurationVersionId) await workAt(tx, run.workspaceId, run.configurationVersionId);
    await noteApplied(tx, run);
    await finish(tx, run, 'applied');
    return true;
  });
  if (!accepted) await dropBlobs(db, present([stateBlobId]));
  return accepted;
}

/**
 * Records the configuration that was just applied as the current configuration of the workspace, which also shows the
 * README.md in it.
 */
async function workAt(tx: Database, workspaceId: string, configurationId: string): Promise<void> {
  const where = { id: configurationId, blobId: { not: null }, readmeBlobId: { not: null } };
  const readmeId = (await tx.prisma.configurationVersion.count({ where })) > 0 ? configurationId : null;
  const data = { currentConfigurationId: configurationId, readmeId };
  await tx.prisma.workspace.update({ where: { id: workspaceId }, data });
}

/**
 * Saves the state after an apply. If the state is refused, returns the reason, and people can download it as the
 * errored state.
 */
async function saveOrSay(db: Database, keyring: Keyring, job: RunJob, state: Uint8Array): Promise<string | undefined> {
  try {
    await saveState(db, keyring, job, state);
    return undefined;
  } catch (error) {
    if (!isRefusal(error) && !(error instanceof SyntaxError)) throw error;
    const why = error.message === '' ? 'its workspace no longer exists' : error.message;
    return `The state after the apply could not be saved: ${why}`;
  }
}
