import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { settleAbandoned } from '../src/resources/runs/abandoned';
import { announced, archiveOf, configured, fetchUrl, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { ref, resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(60_000);

const stateOf = (serial: number, more: object = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      version: 4,
      terraform_version: '1.11.4',
      serial,
      lineage: 'l-1',
      outputs: {},
      resources: [],
      ...more,
    }),
  );

describe('runs', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let counter = 0;
  let workspace = '';
  let worker: ReturnType<typeof fakeWorker>;

  beforeEach(async () => {
    if (counter === 0) await workspaces.organization('acme');
    ({ id: workspace } = await workspaces.workspace('acme', `web-${++counter}`));
    // What earlier tests left behind is no work for this one.
    await workspaces.service.pool.query('DELETE FROM run; DELETE FROM run_worker');
    worker = fakeWorker(workspaces);
  });

  const show = async (id: string) => (await admin.get(`runs/${id}`).expect(200)).body.data;
  const statusOf = async (id: string): Promise<string> => (await show(id)).attributes.status;
  const act = (id: string, verb: string, body: object = {}) => admin.post(`runs/${id}/actions/${verb}`, body);
  const made = async (attributes: object = {}, configuration?: string): Promise<string> =>
    (await startRun(admin, workspace, attributes, configuration).expect(201)).body.data.id;
  const lockOf = async () => (await admin.get(`workspaces/${workspace}`).expect(200)).body.data;
  /** A run of a fresh configuration, with a worker alive. */
  const started = async (attributes: object = {}): Promise<string> => {
    await configured(workspaces, workspace);
    await worker.claim();
    return made(attributes);
  };

  it('are planned, confirmed and applied; the run holds the lock meanwhile', async () => {
    const id = await started();
    expect(await statusOf(id)).toBe('plan_queued');
    const locked = await lockOf();
    expect(locked.attributes.locked).toBe(true);
    expect(locked.relationships['locked-by'].data).toEqual({ type: 'runs', id });
    expect(locked.relationships['current-run'].data).toEqual({ type: 'runs', id });
    await worker.plan({ additions: 2, changes: 1, destructions: 0 });
    const planned = await show(id);
    expect(planned.attributes).toMatchObject({
      status: 'planned',
      'has-changes': true,
      actions: { 'is-confirmable': true, 'is-cancelable': false, 'is-discardable': true, 'is-force-cancelable': false },
      permissions: { 'can-apply': true, 'can-force-cancel': true, 'can-override-policy-check': false },
    });
    await act(id, 'apply', { comment: 'looks good' }).expect(202, '');
    expect(await statusOf(id)).toBe('apply_queued');
    const job = await worker.take('apply');
    const inputs = await worker.inputs(job);
    expect(String((await inputs.planFile())?.read() ?? '')).toBe('');
    await worker.start(job);
    expect(await statusOf(id)).toBe('applying');
    expect(await worker.endApply(job, { outcome: 'applied', additions: 2, state: stateOf(1) })).toBe(true);
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
    const state = await admin.get(`workspaces/${workspace}/current-state-version`).expect(200);
    expect(state.body.data.relationships.run.data).toEqual({ type: 'runs', id });
    expect(state.body.data.relationships['created-by'].data.type).toBe('users');
    const comments = await admin.get(`runs/${id}/comments`).expect(200);
    expect(comments.body.data.map((one: { attributes: { body: string } }) => one.attributes.body)).toEqual([
      'looks good',
    ]);
  });

  it('wait, visibly, while no worker is alive, and start when one is', async () => {
    await configured(workspaces, workspace);
    const id = await made();
    expect((await show(id)).attributes).toMatchObject({
      status: 'pending',
      'status-reason': 'No worker is running: plans and applies start as soon as one does',
    });
    expect((await lockOf()).attributes.locked).toBe(false);
    const job = await worker.take('plan');
    expect(job.runId).toBe(id);
    expect(await statusOf(id)).toBe('plan_queued');
    await worker.release(job);
    await worker.retire();
    expect((await show(id)).attributes['status-reason']).toContain('No worker is running');
  });

  it('apply by themselves where that is wanted, and end where nothing changes', async () => {
    const auto = await started({ 'auto-apply': true });
    await worker.plan();
    expect(await statusOf(auto)).toBe('apply_queued');
    await worker.apply();
    expect(await statusOf(auto)).toBe('applied');
    const idle = await made({ 'auto-apply': true });
    await worker.plan({ hasChanges: false, additions: 0 });
    expect(await statusOf(idle)).toBe('planned_and_finished');
    expect((await admin.get(`runs/${idle}/apply`).expect(200)).body.data.attributes.status).toBe('unreachable');
    const empty = await made({ 'allow-empty-apply': true });
    await worker.plan({ hasChanges: false });
    expect(await statusOf(empty)).toBe('planned');
  });

  it('of one workspace take turns; plans that change nothing do not wait', async () => {
    const first = await started();
    const second = await made();
    const third = await made();
    const speculative = await made({ 'plan-only': true });
    await worker.plan();
    const look = await worker.plan();
    expect(look.runId).toBe(speculative);
    expect(await statusOf(speculative)).toBe('planned_and_finished');
    expect(await worker.claim()).toBeUndefined();
    expect((await show(second)).attributes).toMatchObject({
      status: 'pending',
      'status-reason': `Waiting for ${first} to end: one run of a workspace takes place at a time`,
    });
    await act(third, 'cancel').expect(202);
    await act(first, 'discard').expect(202);
    expect((await worker.plan()).runId).toBe(second);
    expect(await statusOf(third)).toBe('canceled');
    expect(await worker.claim()).toBeUndefined();
  });

  it('wait for the lock of a person', async () => {
    await configured(workspaces, workspace);
    await worker.claim();
    await admin.post(`workspaces/${workspace}/actions/lock`, {}).expect(200);
    const id = await made();
    expect(await worker.claim()).toBeUndefined();
    expect((await show(id)).attributes['status-reason']).toBe('Waiting for the lock of the workspace to be released');
    expect((await lockOf()).relationships['current-run'].data.id).toBe(id);
    await admin.post(`workspaces/${workspace}/actions/unlock`).expect(200);
    expect((await worker.plan()).runId).toBe(id);
    const held = await admin.post(`workspaces/${workspace}/actions/unlock`).expect(409);
    expect(held.body.errors[0].detail).toContain(`locked by Run ${id}`);
  });

  it('save plans, which are applied later unless the state has moved on (WV.16)', async () => {
    const fresh = await started({ 'save-plan': true });
    const stale = await made({ 'save-plan': true });
    await worker.plan();
    await worker.plan();
    expect((await show(fresh)).attributes).toMatchObject({ status: 'planned_and_saved', 'save-plan': true });
    const saved = await admin.get(`workspaces/${workspace}/runs?filter[operation]=save_plan`).expect(200);
    expect(saved.body.data.map((run: { id: string }) => run.id)).toEqual([stale, fresh]);
    const provisional = await announced(admin, workspace, { provisional: true });
    expect(provisional.attributes.provisional).toBe(true);
    expect((await lockOf()).attributes.locked).toBe(false);
    await act(fresh, 'apply').expect(202);
    await worker.apply({ state: stateOf(1) });
    expect(await statusOf(fresh)).toBe('applied');
    const refused = await act(stale, 'apply').expect(409);
    expect(refused.body.errors[0].title).toBe('transition not allowed');
    await act(stale, 'discard').expect(202);
  });

  it('stop: at once while they wait, by their worker while they run, by force after a while', async () => {
    const id = await started();
    const job = await worker.take('plan');
    await worker.start(job);
    await act(id, 'force-cancel').expect(409);
    await act(id, 'cancel', { comment: 'stop' }).expect(202);
    await act(id, 'cancel').expect(409);
    expect((await show(id)).attributes).toMatchObject({
      status: 'planning',
      actions: { 'is-force-cancelable': false },
    });
    expect(await worker.heartbeat(job)).toEqual({ mine: true, cancel: 'cancel' });
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
    expect(await worker.heartbeat(job)).toEqual({ mine: false, cancel: 'force-cancel' });
    expect(await worker.endPlan(job, { outcome: 'planned', hasChanges: true })).toBe(false);
    expect(await statusOf(id)).toBe('canceled');
  });

  it('end as canceled when their worker says so, and keep what was applied', async () => {
    const id = await started({ 'auto-apply': true });
    await worker.plan();
    const job = await worker.take('apply');
    await worker.start(job);
    await act(id, 'cancel').expect(202);
    expect(await worker.endApply(job, { outcome: 'canceled', state: stateOf(3), errorMessage: 'Interrupted' })).toBe(
      true,
    );
    expect((await show(id)).attributes).toMatchObject({ status: 'canceled', 'status-reason': 'Interrupted' });
    expect(
      (await admin.get(`workspaces/${workspace}/current-state-version`).expect(200)).body.data.attributes.serial,
    ).toBe(3);
  });

  it('are passed by: a forced run discards the one that waits for confirmation', async () => {
    const first = await started();
    const second = await made();
    const third = await made();
    await act(first, 'force-execute').expect(403);
    await act(third, 'force-execute').expect(409);
    await worker.plan();
    await act(third, 'force-execute').expect(202);
    expect(await statusOf(first)).toBe('discarded');
    expect((await worker.plan()).runId).toBe(third);
    expect(await statusOf(second)).toBe('pending');
  });

  it('whose worker vanished are planned again, but never applied again', async () => {
    const id = await started({ 'auto-apply': true });
    const other = fakeWorker(workspaces);
    const lost = await worker.take('plan');
    await worker.start(lost);
    const expire = () =>
      workspaces.service.pool.query("UPDATE run_job SET claimed_until = now() - interval '1 second'");
    await worker.log(lost, 'said in time\n');
    await expire();
    const again = await other.take('plan');
    await worker.log(lost, 'said too late\n');
    const log = await admin.get(`plans/${lost.planId}/logs`).buffer(true).expect(200);
    expect(log.text).toBe('\x02said in time\n');
    expect(again).toMatchObject({ id: lost.id, attempt: 2 });
    expect(await worker.endPlan(lost, { outcome: 'planned', hasChanges: true })).toBe(false);
    await other.start(again);
    await other.endPlan(again, { outcome: 'planned', hasChanges: true });
    const claimed = await worker.take('apply');
    await expire();
    const job = await other.take('apply');
    expect(job.id).toBe(claimed.id);
    expect(await worker.start(claimed)).toBe(false);
    expect(await other.start(job)).toBe(true);
    await expire();
    // No worker is needed for this: the service sees to it.
    const { db, env } = workspaces.service;
    expect(await settleAbandoned(db, env.keyring)).toBe(1);
    const ended = (await show(id)).attributes;
    expect(ended.status).toBe('errored');
    expect(ended['status-reason']).toContain('The worker was lost while applying');
    expect((await lockOf()).attributes.locked).toBe(false);
    // What it still had to say is kept, and changes nothing.
    expect(await other.endApply(job, { outcome: 'applied', state: stateOf(9) })).toBe(false);
    await admin.get(`workspaces/${workspace}/current-state-version`).expect(404);
    expect((await admin.get(`workspaces/${workspace}/quarantined-states`).expect(200)).body.data).toHaveLength(1);
  });

  it('keep a state that cannot be saved where people find it', async () => {
    const id = await started({ 'auto-apply': true });
    await worker.plan();
    const job = await worker.take('apply');
    await worker.start(job);
    await admin.post(`workspaces/${workspace}/actions/force-unlock`).expect(200);
    expect(await worker.endApply(job, { outcome: 'applied', state: stateOf(4) })).toBe(true);
    expect((await show(id)).attributes).toMatchObject({ status: 'errored' });
    const apply = (await admin.get(`runs/${id}/apply`).expect(200)).body.data;
    const found = await admin.get(`applies/${apply.id}/errored-state`).expect(307);
    expect((await fetchUrl(workspaces, found.headers.location!).expect(200)).body.toString()).toBe(
      stateOf(4).toString(),
    );
  });

  it('do not apply without the lock', async () => {
    const auto = await started({ 'auto-apply': true });
    const job = await worker.take('plan');
    await worker.start(job);
    await admin.post(`workspaces/${workspace}/actions/force-unlock`).expect(200);
    await admin.post(`workspaces/${workspace}/actions/lock`, {}).expect(200);
    await worker.endPlan(job, { outcome: 'planned', hasChanges: true });
    expect(await statusOf(auto)).toBe('planned');
    await act(auto, 'apply').expect(409);
    await admin.post(`workspaces/${workspace}/actions/unlock`).expect(200);
    await act(auto, 'apply').expect(202);
    const apply = await worker.take('apply');
    await admin.post(`workspaces/${workspace}/actions/force-unlock`).expect(200);
    await admin.post(`workspaces/${workspace}/actions/lock`, {}).expect(200);
    expect(await worker.start(apply)).toBe(false);
    expect((await show(auto)).attributes).toMatchObject({
      status: 'errored',
      'status-reason': expect.stringContaining('nothing was changed'),
    });
  });

  it('may vanish with their workspace while they are carried out', async () => {
    await started();
    const job = await worker.take('plan');
    await worker.start(job);
    await admin.delete(`workspaces/${workspace}`).expect(204);
    await worker.log(job, 'too late');
    expect(await worker.heartbeat(job)).toEqual({ mine: false, cancel: 'no' });
    expect(await worker.endPlan(job, { outcome: 'planned', jsonPlan: Buffer.from('{}') })).toBe(false);
    expect(await worker.start(job)).toBe(false);
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
    const here = { workspaces: { data: [{ type: 'workspaces', id: workspace }] } };
    const sets = [
      await varset('g', { global: true }, {}, [value('a', 'global'), value('e', 'global')]),
      await varset('b', {}, here, [value('a', 'second'), value('b', 'second')]),
      await varset('a', {}, here, [value('b', 'first'), value('c', 'first'), value('d', 'first')]),
      await varset('p', { priority: true }, here, [value('p', 'priority')]),
    ];
    await admin.post(`workspaces/${workspace}/vars`, value('c', 'own', { sensitive: true })).expect(201);
    await admin.post(`workspaces/${workspace}/vars`, value('d', 'own')).expect(201);
    await admin.post(`workspaces/${workspace}/vars`, value('p', 'own')).expect(201);
    await admin.post(`workspaces/${workspace}/vars`, value('X', 'env', { category: 'env' })).expect(201);
    const variables = [
      { key: 'd', value: '"run"' },
      { key: 'p', value: '"run"' },
    ];
    const id = await started({ variables, 'target-addrs': ['null_resource.a'], 'debugging-mode': true });
    expect((await show(id)).attributes).toMatchObject({ variables, 'target-addrs': ['null_resource.a'] });
    const job = await worker.take('plan');
    expect(job).toMatchObject({ targets: ['null_resource.a'], infraVersion: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
    const inputs = await worker.inputs(job);
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

  it.each([
    [{ 'is-destroy': true, 'refresh-only': true }, 'refresh-only'],
    [{ 'refresh-only': true, 'target-addrs': ['a.b'] }, 'refresh-only'],
    [{ 'refresh-only': true, 'replace-addrs': ['a.b'] }, 'refresh-only'],
    [{ 'refresh-only': true, refresh: false }, 'refresh-only'],
    [{ 'infra-version': '1.5.0' }, 'infra-version'],
    [{ 'plan-only': true, 'infra-version': 'no version' }, 'infra-version'],
    [{ 'plan-only': true, 'save-plan': true }, 'save-plan'],
    [{ 'target-addrs': ['-lock=false'] }, 'target-addrs'],
    [{ variables: [{ key: 'a b', value: '1' }] }, 'variables'],
    [
      {
        variables: [
          { key: 'a', value: '1' },
          { key: 'a', value: '2' },
        ],
      },
      'variables',
    ],
    [{ 'auto-apply': 'yes' }, 'auto-apply'],
  ])('are refused with %j', async (attributes, name) => {
    await configured(workspaces, workspace);
    const { body } = await startRun(admin, workspace, attributes).expect(422);
    expect(body.errors[0].source.pointer).toMatch(new RegExp(`^/data/attributes/${name}`));
  });

  it('need a workspace, a configuration that is there, and a place to run', async () => {
    await admin.post('runs', resource('runs', {})).expect(422);
    await startRun(admin, 'ws-nosuch').expect(404);
    const none = await startRun(admin, workspace).expect(422);
    expect(none.body.errors[0].detail).toContain('no configuration has been uploaded');
    const { id: pending } = await announced(admin, workspace);
    await startRun(admin, workspace, {}, pending).expect(422);
    const { id: other } = await workspaces.workspace('acme', `other-${counter}`);
    await startRun(admin, workspace, {}, await configured(workspaces, other)).expect(422);
    await configured(workspaces, workspace);
    await admin.patch(`workspaces/${workspace}`, resource('workspaces', { 'allow-destroy-plan': false })).expect(200);
    await startRun(admin, workspace, { 'is-destroy': true }).expect(422);
    await admin.patch(`workspaces/${workspace}`, resource('workspaces', { 'execution-mode': 'local' })).expect(200);
    const local = await startRun(admin, workspace).expect(422);
    expect(local.body.errors[0].detail).toContain('execution mode local');
  });

  it('are for those with the right: planning, applying, administering', async () => {
    const { body: team } = await admin
      .post('organizations/acme/teams', resource('teams', { name: `t${counter}` }))
      .expect(201);
    const grant = (access: string) =>
      admin.post('team-workspaces', {
        data: {
          type: 'team-workspaces',
          attributes: { access },
          relationships: { team: ref('teams', team.data.id), workspace: ref('workspaces', workspace) },
        },
      });
    const token = await admin
      .post(`teams/${team.data.id}/authentication-token`, resource('authentication-tokens'))
      .expect(201);
    const client = workspaces.as(token.body.data.attributes.token);
    const id = await started();
    await client.get(`runs/${id}`).expect(404);
    const { body: access } = await grant('read').expect(201);
    await client.get(`runs/${id}`).expect(200);
    await startRun(client, workspace).expect(404);
    await client.post(`runs/${id}/comments`, resource('comments', { body: 'hm' })).expect(404);
    await client.post(`runs/${id}/actions/cancel`, {}).expect(404);
    const level = (name: string) =>
      admin.patch(`team-workspaces/${access.data.id}`, resource('team-workspaces', { access: name })).expect(200);
    await level('plan');
    const planned = await startRun(client, workspace, { 'auto-apply': true }).expect(201);
    expect(planned.body.data.attributes['auto-apply']).toBe(false);
    expect(planned.body.data.relationships['created-by'].data.type).toBe('users');
    await startRun(client, workspace, { 'is-destroy': true }).expect(404);
    await client.post(`runs/${id}/comments`, resource('comments', { body: 'hm' })).expect(201);
    await client.post(`runs/${id}/actions/cancel`, {}).expect(404);
    await level('write');
    await startRun(client, workspace, { 'is-destroy': true }).expect(201);
    await client.post(`runs/${id}/actions/cancel`, {}).expect(202);
    await client.post(`runs/${id}/actions/force-cancel`, {}).expect(404);
    const made = await admin
      .post('organizations/acme/authentication-token', resource('authentication-tokens'))
      .expect(201);
    const organization = workspaces.as(made.body.data.attributes.token);
    await startRun(organization, workspace).expect(404);
    await organization.post(`workspaces/${workspace}/configuration-versions`).expect(404);
    await organization.post(`runs/${id}/actions/apply`, {}).expect(404);
  });

  it('are listed, filtered by comma-separated lists, and searched (WV.21)', async () => {
    await configured(workspaces, workspace);
    const plain = await made({ message: 'the plain one' });
    const destroy = await made({ 'is-destroy': true });
    const saved = await made({ 'save-plan': true });
    const speculative = await made({ 'plan-only': true });
    const refresh = await made({ 'refresh-only': true });
    await act(plain, 'discard').expect(202);
    const ids = async (query: string, of = `workspaces/${workspace}/runs`): Promise<string[]> =>
      (await admin.get(`${of}?${query}`).expect(200)).body.data.map((run: { id: string }) => run.id);
    expect(await ids('')).toEqual([refresh, saved, destroy, plain]);
    expect(await ids('filter[operation]=plan_only')).toEqual([speculative]);
    expect(await ids('filter[operation]=destroy,save_plan')).toEqual([saved, destroy]);
    expect(await ids('filter[operation]=refresh_only')).toEqual([refresh]);
    expect(await ids('filter[status]=discarded,applied')).toEqual([plain]);
    expect(await ids('filter[status_group]=final')).toEqual([plain]);
    expect(await ids('filter[status_group]=non_final')).toEqual([refresh, saved, destroy]);
    expect(await ids('filter[source]=tfe-ui')).toEqual([]);
    expect(await ids('filter[timeframe]=P1D&search[basic]=PLAIN')).toEqual([plain]);
    expect(await ids('search[user]=nobody-here')).toEqual([]);
    expect(await ids('search[user]=admin')).toHaveLength(4);
    expect(await ids('search[commit]=abc')).toEqual([]);
    await admin.get(`workspaces/${workspace}/runs?filter[status_group]=x`).expect(400);
    await admin.get(`workspaces/${workspace}/runs?filter[operation]=x`).expect(400);
    const paged = await admin
      .get(`workspaces/${workspace}/runs?page[size]=2&include=plan,workspace,created_by`)
      .expect(200);
    expect(paged.body.meta.pagination).toMatchObject({ 'total-count': 4, 'total-pages': 2 });
    expect(paged.body.included.map((one: { type: string }) => one.type).sort()).toEqual([
      'plans',
      'plans',
      'users',
      'workspaces',
    ]);
    const organization = await admin.get('organizations/acme/runs?page[size]=3').expect(200);
    expect(organization.body.data.map((run: { id: string }) => run.id)).toEqual([refresh, saved, destroy]);
    expect(organization.body.meta.pagination).toEqual({
      'current-page': 1,
      'page-size': 3,
      'prev-page': null,
      'next-page': 2,
    });
    expect(await ids(`filter[workspace_names]=nosuch`, 'organizations/acme/runs')).toEqual([]);
    await admin.get(`runs/${plain}?include=nonsense`).expect(400);
    const stranger = await workspaces.person(`stranger-${counter}`);
    await stranger.get(`workspaces/${workspace}/runs`).expect(404);
  });

  it('stand in the queue of their organization, which says how busy it is', async () => {
    const first = await started();
    const second = await made();
    const job = await worker.take('plan');
    await worker.start(job);
    const { body } = await admin.get('organizations/acme/runs/queue').expect(200);
    expect(
      body.data.map((run: { id: string; attributes: Record<string, unknown> }) => [
        run.id,
        run.attributes['position-in-queue'],
      ]),
    ).toEqual([
      [first, 0],
      [second, 1],
    ]);
    const capacity = await admin.get('organizations/acme/capacity').expect(200);
    expect(capacity.body.data).toMatchObject({
      type: 'organization-capacity',
      id: 'acme',
      attributes: { pending: 1, running: 1 },
    });
  });

  it('show their plan, its log as it grows, and its results by link', async () => {
    const id = await started();
    const { body: before } = await admin.get(`runs/${id}/plan`).expect(200);
    const url: string = before.data.attributes['log-read-url'];
    const window = async (offset: number, limit = 65_536): Promise<string> =>
      (await fetchUrl(workspaces, `${url}?offset=${offset}&limit=${limit}`).expect(200)).body.toString();
    expect(await window(0)).toBe('');
    const job = await worker.take('plan');
    await worker.start(job);
    expect(await window(0)).toBe('\x02');
    await worker.log(job, 'first\x03line\n');
    await worker.log(job, 'x'.repeat(70_000));
    expect(await window(0, 12)).toBe('\x02first line\n');
    expect(await window(7, 4)).toBe('line');
    expect(await window(70_012)).toBe('');
    await admin.get(`plans/${job.planId}/json-output`).expect(204);
    await worker.endPlan(job, {
      outcome: 'planned',
      hasChanges: true,
      additions: 3,
      jsonPlan: Buffer.from('{"full":1}'),
      redactedJsonPlan: Buffer.from('{"redacted":1}'),
    });
    expect(await window(70_000)).toBe(`${'x'.repeat(12)}\x03`);
    expect(await window(70_013)).toBe('');
    expect((await window(0)).length).toBe(65_536);
    await fetchUrl(workspaces, url.replace(/.{4}$/, 'AAAA')).expect(404);
    await admin.get(`plans/${job.planId}/logs?offset=x`).expect(400);
    const shown = await admin.get(`plans/${job.planId}`).expect(200);
    expect(shown.body.data.attributes).toMatchObject({
      status: 'finished',
      'has-changes': true,
      'resource-additions': 3,
      'execution-details': { mode: 'remote' },
    });
    for (const [path, text] of [
      [`plans/${job.planId}/json-output`, '{"full":1}'],
      [`runs/${id}/plan/json-output`, '{"full":1}'],
      [`plans/${job.planId}/json-output-redacted`, '{"redacted":1}'],
    ] as const) {
      const found = await admin.get(path).expect(307);
      expect((await fetchUrl(workspaces, found.headers.location!).expect(200)).body.toString()).toBe(text);
    }
    const sealed = await workspaces.service.pool.query('SELECT sealed FROM log_chunk LIMIT 1');
    expect(sealed.rows[0].sealed.includes('line')).toBe(false);
    await admin.get('cost-estimates/ce-1').expect(404);
  });

  it('tell what happened to them', async () => {
    const id = await started();
    await worker.plan();
    const comment = await admin.post(`runs/${id}/comments`, resource('comments', { body: 'why?' })).expect(201);
    await act(id, 'discard', { data: { attributes: { comment: 'enough' } } }).expect(202);
    const { body } = await admin.get(`runs/${id}/run-events?include=actor,comment`).expect(200);
    expect(body.included.map((one: { type: string }) => one.type).sort()).toEqual(['comments', 'comments', 'users']);
    expect(body.data.map((event: { attributes: { action: string } }) => event.attributes.action)).toEqual([
      'created',
      'plan-queued',
      'planning',
      'planned',
      'commented',
      'discarded',
      'commented',
    ]);
    await admin.get(`run-events/${body.data[0].id}`).expect(200);
    await admin.get(`comments/${comment.body.data.id}`).expect(200);
    expect((await show(id)).relationships.comments.data).toHaveLength(2);
    const audit = await admin.get(`organizations/acme/audit-events?filter[target]=${id}`).expect(200);
    expect(audit.body.data.map((event: { attributes: { action: string } }) => event.attributes.action)).toEqual([
      'run.discarded',
      'run.create',
    ]);
  });

  it('are shown with their workspace', async () => {
    const configuration = await configured(workspaces, workspace);
    await worker.claim();
    const id = await made();
    const { body } = await admin
      .get(
        `workspaces/${workspace}?include=current_run,current_run.plan,current_run.configuration_version,current_configuration_version,latest_run`,
      )
      .expect(200);
    expect(body.included.map((one: { type: string; id: string }) => [one.type, one.id])).toEqual(
      expect.arrayContaining([
        ['runs', id],
        ['configuration-versions', configuration],
        ['plans', expect.stringMatching(/^plan-/)],
      ]),
    );
    const listed = await admin.get('organizations/acme/workspaces?filter[current-run][status]=plan_queued').expect(200);
    expect(listed.body.data.map((one: { id: string }) => one.id)).toContain(workspace);
  });

  it.each([
    'runs/%00',
    'plans/%00',
    'applies/%00/logs',
    'plans/plan-nosuch/logs/1/x',
    'run-events/%00',
    'comments/%00',
    'configuration-versions/%00',
    'configuration-versions/cv-nosuch/download',
    'runs/run-nosuch/plan/json-output',
    'runs/run-nosuch/comments',
  ])('that do not exist are not found: %s', async (path) => {
    await admin.get(path).expect(404);
  });

  it.each(['filter[timeframe]=P9999D', 'filter[timeframe]=0000', 'search[basic]=%25%5C_'])(
    'are listed by whatever is asked: %s',
    async (query) => {
      const { body } = await admin.get(`workspaces/${workspace}/runs?${query}`).expect(200);
      expect(body.data).toEqual([]);
    },
  );

  it.each(['filter[status]', 'search[user]', 'search[basic]'])(
    'cannot be asked for by null characters: %s',
    async (name) => {
      const { body } = await admin.get(`workspaces/${workspace}/runs?${name}=a%00`).expect(400);
      expect(body.errors[0].source).toEqual({ parameter: name });
    },
  );

  it('are seen and ended by site administrators', async () => {
    const id = await started();
    const pending = await made();
    const root = await workspaces.person(`root-${counter}`, { siteAdmin: true });
    const ids = async (query: string) =>
      (await root.get(`admin/runs?${query}`).expect(200)).body.data.map((run: { id: string }) => run.id);
    expect(await ids('')).toEqual([pending, id]);
    expect(await ids(`q=${id}`)).toEqual([id]);
    expect(await ids('filter[status]=pending')).toEqual([pending]);
    const included = await admin.get('admin/runs?include=workspace,workspace.organization').expect(200);
    expect(included.body.included.map((one: { type: string }) => one.type)).toEqual(['workspaces', 'organizations']);
    await root.post(`admin/runs/${id}/actions/force-cancel`, { comment: 'misclick' }).expect(202);
    expect(await statusOf(id)).toBe('canceled');
    await root.post(`admin/runs/${id}/actions/force-cancel`, {}).expect(409);
    await root.post('admin/runs/run-nosuch/actions/force-cancel', {}).expect(404);
    const nobody = await workspaces.person(`nobody-${counter}`);
    await nobody.get('admin/runs').expect(404);
    await nobody.post(`admin/runs/${pending}/actions/force-cancel`, {}).expect(404);
  });

  it('are made once for an idempotency key', async () => {
    await configured(workspaces, workspace);
    const send = () => startRun(admin, workspace, { message: 'once' }).set('Idempotency-Key', `once-${counter}`);
    const first = await send().expect(201);
    const second = await send().expect(201);
    expect(second.body.data.id).toBe(first.body.data.id);
    expect((await admin.get(`workspaces/${workspace}/runs`).expect(200)).body.data).toHaveLength(1);
  });

  it('go to any number of workers, each job to one', async () => {
    const workers = Array.from({ length: 6 }, () => fakeWorker(workspaces));
    await configured(workspaces, workspace);
    for (let count = 0; count < 4; count++) await made({ 'plan-only': true });
    const first = await Promise.all(workers.map((one) => one.claim()));
    const second = await Promise.all(workers.map((one) => one.claim()));
    const ids = [...first, ...second].flatMap((job) => job?.id ?? []);
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
  });

  it('never take place at once in one workspace, however many workers there are', async () => {
    await configured(workspaces, workspace);
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
    // Whoever looked away too soon left work, never a lock.
    await work(workers[0]!);
    for (const id of ids) expect(await statusOf(id)).toBe('applied');
    expect((await lockOf()).attributes.locked).toBe(false);
  });

  it('of an organization that has none under way go first, where queuing is fair', async () => {
    await configured(workspaces, workspace);
    const busy = [await made({ 'plan-only': true }), await made({ 'plan-only': true })];
    await workspaces.organization(`other-${counter}`);
    ({ id: workspace } = await workspaces.workspace(`other-${counter}`, 'web'));
    await configured(workspaces, workspace);
    const patient = await made({ 'plan-only': true });
    const next = async () => (await worker.claim())?.runId;
    const { db } = workspaces.service;
    const order = async (fair: boolean) => {
      const value = { fairRunQueuingEnabled: fair };
      await db.prisma.setting.upsert({
        where: { name: 'general' },
        create: { name: 'general', value },
        update: { value },
      });
      await db.prisma.runJob.updateMany({ data: { state: 'queued', workerId: null, claimedUntil: null } });
      return [await next(), await next(), await next()];
    };
    expect(await order(false)).toEqual([...busy, patient]);
    expect(await order(true)).toEqual([busy[0], patient, busy[1]]);
    await db.prisma.setting.deleteMany({ where: { name: 'general' } });
  });
});
