import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@keystead/server';
import { Course, follow, step, type Tracing } from '@keystead/tracing';
import type { ApplyResult, JobInputs, PlanResult, RunJob, ToolRunResult } from '../../resources/runs/runs/jobs/job';
import { Stopping, Stopwatch } from '../isolation/command';
import { type Executor, executeApply, executePlan, type RunningJob } from '../tool/execute';
import { executeToolRun } from '../tool/execute-tool-run';
import { Concealer, RunLog } from '../tool/run-log';
import { type JobCredentials, NoCredentials } from './credentials';
import type { JobSource } from './job-source';
import { doubling, Failing, retry } from './retry';

/** The parts of a worker. */
export interface WorkerParts {
  readonly source: JobSource;
  readonly executor: Executor;
  readonly log: Logger;
  /** How often a job is checked for cancellation. */
  readonly heartbeatMs: number;
  /** How long the tool may continue after it was interrupted because of a limit. */
  readonly graceSeconds: number;
  readonly logBytes: number;
  readonly tracing?: Tracing;
  /** The credentials for a job's logins elsewhere, as its environment requests. Throws NoCredentials. */
  credentials(job: RunJob, concealer: Concealer, environment: JobInputs['environment']): Promise<JobCredentials>;
  /** Called after each response to a claim or a heartbeat. */
  heard?(): void;
}

/** A job that a worker holds. */
export interface Carrying {
  /** Resolves when no process of the job is left on this machine. Its outcome may not have been accepted yet. */
  readonly executed: Promise<void>;
  readonly done: Promise<void>;
  /** Asks the tool to stop, and kills it a moment later. */
  stop(): void;
}

const longestSaveMs = 15 * 60_000;

/** Carries out one claimed job: fetches its inputs, runs it, and hands in its result. Never throws. */
export function carryOut(parts: WorkerParts, job: RunJob): Carrying {
  const stopping = new Stopping();
  const log = parts.log.child({ job: job.id, run: job.runId, kind: job.kind });
  const span = parts.tracing?.begin(job.kind, 'internal', job.traceparent);
  span?.set({ 'keystead.run_id': job.runId, 'keystead.job_id': job.id, 'keystead.attempt': job.attempt });
  const course = span && new Course(span);
  let tell = (): void => undefined;
  const executed = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const done = follow(course, () => carry(parts, job, { stopping, log, executed: tell })).then(
    (outcome) => {
      if (outcome !== undefined) span?.set({ 'keystead.outcome': outcome });
      span?.end(outcome === 'errored');
    },
    (error) => {
      span?.end(true);
      log.error({ err: error }, 'the job was lost');
    },
  );
  void done.finally(tell);
  return { executed, done, stop: () => stopSoon(stopping, 'shutdown', parts.graceSeconds) };
}

function stopSoon(stopping: Stopping, reason: 'shutdown' | 'timeout' | 'output' | 'lost', graceSeconds: number): void {
  stopping.interrupt(reason);
  setTimeout(() => stopping.kill(reason), graceSeconds * 1000).unref();
}

/** Returns the outcome, if the job has one. */
async function carry(
  parts: WorkerParts,
  job: RunJob,
  { stopping, log, executed }: { stopping: Stopping; log: Logger; executed: () => void },
): Promise<string | undefined> {
  const { source } = parts;
  const startedAtMs = performance.now();
  if (!(await source.started(job))) return undefined;
  const inputs = await source.inputs(job).catch((error) => {
    log.error({ err: error }, 'the inputs of a job could not be read');
    return undefined;
  });
  const toolTime = new Stopwatch();
  log.info({ workspace: job.workspaceName, attempt: job.attempt }, 'started');
  // Heartbeats are not traced, because their traces would contain nothing about the job.
  const beating = follow(undefined, () => keepHold(parts, job, stopping, log));
  const afterwards: (() => Promise<void>)[] = [];
  const handedIn = (then: () => Promise<void>) => void afterwards.push(then);
  const limit = setTimeout(() => stopSoon(stopping, 'timeout', parts.graceSeconds), job.timeoutSeconds * 1000);
  try {
    const result = await execute(parts, job, { inputs, stopping, log, toolTime, handedIn });
    clearTimeout(limit);
    executed();
    // Another worker repeats an unfinished plan once this worker's lease has ended.
    if (job.kind === 'plan' && (stopping.reason === 'lost' || stopping.reason === 'shutdown')) {
      if (result.log) await keepLog(parts, job, result.log.bytes, { stopping, log }).catch(() => undefined);
      return undefined;
    }
    const isReported = await step('hand in', undefined, () => finish(parts, job, result, log));
    const [ms, toolMs] = [performance.now() - startedAtMs, toolTime.ms].map(Math.round);
    log.info({ outcome: result.outcome, kept: isReported, ms, toolMs }, 'finished');
    return result.outcome;
  } finally {
    clearTimeout(limit);
    for (const then of afterwards) await then();
    await beating.stop();
  }
}

type JobResult = PlanResult | ApplyResult | ToolRunResult;

const executions = { plan: executePlan, apply: executeApply, test: executeToolRun, query: executeToolRun } as const;

async function execute(
  parts: WorkerParts,
  job: RunJob,
  {
    inputs,
    stopping,
    log,
    toolTime,
    handedIn,
  }: {
    inputs: JobInputs | undefined;
    stopping: Stopping;
    log: Logger;
    toolTime: Stopwatch;
    handedIn: RunningJob['handedIn'];
  },
): Promise<JobResult> {
  const { source } = parts;
  const failed = (errorMessage: string): JobResult => ({ outcome: 'errored', errorMessage });
  if (!inputs) return failed('the inputs of the run cannot be read; see the log of the worker');
  const concealer = new Concealer();
  if (inputs.registry) concealer.add(inputs.registry.token);
  const credentials = await step('credentials', undefined, () =>
    parts.credentials(job, concealer, inputs.environment),
  ).catch((error: Error) => error);
  const runLog = new RunLog({
    limit: parts.logBytes,
    concealer,
    // The tool waits while the database is unavailable.
    keep: (bytes) => keepLog(parts, job, bytes, { stopping, log }),
    full: () => stopSoon(stopping, 'output', parts.graceSeconds),
  });
  const saveState = async (state: Uint8Array) => {
    await source.saveState(job, state).catch((error) => log.warn({ err: error }, 'state not saved yet'));
  };
  const withLog = async (result: JobResult): Promise<JobResult> => {
    const { state } = result as ApplyResult;
    // The state does not wait for a log that cannot be stored. The result waits for the state, which it contains as well.
    let early: Promise<void> | undefined;
    const timer =
      state &&
      setTimeout(() => {
        early = saveState(state);
      }, parts.heartbeatMs);
    const bytes = await runLog.take();
    clearTimeout(timer);
    await early;
    return { ...result, log: { bytes } };
  };
  if (credentials instanceof Error) {
    if (!(credentials instanceof NoCredentials)) log.error({ err: credentials }, 'no credentials for a run');
    const why = credentials instanceof NoCredentials ? credentials.message : 'the worker failed; see its log';
    runLog.say(`\nError: ${why}`);
    return withLog(failed(why));
  }
  const { identity, remark } = credentials;
  if (remark !== undefined) runLog.say(remark);
  const jobInputs = withCredentials(inputs, credentials);
  const report = (error: unknown) => log.error({ err: error }, 'the run could not be executed');
  const doing = { job, inputs: jobInputs, identity, log: runLog, stopping, toolTime, saveState, report, handedIn };
  try {
    return await withLog(await executions[job.kind](parts.executor, doing));
  } catch (error) {
    report(error);
    runLog.say('\nError: the worker failed; see its log.');
    return await withLog(failed('the worker failed; see its log'));
  } finally {
    await credentials.end().catch(report);
  }
}

/** Appends to the log of a job, and repeats it until it succeeds or the job is killed. */
const keepLog = (
  { source }: WorkerParts,
  job: RunJob,
  bytes: Uint8Array,
  { stopping, log }: { stopping: Stopping; log: Logger },
): Promise<void> => untilTaken(() => source.appendLog(job, bytes), { log, until: () => stopping.killed });

/** Credentials are added to the environment. Variables that users set are kept. */
function withCredentials(inputs: JobInputs, { environment }: JobCredentials): JobInputs {
  const set = new Set(inputs.environment.map(({ key }) => key));
  return { ...inputs, environment: [...inputs.environment, ...environment.filter(({ key }) => !set.has(key))] };
}

/**
 * Renews the lease of a job and checks for its cancellation. A worker that cannot reach the service stops the tool
 * before its lease ends, because another run may then use the workspace.
 */
function keepHold(parts: WorkerParts, job: RunJob, stopping: Stopping, log: Logger): { stop(): Promise<void> } {
  const { source } = parts;
  const { leaseSeconds } = source;
  let heldUntilMs = performance.now() + leaseSeconds * 1000;
  const failing = new Failing(log, 'no heartbeat');
  let isOver = false;
  const ended = new AbortController();
  const beat = async () => {
    const askedAtMs = performance.now();
    try {
      const { mine, cancel } = await source.heartbeat(job);
      parts.heard?.();
      failing.worked();
      if (mine) heldUntilMs = askedAtMs + leaseSeconds * 1000;
      if (cancel === 'force-cancel') stopping.kill('force-canceled');
      else if (!mine) stopping.kill('lost');
      else if (cancel === 'cancel') stopping.interrupt('canceled');
    } catch (error) {
      failing.failed(error);
    }
  };
  const fence = () => {
    if (isOver || stopping.killed) return;
    const leftMs = heldUntilMs - performance.now();
    if (leftMs < 0) stopping.kill('lost');
    else if (leftMs < (leaseSeconds * 1000) / 4) stopping.interrupt('lost');
  };
  const guard = setInterval(fence, Math.min(1000, parts.heartbeatMs));
  const ticking = (async () => {
    // The start of the job was treated as a heartbeat.
    for (;;) {
      await sleep(parts.heartbeatMs, undefined, { signal: ended.signal }).catch(() => undefined);
      if (isOver) return;
      await beat();
    }
  })();
  return {
    async stop() {
      isOver = true;
      clearInterval(guard);
      ended.abort();
      await ticking;
    },
  };
}

/** Hands in a result and retries until it is accepted, because no state may be lost if the database is unavailable. */
async function finish(parts: WorkerParts, job: RunJob, result: JobResult, log: Logger): Promise<boolean> {
  const { source } = parts;
  const giveUpAtMs = performance.now() + longestSaveMs;
  const hand = () => {
    if (job.kind === 'plan') return source.finishPlan(job, result as PlanResult);
    if (job.kind === 'apply') return source.finishApply(job, result as ApplyResult);
    return source.finishToolRun(job, result as ToolRunResult);
  };
  try {
    return await untilTaken(hand, { log, until: () => performance.now() > giveUpAtMs });
  } catch (error) {
    const { state } = result as ApplyResult;
    if (state) log.error({ file: await keepAside(parts, job, state) }, 'the state of an apply is only in this file');
    throw error;
  }
}

async function keepAside({ executor }: WorkerParts, job: RunJob, state: Uint8Array): Promise<string> {
  const folder = path.join(executor.scratch.root, 'unsaved');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, `${job.workspaceId}-${job.runId}.tfstate`);
  await writeFile(file, state, { mode: 0o600 });
  return file;
}

/** Repeats `work`, which hands something in, until it succeeds. */
const untilTaken = <T>(work: () => Promise<T>, { log, until }: { log: Logger; until: () => boolean }): Promise<T> =>
  retry(work, doubling(100, 5000, until), (error) => log.warn({ err: error }, 'not accepted yet: trying again'));
