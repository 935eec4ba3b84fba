import { createHash } from 'node:crypto';
import { readInside } from '../files/read-inside';
import { type Leftover, sweepScratch } from '../isolation/scratch';
import type { Note } from '../tool/execute';
import { stateFile } from '../tool/job-files';
import type { WorkerParts } from './carry-out';

/**
 * Cleans up after workers of this machine that died: their processes, their folders, and their jobs, so that no one
 * waits for them. The state of an unfinished apply is uploaded first: as the run's own if the job was not given to
 * another worker, otherwise to quarantine.
 */
export async function recoverStates(parts: WorkerParts): Promise<void> {
  const { executor, log } = parts;
  const removed = await sweepScratch(executor.scratch, executor.isolation, (leftover) => handIn(parts, leftover));
  if (removed.length > 0) log.warn({ folders: removed.length }, 'cleaned up after a worker that was killed');
}

async function handIn(parts: WorkerParts, { jobFolder, note }: Leftover): Promise<void> {
  const { source, log, executor } = parts;
  const { job, workerId, installation, applies, stateMd5 } = (note ?? {}) as Note;
  if (!job || !workerId) return;
  const isOurs = installation === executor.installation;
  if (!applies) return isOurs ? source.abandon(job, workerId) : undefined;
  const limit = executor.limits.stateBytes;
  const left = await readInside(jobFolder.folder, stateFile(job), { limit, uid: jobFolder.owner?.uid });
  const isNew = left !== undefined && createHash('md5').update(left).digest('hex') !== stateMd5;
  if (!isOurs && isNew) throw new Error('the state of another installation, left for its workers');
  if (!isOurs) return;
  const found = isNew
    ? 'the state it left was found'
    : 'it left no newer state, so compare the infrastructure with the state';
  const result = {
    outcome: 'errored',
    ...(isNew ? { state: left } : {}),
    errorMessage: `The worker was killed while applying; ${found}`,
  } as const;
  try {
    const own = await source.finishApply(job, result, workerId);
    log.warn({ run: job.runId, own, state: isNew }, 'an interrupted apply was ended');
  } catch (error) {
    log.error({ err: error, run: job.runId }, 'an interrupted apply could not be ended');
    throw error;
  }
}
