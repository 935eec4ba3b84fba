import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import { BlobTooLarge } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { describe } from '../runs/jobs/claims';
import type { RunJob, SentState } from '../runs/jobs/job';
import { endApply, finishPlan, finishToolRun, quarantineState, takeState } from '../runs/jobs/results';
import { isToolJob } from '../runs/jobs/tool-jobs';
import type { Health } from '../runs/record-assessment';
import { type Lease, leaseLost, openUpload, requireBegun } from './lease';
import type { Result, UploadName } from './protocol';
import { fromWire } from './wire';

async function jobOf(db: Database, keyring: Keyring, lease: Lease): Promise<RunJob> {
  const found = await describe(db, keyring, lease.id);
  if (!found) throw leaseLost();
  return { ...found, attempt: lease.attempt };
}

/**
 * Makes the state after an apply the current one. Throws the refusal, or `transition` if the agent no longer holds the
 * job. In both cases, the state is quarantined.
 */
export async function saveSent(
  db: Database,
  keyring: Keyring,
  agentId: string,
  lease: Lease,
  state: SentState,
): Promise<void> {
  const job = await jobOf(db, keyring, lease);
  if (job.kind !== 'apply') throw new Refusal('transition', 'only an apply produces a state');
  try {
    await requireBegun(db, agentId, lease);
  } catch (error) {
    await quarantineState(db, keyring, job, state, 'the agent that sent it no longer held the apply');
    throw error;
  }
  await takeState(db, keyring, job, state).catch((error) => {
    throw error instanceof BlobTooLarge ? new Refusal('too-large', error.message) : error;
  });
}

/** Ends a job. Throws `transition` and changes nothing if the agent no longer holds it. */
export async function finishJob(
  db: Database,
  keyring: Keyring,
  agentId: string,
  lease: Lease,
  result: z.infer<typeof Result>,
): Promise<void> {
  const job = await describe(db, keyring, lease.id, { workerId: agentId, attempt: lease.attempt });
  if (!job?.isBegun) throw leaseLost();
  const { outcome, additions, changes, destructions, imports, uploads = {}, files = {} } = result;
  const counts = { additions, changes, destructions, imports };
  const errorMessage = result['error-message'];
  const sent = (name: UploadName) => {
    const file = files[name];
    return file === undefined ? openUpload(keyring, lease, name, uploads[name]) : Buffer.from(file, 'base64');
  };
  const right = isToolJob(job) ? 'finished' : job.kind === 'plan' ? 'planned' : 'applied';
  if (![right, 'errored', 'canceled'].includes(outcome)) {
    throw new Refusal('transition', `the job is of the kind ${job.kind}`);
  }
  const stored = isToolJob(job)
    ? await finishToolRun(db, keyring, job, agentId, { outcome: outcome as 'finished', errorMessage })
    : job.kind === 'plan'
      ? await finishPlan(db, keyring, job, agentId, {
          ...counts,
          outcome: outcome as 'planned',
          hasChanges: result['has-changes'],
          generatedConfiguration: result['generated-configuration'],
          health: result.health && (fromWire(result.health) as unknown as Health),
          requirements: result.requirements,
          errorMessage,
          jsonPlan: sent('json-plan'),
          redactedJsonPlan: sent('redacted-json-plan'),
          planFile: sent('plan-file'),
        })
      : await endApply(db, keyring, job, agentId, {
          ...counts,
          outcome: outcome as 'applied',
          errorMessage,
          lost: result['state-lost'],
          erroredState: sent('errored-state'),
        });
  if (!stored) throw leaseLost();
}
