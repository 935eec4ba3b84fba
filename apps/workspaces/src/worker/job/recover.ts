import { createHash } from 'node:crypto';
import { readInside } from '../files/read-inside';
import { type Leftover, sweepScratch } from '../isolation/scratch';
import type { Note } from '../tool/execute';
import { stateFile } from '../tool/job-files';
import type { WorkerParts } from './carry-out';

/**
 * Cleans up after workers of this machine that did not live to do it: their processes, their folders. The state of an
 * apply that was under way is handed in first: as the run's own while nobody else was given the job, else to quarantine.
 */
export async function recoverStates(parts: WorkerParts): Promise<void> {
  const { executor, log } = parts;
  const removed = await sweepScratch(executor.scratch, executor.isolation, (leftover) => handIn(parts, leftover));
  if (removed.length > 0) log.warn({ folders: removed.length }, 'cleaned up after a worker that was killed');
}

async function handIn(parts: WorkerParts, { jobFolder, note }: Leftover): Promise<void> {
  const { source, log, executor } = parts;
  const { job, workerId, installation, stateMd5 } = (note ?? {}) as Note;
  if (job?.kind !== 'apply' || !workerId) return;
  if (installation !== executor.installation)
    throw new Error('the state of another installation, left for its workers');
  const limit = executor.limits.stateBytes;
  const state = await readInside(jobFolder.folder, stateFile(job), { limit, uid: jobFolder.owner?.uid });
  if (!state || createHash('md5').update(state).digest('hex') === stateMd5) return;
  const errorMessage = 'The worker was killed while applying; the state it left was found';
  try {
    const result = { outcome: 'errored', state, errorMessage } as const;
    const own = await source.finishApply(job, result, workerId);
    log.warn({ run: job.runId, own }, 'the state of an interrupted apply was handed in');
  } catch (error) {
    log.error({ err: error, run: job.runId }, 'the state of an interrupted apply was not taken');
    throw error;
  }
}
