import { claimJob, heartbeat, newestQueued, releaseJob, retireWorker, started } from './claims';
import { forgetToken, jobIdentities, jobLogin, keepToken } from './credentials';
import { jobInputs } from './inputs';
import type { JobBoard } from './job';
import { append } from './logs';
import { finishApply, finishPlan, saveState } from './results';

export type {
  ApplyResult,
  Heartbeat,
  JobBoard,
  JobIdentities,
  JobInputs,
  JobLogin,
  JobVariable,
  KeptToken,
  PlanResult,
  RunJob,
} from './job';
export type { SecretsService } from './secrets-service';

/** Everything that a worker process needs of this service. */
export const jobBoard: JobBoard = {
  claimJob,
  newestQueued,
  heartbeat,
  started,
  jobInputs,
  appendLog: append,
  saveState,
  finishPlan,
  finishApply,
  releaseJob,
  retireWorker,
  jobLogin,
  jobIdentities,
  keepToken,
  forgetToken,
};
