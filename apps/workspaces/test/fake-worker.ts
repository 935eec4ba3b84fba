import { strict as assert } from 'node:assert';
import { type ApplyResult, jobBoard, type PlanResult, type RunJob } from '../src/resources/runs/runs/jobs/jobs';
import type { Workspaces } from './start-workspaces';

let counter = 0;

/** A worker that claims jobs as a real one does, and reports what a test wants it to. */
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
    claim: () => jobBoard.claimJob(db(), keyring(), by),
    /** Claims the next job, which must be there. */
    async take(kind: RunJob['kind']): Promise<RunJob> {
      const job = await worker.claim();
      assert.equal(job?.kind, kind);
      return job;
    },
    heartbeat: (job: RunJob) => jobBoard.heartbeat(db(), job, by),
    start: (job: RunJob) => jobBoard.started(db(), keyring(), job, workerId),
    log: (job: RunJob, text: string) => jobBoard.appendLog(db(), keyring(), job, Buffer.from(text)),
    inputs: (job: RunJob, publicUrl = 'https://workspaces.test') => jobBoard.jobInputs(db(), keyring(), job, publicUrl),
    endPlan: (job: RunJob, result: PlanResult) => jobBoard.finishPlan(db(), keyring(), job, workerId, result),
    endApply: (job: RunJob, result: ApplyResult) => jobBoard.finishApply(db(), keyring(), job, workerId, result),
    saveState: (job: RunJob, state: Uint8Array) => jobBoard.saveState(db(), keyring(), job, state),
    release: (job: RunJob) => jobBoard.releaseJob(db(), job, workerId),
    retire: () => jobBoard.retireWorker(db(), workerId),
    /** Plans the next run: with changes, unless told otherwise. */
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
