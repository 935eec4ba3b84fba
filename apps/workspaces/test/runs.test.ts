import { describe, expect, it } from '@jest/globals';
import { settleAbandoned } from '../src/resources/runs/runs/jobs/abandoned';
import { announced, archiveOf, configured, fetchUrl } from './configurations';
import { fakeWorker } from './fake-worker';
import { startRuns, stateOf } from './run-fixture';
import { resource } from './start-workspaces';

describe('runs', () => {
  const runs = startRuns();
  const { workspaces, admin, show, statusOf, act, made, lockOf, started } = runs;

  it('are planned, confirmed and applied, and hold the lock in the meantime', async () => {
    const id = await started();
    expect(await statusOf(id)).toBe('plan_queued');
    const locked = await lockOf();
    expect(locked.attributes.locked).toBe(true);
    expect(locked.relationships['locked-by'].data).toEqual({ type: 'runs', id });
    expect(locked.relationships['current-run'].data).toEqual({ type: 'runs', id });
    await runs.worker.plan({ additions: 2, changes: 1, destructions: 0 });
    const planned = await show(id);
    expect(planned.attributes).toMatchObject({
      status: 'planned',
      'has-changes': true,
      actions: { 'is-confirmable': true, 'is-cancelable': false, 'is-discardable': true, 'is-force-cancelable': false },
      permissions: { 'can-apply': true, 'can-force-cancel': true, 'can-override-policy-check': true },
    });
    await act(id, 'apply', { comment: 'looks good' }).expect(202, '');
    expect(await statusOf(id)).toBe('apply_queued');
    const job = await runs.worker.take('apply');
    const inputs = await runs.worker.inputs(job);
    const pieces: Buffer[] = [];
    for await (const piece of (await inputs.planFile())!) pieces.push(piece as Buffer);
    expect(Buffer.concat(pieces).toString()).toBe('plan file');
    await runs.worker.start(job);
    expect(await statusOf(id)).toBe('applying');
    expect(await runs.worker.endApply(job, { outcome: 'applied', additions: 2, state: stateOf(1) })).toBe(true);
    const applied = await show(id);
    expect(applied.attributes.status).toBe('applied');
    expect(Object.keys(applied.attributes['status-timestamps']).sort()).toEqual(
      [
        'applied-at',
        'apply-queued-at',
        'applying-at',
        'confirmed-at',
        'plan-queueable-at',
        'plan-queued-at',
        'planned-at',
        'planning-at',
      ].sort(),
    );
    expect(applied.attributes['status-timestamps']['applied-at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
    const free = await lockOf();
    expect(free.attributes).toMatchObject({ locked: false, 'workspace-kpis-runs-count': 1, 'run-failures': 0 });
    expect(free.relationships['current-run'].data.id).toBe(id);
    const state = await admin.get(`workspaces/${runs.workspace}/current-state-version`).expect(200);
    expect(state.body.data.relationships.run.data).toEqual({ type: 'runs', id });
    expect(state.body.data.relationships['created-by'].data.type).toBe('users');
    const comments = await admin.get(`runs/${id}/comments`).expect(200);
    expect(comments.body.data.map((one: { attributes: { body: string } }) => one.attributes.body)).toEqual([
      'looks good',
    ]);
  });

  it('wait visibly while no worker is alive, and then start', async () => {
    await configured(workspaces, runs.workspace);
    const id = await made();
    expect((await show(id)).attributes).toMatchObject({
      status: 'pending',
      'status-reason': 'No worker is running: plans and applies start as soon as one does',
    });
    expect((await lockOf()).attributes.locked).toBe(false);
    const job = await runs.worker.take('plan');
    expect(job.runId).toBe(id);
    expect(await statusOf(id)).toBe('plan_queued');
    await runs.worker.release(job);
    await runs.worker.retire();
    expect((await show(id)).attributes['status-reason']).toContain('No worker is running');
  });

  it('apply without confirmation if configured, and end if nothing changes', async () => {
    const auto = await started({ 'auto-apply': true });
    await runs.worker.plan();
    expect(await statusOf(auto)).toBe('apply_queued');
    await runs.worker.apply();
    expect(await statusOf(auto)).toBe('applied');
    const idle = await made({ 'auto-apply': true });
    await runs.worker.plan({ hasChanges: false, additions: 0 });
    expect(await statusOf(idle)).toBe('planned_and_finished');
    expect((await admin.get(`runs/${idle}/apply`).expect(200)).body.data.attributes.status).toBe('unreachable');
    const empty = await made({ 'allow-empty-apply': true });
    await runs.worker.plan({ hasChanges: false });
    expect(await statusOf(empty)).toBe('planned');
  });

  it('of one workspace run one at a time; plans that change nothing do not wait', async () => {
    const first = await started();
    const second = await made();
    const third = await made();
    const speculative = await made({ 'plan-only': true });
    await runs.worker.plan();
    const look = await runs.worker.plan();
    expect(look.runId).toBe(speculative);
    expect(await statusOf(speculative)).toBe('planned_and_finished');
    expect(await runs.worker.claim()).toBeUndefined();
    expect((await show(second)).attributes).toMatchObject({
      status: 'pending',
      'status-reason': `Waiting for ${first} to end: a workspace has one run at a time`,
    });
    await act(third, 'cancel').expect(202);
    await act(first, 'discard').expect(202);
    expect((await runs.worker.plan()).runId).toBe(second);
    expect(await statusOf(third)).toBe('canceled');
    expect(await runs.worker.claim()).toBeUndefined();
  });

  it('wait for the lock of a person', async () => {
    await configured(workspaces, runs.workspace);
    await runs.worker.claim();
    await admin.post(`workspaces/${runs.workspace}/actions/lock`, {}).expect(200);
    const id = await made();
    expect(await runs.worker.claim()).toBeUndefined();
    expect((await show(id)).attributes['status-reason']).toBe('Waiting for the lock of the workspace to be released');
    expect((await lockOf()).relationships['current-run'].data.id).toBe(id);
    await admin.post(`workspaces/${runs.workspace}/actions/unlock`).expect(200);
    expect((await runs.worker.plan()).runId).toBe(id);
    const held = await admin.post(`workspaces/${runs.workspace}/actions/unlock`).expect(409);
    expect(held.body.errors[0].detail).toContain(`locked by Run ${id}`);
  });

  it('save plans, which are applied later unless the state has changed (WV.16)', async () => {
    const fresh = await started({ 'save-plan': true });
    const stale = await made({ 'save-plan': true });
    await runs.worker.plan();
    await runs.worker.plan();
    expect((await show(fresh)).attributes).toMatchObject({ status: 'planned_and_saved', 'save-plan': true });
    const saved = await admin.get(`workspaces/${runs.workspace}/runs?filter[operation]=save_plan`).expect(200);
    expect(saved.body.data.map((run: { id: string }) => run.id)).toEqual([stale, fresh]);
    const provisional = await announced(admin, runs.workspace, { provisional: true });
    expect(provisional.attributes.provisional).toBe(true);
    expect((await lockOf()).attributes.locked).toBe(false);
    await act(fresh, 'apply').expect(202);
    await runs.worker.apply({ state: stateOf(1) });
    expect(await statusOf(fresh)).toBe('applied');
    const refused = await act(stale, 'apply').expect(409);
    expect(refused.body.errors[0].title).toBe('transition not allowed');
    await act(stale, 'discard').expect(202);
  });

  it('stop: at once while they wait, by their worker while they run, by force after a while', async () => {
    const id = await started();
    const job = await runs.worker.take('plan');
    await runs.worker.start(job);
    await act(id, 'force-cancel').expect(409);
    await act(id, 'cancel', { comment: 'stop' }).expect(202);
    await act(id, 'cancel').expect(409);
    expect((await show(id)).attributes).toMatchObject({
      status: 'planning',
      actions: { 'is-force-cancelable': false },
    });
    expect(await runs.worker.heartbeat(job)).toEqual({ mine: true, cancel: 'cancel' });
    await act(id, 'force-cancel').expect(409);
    await workspaces.service.pool.query("UPDATE run SET force_cancel_at = now() - interval '1 second' WHERE id = $1", [
      id,
    ]);
    expect((await show(id)).attributes.actions['is-force-cancelable']).toBe(true);
    await act(id, 'force-cancel').expect(202);
    const ended = (await show(id)).attributes;
    expect(ended.status).toBe('canceled');
    expect(ended['status-timestamps']).toHaveProperty('force-canceled-at');
    expect((await lockOf()).attributes.locked).toBe(false);
    expect(await runs.worker.heartbeat(job)).toEqual({ mine: false, cancel: 'force-cancel' });
    expect(await runs.worker.endPlan(job, { outcome: 'planned', hasChanges: true })).toBe(false);
    expect(await statusOf(id)).toBe('canceled');
  });

  it('end as canceled when their worker reports it, and keep applied changes', async () => {
    const id = await started({ 'auto-apply': true });
    await runs.worker.plan();
    const job = await runs.worker.take('apply');
    await runs.worker.start(job);
    await act(id, 'cancel').expect(202);
    expect(
      await runs.worker.endApply(job, { outcome: 'canceled', state: stateOf(3), errorMessage: 'Interrupted' }),
    ).toBe(true);
    expect((await show(id)).attributes).toMatchObject({ status: 'canceled', 'status-reason': 'Interrupted' });
    expect(
      (await admin.get(`workspaces/${runs.workspace}/current-state-version`).expect(200)).body.data.attributes.serial,
    ).toBe(3);
  });

  it('can be overtaken: a forced run discards the run that waits for confirmation', async () => {
    const first = await started();
    const second = await made();
    const third = await made();
    await act(first, 'force-execute').expect(403);
    await act(third, 'force-execute').expect(409);
    await runs.worker.plan();
    await act(third, 'force-execute').expect(202);
    expect(await statusOf(first)).toBe('discarded');
    expect((await runs.worker.plan()).runId).toBe(third);
    expect(await statusOf(second)).toBe('pending');
  });

  it('answer clients that have read the whole log once there is more, and at the end', async () => {
    await started({});
    const job = await runs.worker.take('plan');
    const at = `plans/${job.planId}/logs`;
    // Sent at once, not only when a worker waits for it.
    const read = (offset: number) =>
      admin
        .get(`${at}?offset=${offset}`)
        .buffer(true)
        .expect(200)
        .then((answer) => answer);
    const begun = read(0);
    await runs.worker.start(job);
    expect((await begun).text).toBe('\x02');
    const more = read(1);
    await runs.worker.log(job, 'more\n');
    expect((await more).text).toBe('more\n');
    const [end, nothing] = [read(6), admin.get(`${at}?offset=6&limit=0`).buffer(true).expect(200)];
    expect((await nothing).text).toBe('');
    await runs.worker.endPlan(job, { outcome: 'planned', hasChanges: false });
    expect((await end).text).toBe('\x03');
    expect((await read(7)).text).toBe('');
  });

  it('whose worker disappeared are planned again, but never applied again', async () => {
    const id = await started({ 'auto-apply': true });
    const other = fakeWorker(workspaces);
    const lost = await runs.worker.take('plan');
    await runs.worker.start(lost);
    const expire = () =>
      workspaces.service.pool.query("UPDATE run_job SET claimed_until = now() - interval '1 second'");
    await runs.worker.log(lost, 'said in time\n');
    await expire();
    const again = await other.take('plan');
    await runs.worker.log(lost, 'said too late\n');
    const log = await admin.get(`plans/${lost.planId}/logs`).buffer(true).expect(200);
    expect(log.text).toBe('\x02said in time\n');
    expect(again).toMatchObject({ id: lost.id, attempt: 2 });
    expect(await runs.worker.endPlan(lost, { outcome: 'planned', hasChanges: true })).toBe(false);
    await other.start(again);
    await other.endPlan(again, { outcome: 'planned', hasChanges: true });
    const claimed = await runs.worker.take('apply');
    await expire();
    const job = await other.take('apply');
    expect(job.id).toBe(claimed.id);
    expect(await runs.worker.start(claimed)).toBe(false);
    expect(await other.start(job)).toBe(true);
    await expire();
    // No worker is needed for this: the service does it.
    const { db, env } = workspaces.service;
    expect(await settleAbandoned(db, env.keyring)).toBe(1);
    const ended = (await show(id)).attributes;
    expect(ended.status).toBe('errored');
    expect(ended['status-reason']).toContain('The worker was lost during the apply');
    expect((await lockOf()).attributes.locked).toBe(false);
    // Later reports of the lost worker are stored, and change nothing.
    expect(await other.endApply(job, { outcome: 'applied', state: stateOf(9) })).toBe(false);
    await admin.get(`workspaces/${runs.workspace}/current-state-version`).expect(404);
    expect((await admin.get(`workspaces/${runs.workspace}/quarantined-states`).expect(200)).body.data).toHaveLength(1);
  });

  it('keep a state that cannot be saved where people find it', async () => {
    const id = await started({ 'auto-apply': true });
    await runs.worker.plan();
    const job = await runs.worker.take('apply');
    await runs.worker.start(job);
    await admin.post(`workspaces/${runs.workspace}/actions/force-unlock`).expect(200);
    expect(await runs.worker.endApply(job, { outcome: 'applied', state: stateOf(4) })).toBe(true);
    expect((await show(id)).attributes).toMatchObject({ status: 'errored' });
    const apply = (await admin.get(`runs/${id}/apply`).expect(200)).body.data;
    const found = await admin.get(`applies/${apply.id}/errored-state`).expect(307);
    expect((await fetchUrl(workspaces, found.headers.location!).expect(200)).body.toString()).toBe(
      stateOf(4).toString(),
    );
  });

  it('do not apply without the lock', async () => {
    const auto = await started({ 'auto-apply': true });
    const job = await runs.worker.take('plan');
    await runs.worker.start(job);
    await admin.post(`workspaces/${runs.workspace}/actions/force-unlock`).expect(200);
    await admin.post(`workspaces/${runs.workspace}/actions/lock`, {}).expect(200);
    await runs.worker.endPlan(job, { outcome: 'planned', hasChanges: true });
    expect(await statusOf(auto)).toBe('planned');
    await act(auto, 'apply').expect(409);
    await admin.post(`workspaces/${runs.workspace}/actions/unlock`).expect(200);
    await act(auto, 'apply').expect(202);
    const apply = await runs.worker.take('apply');
    await admin.post(`workspaces/${runs.workspace}/actions/force-unlock`).expect(200);
    await admin.post(`workspaces/${runs.workspace}/actions/lock`, {}).expect(200);
    expect(await runs.worker.start(apply)).toBe(false);
    expect((await show(auto)).attributes).toMatchObject({
      status: 'errored',
      'status-reason': expect.stringContaining('nothing was changed'),
    });
  });

  it('may be deleted with their workspace while they are running', async () => {
    await started();
    const job = await runs.worker.take('plan');
    await runs.worker.start(job);
    await admin.delete(`workspaces/${runs.workspace}`).expect(204);
    await runs.worker.log(job, 'too late');
    expect(await runs.worker.heartbeat(job)).toEqual({ mine: false, cancel: 'no' });
    expect(await runs.worker.endPlan(job, { outcome: 'planned', jsonPlan: Buffer.from('{}') })).toBe(false);
    expect(await runs.worker.start(job)).toBe(false);
  });

  it('give their jobs variables in order of precedence, state and configuration, in debugging mode if wanted (WV.4)', async () => {
    const value = (key: string, text: string, more: object = {}) =>
      resource('vars', { key, value: text, category: 'terraform', ...more });
    const varset = async (name: string, attributes: object, relationships: object, vars: object[]) => {
      const { body } = await admin
        .post('organizations/acme/varsets', resource('varsets', { name, global: false, ...attributes }, relationships))
        .expect(201);
      for (const one of vars) await admin.post(`varsets/${body.data.id}/relationships/vars`, one).expect(201);
      return body.data.id;
    };
    const here = { workspaces: { data: [{ type: 'workspaces', id: runs.workspace }] } };
    const sets = [
      await varset('g', { global: true }, {}, [value('a', 'global'), value('e', 'global')]),
      await varset('b', {}, here, [value('a', 'second'), value('b', 'second')]),
      await varset('a', {}, here, [value('b', 'first'), value('c', 'first'), value('d', 'first')]),
      await varset('prio', { priority: true }, here, [value('p', 'priority')]),
    ];
    const searched = (await admin.get('organizations/acme/varsets?q=RIO').expect(200)).body.data;
    expect(searched.map(({ attributes }: { attributes: object }) => attributes)).toMatchObject([{ name: 'prio' }]);
    const features = (await admin.get('organizations/acme/entitlement-set').expect(200)).body.data.attributes;
    expect(features['private-vcs']).toBe(true);
    await admin.post(`workspaces/${runs.workspace}/vars`, value('c', 'own', { sensitive: true })).expect(201);
    await admin.post(`workspaces/${runs.workspace}/vars`, value('d', 'own')).expect(201);
    await admin.post(`workspaces/${runs.workspace}/vars`, value('p', 'own')).expect(201);
    await admin.post(`workspaces/${runs.workspace}/vars`, value('X', 'env', { category: 'env' })).expect(201);
    const variables = [
      { key: 'd', value: '"run"' },
      { key: 'p', value: '"run"' },
    ];
    const id = await started({ variables, 'target-addrs': ['null_resource.a'], 'debugging-mode': true });
    expect((await show(id)).attributes).toMatchObject({ variables, 'target-addrs': ['null_resource.a'] });
    const job = await runs.worker.take('plan');
    expect(job).toMatchObject({
      targets: ['null_resource.a'],
      infraVersion: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      debuggingMode: true,
    });
    const inputs = await runs.worker.inputs(job);
    const given = Object.fromEntries(inputs.variables.map((one) => [one.key, [one.value, one.hcl, one.sensitive]]));
    expect(given).toEqual({
      a: ['second', false, false],
      b: ['first', false, false],
      c: ['own', false, true],
      d: ['"run"', true, false],
      e: ['global', false, false],
      p: ['priority', false, false],
    });
    expect(inputs.environment).toEqual([{ key: 'X', value: 'env', hcl: false, sensitive: false }]);
    const pieces: Buffer[] = [];
    for await (const piece of (await inputs.configuration())!) pieces.push(piece as Buffer);
    expect(Buffer.concat(pieces)).toEqual(await archiveOf());
    expect(await inputs.state()).toBeUndefined();
    const stored = await workspaces.service.pool.query('SELECT variables FROM run WHERE id = $1', [id]);
    expect(stored.rows[0].variables.includes('run')).toBe(false);
    for (const set of sets) await admin.delete(`varsets/${set}`).expect(204);
  });

  it('are distributed to any number of workers, each job to one', async () => {
    const workers = Array.from({ length: 6 }, () => fakeWorker(workspaces));
    await configured(workspaces, runs.workspace);
    for (let count = 0; count < 4; count++) await made({ 'plan-only': true });
    const first = await Promise.all(workers.map((one) => one.claim()));
    const second = await Promise.all(workers.map((one) => one.claim()));
    const ids = [...first, ...second].flatMap((job) => job?.id ?? []);
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
  });

  it('never overlap in one workspace, however many workers there are', async () => {
    await configured(workspaces, runs.workspace);
    const workers = Array.from({ length: 3 }, () => fakeWorker(workspaces));
    const ids = await Promise.all(Array.from({ length: 6 }, () => made({ 'auto-apply': true })));
    let underWay = 0;
    let most = 0;
    const work = async (one: (typeof workers)[number]) => {
      for (let idle = 0; idle < 5; ) {
        const job = await one.claim();
        if (!job || !(await one.start(job))) {
          idle++;
          continue;
        }
        idle = 0;
        most = Math.max(most, ++underWay);
        await one.log(job, 'working');
        underWay--;
        if (job.kind === 'plan') await one.endPlan(job, { outcome: 'planned', hasChanges: true });
        else await one.endApply(job, { outcome: 'applied' });
      }
    };
    await Promise.all(workers.map(work));
    expect(most).toBe(1);
    // A claim released too early leaves a job, but no lock.
    await work(workers[0]!);
    for (const id of ids) expect(await statusOf(id)).toBe('applied');
    expect((await lockOf()).attributes.locked).toBe(false);
  });

  it('of an organization without running jobs come first, unless fair queuing is off', async () => {
    await configured(workspaces, runs.workspace);
    const busy = [await made({ 'plan-only': true }), await made({ 'plan-only': true })];
    await workspaces.organization(`other-${runs.counter}`);
    ({ id: runs.workspace } = await workspaces.workspace(`other-${runs.counter}`, 'web'));
    await configured(workspaces, runs.workspace);
    const patient = await made({ 'plan-only': true });
    const next = async () => (await runs.worker.claim())?.runId;
    const { db } = workspaces.service;
    const order = async (value: Record<string, boolean>) => {
      await db.prisma.setting.upsert({
        where: { name: 'general' },
        create: { name: 'general', value },
        update: { value },
      });
      await db.prisma.runJob.updateMany({ data: { state: 'queued', workerId: null, claimedUntil: null } });
      return [await next(), await next(), await next()];
    };
    expect(await order({ fairRunQueuingEnabled: false })).toEqual([...busy, patient]);
    expect(await order({ fairRunQueuingEnabled: true })).toEqual([busy[0], patient, busy[1]]);
    expect(await order({})).toEqual([busy[0], patient, busy[1]]);
    await db.prisma.setting.deleteMany({ where: { name: 'general' } });
  });
});
