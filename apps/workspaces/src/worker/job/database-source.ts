import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../kernel/database/database';
import type { JobBoard, SecretsService } from '../../resources/runs/runs/jobs/jobs';
import type { JobSource } from './job-source';

/** Jobs from the database itself, for workers of the service. */
export function databaseSource(parts: {
  board: JobBoard;
  db: Database;
  keyring: Keyring;
  workerId: string;
  leaseSeconds: number;
  /** Of the tool, that this worker has. */
  versions: readonly string[];
  /** Undefined: runs that ask for credentials fail. */
  secrets: SecretsService | undefined;
  /** Epoch milliseconds. */
  now: () => number;
}): JobSource {
  const { board, db, keyring, workerId, leaseSeconds, versions, secrets, now } = parts;
  return {
    workerId,
    leaseSeconds,
    claim: () => board.claimJob(db, keyring, { workerId, leaseSeconds, versions }),
    heartbeat: (job) => board.heartbeat(db, job, { workerId, leaseSeconds }),
    started: (job) => board.started(db, keyring, job, workerId),
    inputs: (job) => board.jobInputs(db, keyring, job),
    async appendLog(job, bytes) {
      await board.appendLog(db, keyring, job, bytes);
    },
    saveState: (job, state) => board.saveState(db, keyring, job, state),
    finishPlan: (job, result) => board.finishPlan(db, keyring, job, workerId, result),
    finishApply: (job, result, as = workerId) => board.finishApply(db, keyring, job, as, result),
    release: (job) => board.releaseJob(db, job, workerId),
    retire: () => board.retireWorker(db, workerId),
    login: (job) => board.jobLogin({ db, keyring, secrets, nowMs: now() }, job),
    keepToken: (job, token) => board.keepToken(db, keyring, job, workerId, token),
    forgetToken: (_job, id) => board.forgetToken(db, id),
  };
}
