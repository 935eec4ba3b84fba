import type {
  ApplyResult,
  Heartbeat,
  JobIdentities,
  JobInputs,
  JobLogin,
  KeptToken,
  PlanResult,
  RunJob,
} from '../../resources/runs/runs/jobs/jobs';

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
