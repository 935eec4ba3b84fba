import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { createLogger } from '@keystead/server';
import { spanReceiver } from '@keystead/testing';
import { startTracing } from '@keystead/tracing';
import { type Asked, archiveOf, doing, makeExecutor } from '../../../test/worker-fixture';
import type { ApplyResult, Heartbeat, PlanResult, RunJob } from '../../resources/runs/runs/jobs/job';
import { startClaiming } from '../work';
import { carryOut, type WorkerParts } from './carry-out';
import type { JobSource } from './job-source';

// Replaces the tool: runs the configuration's script.
const standIn = `#!/bin/sh
case $1 in
  plan) sh ./act.sh || exit 1; for o in "$@"; do case $o in -out=*) echo plan > "\${o#-out=}";; esac; done; exit 2 ;;
  apply) sh ./act.sh ;;
  show) echo '{"format_version":"1.2"}' ;;
  providers) echo '{"format_version":"1.0"}' ;;
esac
`;

const quiet = { warn: () => undefined, info: () => undefined };

type Given = Partial<JobSource> & { beats?: () => Heartbeat | Promise<Heartbeat> };

describe('carrying out a job', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'carry-out-'));
  const file = path.join(box, 'terraform');
  let executor: Awaited<ReturnType<typeof makeExecutor>>;
  beforeAll(async () => {
    writeFileSync(file, standIn, { mode: 0o755 });
    executor = await makeExecutor('same-user', { file, version: '1.11.4', product: 'Terraform' });
  });
  afterAll(() => {
    executor.remove();
    rmSync(box, { recursive: true, force: true });
  });

  async function start(act: string, asked: Asked = {}, given: Given = {}, settings: Partial<WorkerParts> = {}) {
    const { job, inputs } = await doing({ ...asked, files: { 'act.sh': act } });
    const results: (PlanResult | ApplyResult)[] = [];
    let text = '';
    let retired = 0;
    const finish = async (_job: RunJob, result: PlanResult | ApplyResult) => {
      results.push(result);
      text += Buffer.from(result.log?.bytes ?? []).toString();
      return true;
    };
    const source: JobSource = {
      workerId: 'worker-1',
      leaseSeconds: 60,
      claim: async () => undefined,
      heartbeat: async () => given.beats?.() ?? { mine: true, cancel: 'no' },
      abandon: async () => undefined,
      started: async () => true,
      inputs: async () => inputs,
      appendLog: async (_job, bytes) => {
        text += Buffer.from(bytes).toString();
      },
      saveState: async () => undefined,
      finishPlan: finish,
      finishApply: finish,
      finishToolRun: async () => true,
      release: async () => undefined,
      retire: async () => void retired++,
      login: async () => undefined,
      identities: async () => ({ withheld: 'this is a test' }),
      keepToken: async () => '',
      forgetToken: async () => undefined,
      ...given,
    };
    const parts: WorkerParts = {
      source,
      executor,
      log: createLogger({ name: 'worker', level: 'silent' }),
      heartbeatMs: 50,
      graceSeconds: 1,
      logBytes: 1_000_000,
      credentials: async () => ({ environment: [], end: async () => {} }),
      ...settings,
    };
    return { parts, job, results, retired: () => retired, finish, text: () => text };
  }
  const forever = 'echo begun; while :; do sleep 0.1; done';

  it('submits the output of the tool and the result', async () => {
    const { parts, job, results, text } = await start('echo "hello from the plan"');
    await carryOut(parts, job).done;
    expect(results).toEqual([expect.objectContaining({ outcome: 'planned', hasChanges: true })]);
    expect(text()).toContain('hello from the plan');
  });

  it('continues the trace of the request that created the run, and reports how long each step took', async () => {
    const receiver = await spanReceiver();
    const { url } = receiver;
    const tracing = startTracing({ url, headers: {}, share: 0, service: 'keystead-worker', version: '0' }, quiet)!;
    const canary = 'said-by-the-tool';
    const under = await start(`echo ${canary}`, {}, {}, { tracing });
    const traceparent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
    await carryOut(under.parts, { ...under.job, traceparent }).done;
    await tracing.close();
    await receiver.close();
    expect(under.text()).toContain(canary);
    const plan = receiver.spans.find(({ parentSpanId }) => parentSpanId === 'b2'.repeat(8))!;
    expect(plan).toMatchObject({
      traceId: 'a1'.repeat(16),
      name: 'plan',
      attributes: { 'keystead.run_id': under.job.runId, 'keystead.outcome': 'planned' },
    });
    const steps = receiver.spans.filter(({ parentSpanId }) => parentSpanId === plan.spanId).map(({ name }) => name);
    expect(steps).toEqual(['credentials', 'unpack', 'init', 'plan', 'hand in']);
    expect(receiver.text()).not.toContain(canary);
  });

  it('does not start a job that was given to another worker', async () => {
    const { parts, job, results, text } = await start('echo hello', {}, { started: async () => false });
    await carryOut(parts, job).done;
    expect([results, text()]).toEqual([[], '']);
  });

  it.each([
    ['cancel', { mine: true, cancel: 'cancel' }, 'canceled'],
    ['force-cancel', { mine: true, cancel: 'force-cancel' }, 'canceled'],
    ['force-cancel of a run that ended already', { mine: false, cancel: 'force-cancel' }, 'canceled'],
  ] as const)('stops at a %s', async (_what, beat, outcome) => {
    const begun = () => under.text().includes('begun');
    const under = await start(forever, {}, { beats: () => (begun() ? beat : { mine: true, cancel: 'no' }) });
    await carryOut(under.parts, under.job).done;
    expect(under.results).toEqual([expect.objectContaining({ outcome })]);
  });

  it('stops at its time limit, even a tool that does not react', async () => {
    const deaf = `trap '' INT; ${forever}`;
    const { parts, job, results } = await start(deaf, {
      job: { kind: 'apply', timeoutSeconds: 1 },
      planFile: await bundle(),
    });
    await carryOut(parts, job).done;
    expect(results).toEqual([
      expect.objectContaining({ outcome: 'errored', errorMessage: expect.stringContaining('exceeded its time limit') }),
    ]);
  });

  it('stops and submits no plan once it has lost the job', async () => {
    const under = await start(
      forever,
      {},
      {
        beats: () => ({ mine: !under.text().includes('begun'), cancel: 'no' }),
      },
    );
    await carryOut(under.parts, under.job).done;
    expect(under.results).toEqual([]);
  });

  it('stops before its lease ends if the database does not answer', async () => {
    const under = await start(forever, {}, { beats: () => Promise.reject(new Error('away')), leaseSeconds: 2 });
    await carryOut(under.parts, under.job).done;
    expect(under.results).toEqual([]);
  });

  it('submits a result repeatedly until the database accepts it, but not after a refusal', async () => {
    let failures = 2;
    const under = await start(
      'echo hello',
      {},
      {
        finishPlan: async (...args) => {
          if (failures-- > 0) throw new Error('away');
          return under.finish(...args);
        },
      },
    );
    await carryOut(under.parts, under.job).done;
    expect(under.results).toHaveLength(1);
    let asked = 0;
    const refused = await start(
      'echo hello',
      {},
      {
        finishPlan: async () => {
          asked++;
          throw new Refusal('missing', 'gone');
        },
      },
    );
    await carryOut(refused.parts, refused.job).done;
    expect(asked).toBe(1);
  });

  it('ends a run whose configuration is not an archive, with the reason', async () => {
    const { parts, job, results, text } = await start('', {
      planFile: Buffer.from('no archive'),
      job: { kind: 'apply' },
    });
    await carryOut(parts, job).done;
    expect(results).toEqual([
      expect.objectContaining({ outcome: 'errored', errorMessage: expect.stringContaining('archive') }),
    ]);
    expect(text()).toContain('Error: the archive');
  });

  it('interrupts applies, submits their state, and signs off if the worker is stopped', async () => {
    const act = `trap 'echo interrupted; exit 1' INT; ${forever}`;
    const jobs: RunJob[] = [];
    const under = await start(
      act,
      { job: { kind: 'apply' }, planFile: await bundle(act) },
      { claim: async () => jobs.pop() },
      { graceSeconds: 60 },
    );
    jobs.push(under.job);
    let heard = 0;
    const parts = { ...under.parts, heard: () => void heard++ };
    const claiming = startClaiming(parts, { parallel: 1, pollMs: 10 });
    while (!under.text().includes('begun')) await sleep(20);
    expect(claiming.count()).toBe(1);
    // The worker takes no more jobs, so these requests are heartbeats.
    for (const before = heard; heard < before + 3; ) await sleep(20);
    expect(heard).toBeGreaterThan(3);
    await claiming.close(0);
    expect(under.text()).toContain('interrupted');
    expect(under.results).toEqual([
      expect.objectContaining({ outcome: 'errored', errorMessage: 'the worker was stopped' }),
    ]);
    expect(under.retired()).toBe(1);
  });

  const saving = (serial: number) => `echo '{"version":4,"serial":${serial}}' > ../state/stones/terraform.tfstate`;

  it('stores the end of the log of a plan that another worker repeats', async () => {
    const act = `trap 'echo interrupted; exit 1' INT; ${forever}`;
    let text = '';
    let failures = 1;
    const appendLog = async (_job: RunJob, bytes: Uint8Array) => {
      if (text.includes('begun') && failures-- > 0) throw new Error('away');
      text += Buffer.from(bytes).toString();
    };
    const under = await start(act, {}, { appendLog }, { graceSeconds: 60 });
    const carrying = carryOut(under.parts, under.job);
    while (!text.includes('begun')) await sleep(20);
    carrying.stop();
    await carrying.done;
    expect(under.results).toEqual([]);
    expect(text).toMatch(/begun\ninterrupted\n\nStopped: the worker was stopped\.\n$/);
  });

  const states = (results: unknown[]) => (results as ApplyResult[]).map(({ state }) => String(state));
  const seventh = [expect.stringContaining('"serial":7')];

  it('hands in the state and the whole log of an apply whose log cannot be stored until its end', async () => {
    const loud = `${saving(7)}; echo begun; head -c 600000 /dev/zero | tr '\\0' x; echo ended`;
    // The tool waits for the service that is unavailable until its time limit.
    for (const [refused, whole] of [
      [new Refusal('too-large', 'no room'), /\nbegun\nx{600000}ended\n$/],
      [new Error('away'), /\nbegun\nx{300000,}\n.*time limit/],
    ] as const) {
      const asked: Asked = { job: { kind: 'apply', timeoutSeconds: 2 }, planFile: await bundle(loud) };
      const under = await start(loud, asked, { appendLog: () => Promise.reject(refused) });
      await carryOut(under.parts, under.job).done;
      expect(states(under.results)).toEqual(seventh);
      expect(whole.test(under.text())).toBe(true);
    }
  });

  it('saves the state of an apply while its log cannot be stored', async () => {
    const act = `echo begun; sleep 0.7; ${saving(7)}`;
    const saved: string[] = [];
    const appendLog = async () => {
      if (saved.length === 0) throw new Error('away');
    };
    const saveState = async (_job: RunJob, state: Uint8Array) => void saved.push(String(Buffer.from(state)));
    const asked: Asked = { job: { kind: 'apply', timeoutSeconds: 60 }, planFile: await bundle(act) };
    const parts = { executor: { ...executor, stateEveryMs: 60_000 } };
    const under = await start(act, asked, { appendLog, saveState }, parts);
    await carryOut(under.parts, under.job).done;
    expect([saved, states(under.results)]).toEqual([seventh, seventh]);
    expect(under.results).toEqual([expect.objectContaining({ outcome: 'applied' })]);
  });

  it('hands in no result while the state of its apply is being saved', async () => {
    const act = `echo begun; sleep 0.7; ${saving(7)}`;
    const order: string[] = [];
    const appendLog = async () => {
      if (order.length === 0) throw new Error('away');
    };
    const saveState = async () => {
      order.push('begins');
      await sleep(500);
      order.push('saved');
    };
    const finishApply = async () => order.push('handed in') > 0;
    const asked: Asked = { job: { kind: 'apply', timeoutSeconds: 60 }, planFile: await bundle(act) };
    const parts = { executor: { ...executor, stateEveryMs: 60_000 } };
    const under = await start(act, asked, { appendLog, saveState, finishApply }, parts);
    await carryOut(under.parts, under.job).done;
    expect(order).toEqual(['begins', 'saved', 'handed in']);
  });

  it('keeps the folder of an apply until its result is taken, so that its state is found if the worker is killed', async () => {
    const act = `${saving(7)}; exit 1`;
    const { root } = executor.scratch;
    const found: unknown[] = [];
    const look = () =>
      readdirSync(root)
        .filter((name) => name.startsWith('slot-'))
        .map((name) => {
          const { folder, note } = JSON.parse(readFileSync(path.join(root, name), 'utf8'));
          return [note.applies, readFileSync(path.join(folder, 'box/state/stones/terraform.tfstate'), 'utf8')];
        });
    const finishApply = async (job: RunJob, result: ApplyResult) => {
      found.push(look());
      if (found.length < 3) throw new Error('away');
      return under.finish(job, result);
    };
    const under = await start(act, { job: { kind: 'apply' }, planFile: await bundle(act) }, { finishApply });
    await carryOut(under.parts, under.job).done;
    expect(found).toEqual(Array(3).fill([[true, seventh[0]]]));
    expect([states(under.results), look()]).toEqual([seventh, []]);
  });

  it('hands in the state of an apply whose folder cannot be removed', async () => {
    const act = `${saving(7)}; exit 1`;
    const groups = {
      make: async () => undefined,
      cgroupProcsFiles: () => [],
      exceeded: async () => undefined,
      remove: () => Promise.reject(new Error('busy')),
    };
    const parts = { executor: { ...executor, isolation: { ...executor.isolation, groups } } };
    const under = await start(act, { job: { kind: 'apply' }, planFile: await bundle(act) }, {}, parts);
    await carryOut(under.parts, under.job).done;
    expect(states(under.results)).toEqual(seventh);
  });

  it('hands in the state of an apply whose credentials cannot be ended', async () => {
    const act = `${saving(7)}; exit 1`;
    const credentials = async () => ({ environment: [], end: () => Promise.reject(new Error('away')) });
    const under = await start(act, { job: { kind: 'apply' }, planFile: await bundle(act) }, {}, { credentials });
    await carryOut(under.parts, under.job).done;
    expect(states(under.results)).toEqual(seventh);
  });

  it('hands in the state of an apply that leaves an unreadable file of errors', async () => {
    const act = `${saving(7)}; ln -s /etc/hostname errored.tfstate; exit 1`;
    const under = await start(act, { job: { kind: 'apply' }, planFile: await bundle(act) });
    await carryOut(under.parts, under.job).done;
    expect(states(under.results)).toEqual(seventh);
  });

  /** The bundle that a plan leaves for its apply, in the executor's format. */
  const bundle = async (act = `trap '' INT; ${forever}`): Promise<Uint8Array> =>
    archiveOf({ 'config/act.sh': act, 'run.plan': 'plan' });
});
