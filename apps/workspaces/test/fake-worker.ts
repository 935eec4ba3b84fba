import { strict as assert } from 'node:assert';
import * as claims from '../src/resources/runs/runs/jobs/claims';
import { jobInputs } from '../src/resources/runs/runs/jobs/inputs';
import type { ApplyResult, PlanResult, RunJob, ToolRunResult } from '../src/resources/runs/runs/jobs/job';
import { append } from '../src/resources/runs/runs/jobs/logs';
import * as results from '../src/resources/runs/runs/jobs/results';
import { finishToolJob } from '../src/resources/runs/runs/jobs/tool-jobs';
import type { Workspaces } from './start-workspaces';

let counter = 0;

/** A worker that claims jobs like a real one, and reports what a test wants it to. */
export function fakeWorker(
  workspaces: Pick<Workspaces, 'service'>,
  workerId = `worker-${++counter}`,
  versions = ['1.11.4'],
) {
  const db = () => workspaces.service.db;
  const keyring = () => workspaces.service.env.keyring;
  const by = { workerId, leaseSeconds: 60, versions };
  const worker = {
    workerId,
    claim: () => claims.claimJob(db(), keyring(), by),
    /** Claims the next job, which must be there. */
    async take(kind: RunJob['kind']): Promise<RunJob> {
      const job = await worker.claim();
      assert.equal(job?.kind, kind);
      return job;
    },
    heartbeat: (job: RunJob) => claims.heartbeat(db(), job, by),
    start: (job: RunJob) => claims.started(db(), keyring(), job, workerId),
    log: (job: RunJob, text: string) => append(db(), keyring(), job, Buffer.from(text)),
    inputs: (job: RunJob, publicUrl = 'https://workspaces.test') => jobInputs(db(), keyring(), job, publicUrl),
    endPlan: (job: RunJob, result: PlanResult) => results.finishPlan(db(), keyring(), job, workerId, result),
    endApply: (job: RunJob, result: ApplyResult) => results.finishApply(db(), keyring(), job, workerId, result),
    endToolRun: (job: RunJob, result: ToolRunResult) => finishToolJob(db(), keyring(), job, workerId, result),
    saveState: (job: RunJob, state: Uint8Array) => results.saveState(db(), keyring(), job, state),
    release: (job: RunJob) => claims.releaseJob(db(), job, workerId),
    retire: () => claims.retireWorker(db(), workerId),
    /** Plans the next run: with changes by default. */
    async plan(result: Partial<PlanResult> = {}): Promise<RunJob> {
      const job = await worker.take('plan');
      assert.ok(await worker.start(job));
      await worker.log(job, 'Terraform will perform the following actions\n');
      const planFile = Buffer.from('plan file');
      assert.ok(await worker.endPlan(job, { outcome: 'planned', hasChanges: true, additions: 1, planFile, ...result }));
      return job;
    },
    /** Applies the next run. */
    async apply(result: Partial<ApplyResult> = {}): Promise<RunJob> {
      const job = await worker.take('apply');
      assert.ok(await worker.start(job));
      assert.ok(await worker.endApply(job, { outcome: 'applied', additions: 1, ...result }));
      return job;
    },
  };
  return worker;
}
