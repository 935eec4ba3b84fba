import type { Keyring } from '@keystead/keyring';
import type { Bell } from '@keystead/postgres';
import type { Database } from '../../kernel/database/database';
import * as claims from '../../resources/runs/runs/jobs/claims';
import * as credentials from '../../resources/runs/runs/jobs/credentials';
import { jobInputs } from '../../resources/runs/runs/jobs/inputs';
import type {
  ApplyResult,
  Heartbeat,
  JobIdentities,
  JobInputs,
  JobLogin,
  KeptToken,
  PlanResult,
  RunJob,
  SecretsService,
} from '../../resources/runs/runs/jobs/job';
import { append } from '../../resources/runs/runs/jobs/logs';
import * as results from '../../resources/runs/runs/jobs/results';

/**
 * Where a worker takes its jobs from and hands its results in: the database, or a service that is asked over HTTP. What
 * is refused is thrown as a `Refusal`; anything else thrown may be tried again.
 */
export interface JobSource {
  /** The id under which this worker takes jobs. */
  readonly workerId: string;
  /** How long a job is held after a sign of life. */
  readonly leaseSeconds: number;
  /** Takes the next job; may wait for one for some seconds, until `closing` is aborted. Undefined: there is none now. */
  claim(closing: AbortSignal): Promise<RunJob | undefined>;
  /** Keeps a job for another lease. */
  heartbeat(job: RunJob): Promise<Heartbeat>;
  /** Says that a job will not be carried on: `as`, the worker that had it, is dead. It is for others, or over, within seconds. */
  abandon(job: RunJob, as: string): Promise<void>;
  /** The tool is about to run. False: the job is not this worker's any more. */
  started(job: RunJob): Promise<boolean>;
  /** Of a job that was started. */
  inputs(job: RunJob): Promise<JobInputs>;
  /** Adds to the log of a job; one call after the other, each again until it succeeds. */
  appendLog(job: RunJob, bytes: Uint8Array): Promise<void>;
  /** Makes a state the current one while the apply goes on. */
  saveState(job: RunJob, state: Uint8Array): Promise<void>;
  /** Ends a plan. False: it was not this worker's any more. */
  finishPlan(job: RunJob, result: PlanResult): Promise<boolean>;
  /** Ends an apply, `as` the worker that began it. False: it was not that one's any more. */
  finishApply(job: RunJob, result: ApplyResult, as?: string): Promise<boolean>;
  /** Gives back a job that was not started. */
  release(job: RunJob): Promise<void>;
  /** Signs this worker off. */
  retire(): Promise<void>;
  /** Where a job logs in at the secrets service, with its own identity token; undefined if it has no role. */
  login(job: RunJob): Promise<JobLogin | undefined>;
  /** Identity tokens for what runs in a job, while it is held: those its variables ask for. */
  identities(job: RunJob): Promise<JobIdentities>;
  /** Records what a job was given there, so that it ends also when the worker does not live to end it. Answers its id. */
  keepToken(job: RunJob, token: KeptToken): Promise<string>;
  /** Says that it was revoked. */
  forgetToken(job: RunJob, id: string): Promise<void>;
}

/** How often it is looked for a job within a second. */
const looks = 5;
const lookMs = 200;

/** Jobs from the database itself, for workers of the service. */
export function databaseSource(parts: {
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
  const { db, keyring, workerId, leaseSeconds, versions, secrets, issuer, now, bell } = parts;
  return {
    workerId,
    leaseSeconds,
    async claim(closing) {
      const take = () => claims.claimJob(db, keyring, { workerId, leaseSeconds, versions });
      // What is queued now is for others, if it is not given to this worker.
      const known = await claims.newestQueued(db);
      const job = await take();
      if (job) return job;
      for (let look = 0; look < looks && !closing.aborted; look++) {
        const newest = await claims.newestQueued(db);
        if (newest !== '' && newest !== known) return take();
        await bell.next(lookMs, closing);
      }
      return undefined;
    },
    heartbeat: (job) => claims.heartbeat(db, job, { workerId, leaseSeconds }),
    async abandon(job, as) {
      await claims.heartbeat(db, job, { workerId: as, leaseSeconds: 0 });
    },
    started: (job) => claims.started(db, keyring, job, workerId),
    inputs: (job) => jobInputs(db, keyring, job, issuer),
    async appendLog(job, bytes) {
      await append(db, keyring, job, bytes);
    },
    saveState: (job, state) => results.saveState(db, keyring, job, state),
    finishPlan: (job, result) => results.finishPlan(db, keyring, job, workerId, result),
    finishApply: (job, result, as = workerId) => results.finishApply(db, keyring, job, as, result),
    release: (job) => claims.releaseJob(db, job, workerId),
    retire: () => claims.retireWorker(db, workerId),
    login: (job) => credentials.jobLogin({ db, keyring, secrets, issuer, nowMs: now() }, job),
    identities: (job) => credentials.jobIdentities({ db, keyring, secrets, issuer, nowMs: now() }, job, workerId),
    keepToken: (job, token) => credentials.keepToken(db, keyring, job, workerId, token),
    forgetToken: (_job, id) => credentials.forgetToken(db, id),
  };
}
