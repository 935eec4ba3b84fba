import type { Keyring } from '@keystead/keyring';
import type { Bell } from '@keystead/postgres';
import type { Database } from '../../kernel/database/database';
import type { JobBoard, SecretsService } from '../../resources/runs/runs/jobs/jobs';
import type { JobSource } from './job-source';

/** How often it is looked for a job within a second. */
const looks = 5;
const lookMs = 200;

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
  /** Who signs identity tokens: the public address of the service. */
  issuer: string;
  /** Epoch milliseconds. */
  now: () => number;
  /** Rung when a job was queued. */
  bell: Bell;
}): JobSource {
  const { board, db, keyring, workerId, leaseSeconds, versions, secrets, issuer, now, bell } = parts;
  return {
    workerId,
    leaseSeconds,
    async claim(closing) {
      const take = () => board.claimJob(db, keyring, { workerId, leaseSeconds, versions });
      // What is queued now is for others, if it is not given to this worker.
      const known = await board.newestQueued(db);
      const job = await take();
      if (job) return job;
      for (let look = 0; look < looks && !closing.aborted; look++) {
        const newest = await board.newestQueued(db);
        if (newest !== '' && newest !== known) return take();
        await bell.next(lookMs, closing);
      }
      return undefined;
    },
    heartbeat: (job) => board.heartbeat(db, job, { workerId, leaseSeconds }),
    async abandon(job, as) {
      await board.heartbeat(db, job, { workerId: as, leaseSeconds: 0 });
    },
    started: (job) => board.started(db, keyring, job, workerId),
    inputs: (job) => board.jobInputs(db, keyring, job, issuer),
    async appendLog(job, bytes) {
      await board.appendLog(db, keyring, job, bytes);
    },
    saveState: (job, state) => board.saveState(db, keyring, job, state),
    finishPlan: (job, result) => board.finishPlan(db, keyring, job, workerId, result),
    finishApply: (job, result, as = workerId) => board.finishApply(db, keyring, job, as, result),
    release: (job) => board.releaseJob(db, job, workerId),
    retire: () => board.retireWorker(db, workerId),
    login: (job) => board.jobLogin({ db, keyring, secrets, issuer, nowMs: now() }, job),
    identities: (job) => board.jobIdentities({ db, keyring, secrets, issuer, nowMs: now() }, job, workerId),
    keepToken: (job, token) => board.keepToken(db, keyring, job, workerId, token),
    forgetToken: (_job, id) => board.forgetToken(db, id),
  };
}
