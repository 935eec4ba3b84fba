import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../kernel/database';
import { claimJob, heartbeat, releaseJob, retireWorker, started } from './claims';
import { jobInputs } from './inputs';
import type { JobBoard, RunJob } from './job';
import { append } from './logs';
import { finishApply, finishPlan, saveState } from './results';

export type { ApplyResult, Bytes, Heartbeat, JobBoard, JobInputs, JobVariable, PlanResult, RunJob } from './job';

const appendLog = (db: Database, keyring: Keyring, { kind, planId, applyId }: RunJob, bytes: Uint8Array) =>
  append(db, keyring, kind === 'plan' ? planId : applyId, bytes);

/** All that a worker process needs of this service. */
export const jobBoard: JobBoard = {
  claimJob,
  heartbeat,
  started,
  jobInputs,
  appendLog,
  saveState,
  finishPlan,
  finishApply,
  releaseJob,
  retireWorker,
};
