import type { Keyring } from '@keystead/keyring';
import type { Bell } from '@keystead/postgres';
import type { Database } from '../../kernel/database/database';
import * as claims from '../../resources/runs/runs/jobs/claims';
import { forgetToken, jobIdentities, jobInputs, jobLogin, keepToken } from '../../resources/runs/runs/jobs/inputs';
import type {
  ApplyResult,
  Heartbeat,
  JobEnd,
  JobIdentities,
  JobInputs,
  JobLogin,
  KeptToken,
  PlanResult,
  RunJob,
  SecretsService,
  ToolRunResult,
} from '../../resources/runs/runs/jobs/job';
import { append, endOf } from '../../resources/runs/runs/jobs/logs';
import * as results from '../../resources/runs/runs/jobs/results';
import { finishToolJob } from '../../resources/runs/runs/jobs/tool-jobs';

/**
 * Where a worker gets its jobs and reports their results: the database, or a service over HTTP. Refusals are thrown as
 * `Refusal`. After any other error, the call may be repeated.
 */
export interface JobSource {
  /** The id under which this worker takes jobs. */
  readonly workerId: string;
  /** How long a job is held after a heartbeat. */
  readonly leaseSeconds: number;
  /** Takes the next job. May wait a few seconds, until `closing` is aborted. Undefined if there is no job. */
  claim(closing: AbortSignal): Promise<RunJob | undefined>;
  /** Keeps a job for another lease. */
  heartbeat(job: RunJob): Promise<Heartbeat>;
  /**
   * Reports that a job will not be continued, because its worker `as` is dead. Within seconds, other workers can take
   * the job, or the job is ended.
   */
  abandon(job: RunJob, as: string): Promise<void>;
  /** Reports that the tool is about to run. Returns false if this worker no longer holds the job. */
  started(job: RunJob): Promise<boolean>;
  /** The inputs of a job that was started. */
  inputs(job: RunJob): Promise<JobInputs>;
  /** Appends to the log of a job. Calls run one after the other, and each is repeated until it succeeds. */
  appendLog(job: RunJob, bytes: Uint8Array): Promise<void>;
  /** Makes a state the current one while the apply continues. */
  saveState(job: RunJob, state: Uint8Array): Promise<void>;
  /** Ends a plan. Returns false if this worker no longer held the job. */
  finishPlan(job: RunJob, result: PlanResult): Promise<boolean>;
  /** Ends an apply. `as` is the worker that started it. Returns false if that worker no longer held the job. */
  finishApply(job: RunJob, result: ApplyResult, as?: string): Promise<boolean>;
  /** Ends a test or a query. Returns false if this worker no longer held the job. */
  finishToolRun(job: RunJob, result: ToolRunResult): Promise<boolean>;
  /** Returns a job that was not started. */
  release(job: RunJob): Promise<void>;
  /** Signs this worker off. */
  retire(): Promise<void>;
  /**
   * The data that a job needs to log in at the secrets service, including its identity token; undefined if it has no role.
   */
  login(job: RunJob): Promise<JobLogin | undefined>;
  /** The identity tokens that the variables of a job ask for, while this worker holds the job. */
  identities(job: RunJob): Promise<JobIdentities>;
  /**
   * Records a token that a job received from the secrets service, so that the token ends even if the worker dies first.
   * Returns its id.
   */
  keepToken(job: RunJob, token: KeptToken): Promise<string>;
  /** Reports that the token was revoked. */
  forgetToken(job: RunJob, id: string): Promise<void>;
}

/** How many times a second a source looks for a job. */
const looks = 5;
const lookMs = 200;

/** Jobs from the database, for workers of the service. Each method calls a function in `runs/runs/jobs`. */
export function databaseSource(parts: {
  db: Database;
  keyring: Keyring;
  workerId: string;
  leaseSeconds: number;
  /** The versions of the tool that this worker has. */
  versions: readonly string[];
  /** Undefined if runs that request credentials fail. */
  secrets: SecretsService | undefined;
  /** The issuer of identity tokens: the public address of the service. */
  issuer: string;
  /** Epoch milliseconds. */
  now: () => number;
  /** Rings when a job was queued. */
  bell: Bell;
}): JobSource {
  const { db, keyring, workerId, leaseSeconds, versions, secrets, issuer, now, bell } = parts;
  /** Where the log of each job continues, so that bytes whose storing was not confirmed are not added twice. */
  const ends = new WeakMap<RunJob, bigint>();
  const placed = <R extends JobEnd>(job: RunJob, result: R): R =>
    result.log ? { ...result, log: { ...result.log, offset: ends.get(job) } } : result;
  return {
    workerId,
    leaseSeconds,
    async claim(closing) {
      const take = () => claims.claimJob(db, keyring, { workerId, leaseSeconds, versions });
      // If this worker gets no job now, all jobs queued so far are for other workers.
      const previous = await claims.newestQueued(db);
      const job = await take();
      if (job) return job;
      for (let look = 0; look < looks && !closing.aborted; look++) {
        const newest = await claims.newestQueued(db);
        if (newest !== '' && newest !== previous) return take();
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
      if (bytes.length === 0) return;
      const offset = ends.get(job) ?? (await endOf(db, job));
      ends.set(job, offset);
      const appended = await append(db, keyring, job, bytes, offset);
      // A standby that was promoted may not have the last pieces.
      if (appended?.gap) {
        ends.set(job, appended.size);
        await append(db, keyring, job, bytes, appended.size);
      }
      ends.set(job, ends.get(job)! + BigInt(bytes.length));
    },
    saveState: (job, state) => results.saveState(db, keyring, job, state),
    finishPlan: (job, result) => results.finishPlan(db, keyring, job, workerId, placed(job, result)),
    finishApply: (job, result, as = workerId) => results.finishApply(db, keyring, job, as, placed(job, result)),
    finishToolRun: (job, result) => finishToolJob(db, keyring, job, workerId, placed(job, result)),
    release: (job) => claims.releaseJob(db, job, workerId),
    retire: () => claims.retireWorker(db, workerId),
    login: (job) => jobLogin({ db, keyring, secrets, issuer, nowMs: now() }, job),
    identities: (job) => jobIdentities({ db, keyring, secrets, issuer, nowMs: now() }, job, workerId),
    keepToken: (job, token) => keepToken(db, keyring, job, workerId, token),
    forgetToken: (_job, id) => forgetToken(db, id),
  };
}
