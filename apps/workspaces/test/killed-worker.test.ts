import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Bell } from '@keystead/postgres';
import { createLogger } from '@keystead/server';
import type { RunJob } from '../src/resources/runs/runs/jobs/job';
import { takeSlot } from '../src/worker/isolation/scratch';
import type { WorkerParts } from '../src/worker/job/carry-out';
import { databaseSource } from '../src/worker/job/job-source';
import { recoverStates } from '../src/worker/work';
import { fakeWorker } from './fake-worker';
import { startRuns } from './run-fixture';
import { makeExecutor } from './worker-fixture';

describe('the job of a worker that was killed', () => {
  const runs = startRuns();
  const { workspaces, statusOf, lockOf } = runs;
  let executor: Awaited<ReturnType<typeof makeExecutor>>;
  beforeAll(async () => {
    executor = await makeExecutor('same-user', { file: '/nowhere', version: '1.11.4', product: 'Terraform' });
  });
  afterAll(() => executor.remove());

  /** The remains of a killed worker: a folder, and the record of a process that has ended. */
  const leave = async (job: RunJob, more: object = {}, installation = executor.installation) => {
    const slot = await takeSlot(executor.scratch, executor.isolation, job.runId);
    await slot.note({ job, workerId: runs.worker.workerId, installation, ...more });
    for (const name of readdirSync(executor.scratch.root).filter((one) => one.startsWith('slot-'))) {
      const file = path.join(executor.scratch.root, name);
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), start: 'before' }));
    }
  };
  /** Starts the worker that follows the killed one. */
  const restart = async () => {
    const { db, env } = workspaces.service;
    const source = databaseSource({
      ...{ db, keyring: env.keyring, workerId: 'successor', leaseSeconds: 60, versions: ['1.11.4'] },
      ...{ secrets: undefined, issuer: 'https://here.test', now: Date.now, bell: new Bell() },
    });
    const log = createLogger({ name: 'test', level: 'silent' });
    await recoverStates({ source, log, executor } as unknown as WorkerParts);
    return fakeWorker(workspaces, 'successor');
  };

  it.each(['claimed', 'started'])('is planned again at once if it was %s', async (state) => {
    const id = await runs.started();
    const job = await runs.worker.take('plan');
    if (state === 'started') expect(await runs.worker.start(job)).toBe(true);
    await leave(job);
    const successor = await restart();
    expect(await successor.take('plan')).toMatchObject({ runId: id, attempt: job.attempt + 1 });
    expect(readdirSync(executor.scratch.root)).toEqual([]);
  });

  it.each([
    ['that had not started', {}],
    ['that stored no newer state', { applies: true }],
  ])('ends at once if it was an apply %s, and its workspace is free', async (_name, more) => {
    const id = await runs.started({ 'auto-apply': true });
    await runs.worker.plan();
    const job = await runs.worker.take('apply');
    expect(await runs.worker.start(job)).toBe(true);
    await leave(job, more);
    const successor = await restart();
    expect(await successor.claim()).toBeUndefined();
    expect(await statusOf(id)).toBe('errored');
    expect((await lockOf()).attributes.locked).toBe(false);
  });

  it('stays with the worker that has it now, and with workers of another installation', async () => {
    const id = await runs.started();
    const job = await runs.worker.take('plan');
    await leave(job, {}, 'other');
    await restart();
    expect(await runs.worker.start(job)).toBe(true);
    await leave({ ...job, attempt: job.attempt - 1 });
    const successor = await restart();
    expect(await successor.claim()).toBeUndefined();
    expect(await statusOf(id)).toBe('planning');
  });
});
