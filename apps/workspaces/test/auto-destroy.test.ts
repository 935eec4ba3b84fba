import { beforeEach, describe, expect, it } from '@jest/globals';
import { remindOfAutoDestroy, startAutoDestroy } from '../src/resources/runs/runs/auto-destroy';
import { configured } from './configurations';
import { managing, pushState, startRuns } from './run-fixture';
import { ref, resource } from './start-workspaces';

// If this failed, resources would be destroyed without a request, twice, or too early.

describe('automatic destruction', () => {
  const runs = startRuns();
  const { workspaces, admin } = runs;
  const db = () => workspaces.service.db;
  const sql = (text: string, values: unknown[] = []) => workspaces.service.pool.query(text, values);
  const start = () => startAutoDestroy(db(), workspaces.service.env.keyring);
  const runsOf = async (id = runs.workspace) => (await admin.get(`workspaces/${id}/runs`).expect(200)).body.data;
  const set = (attributes: object, id = runs.workspace) =>
    admin.patch(`workspaces/${id}`, resource('workspaces', attributes));
  const shown = async (id = runs.workspace): Promise<string | null> =>
    (await admin.get(`workspaces/${id}`).expect(200)).body.data.attributes['auto-destroy-at'];
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const hoursUntil = (at: string | null) =>
    Math.round((new Date(at ?? Number.NaN).getTime() - Date.now()) / 36_000) / 100;
  /** Sets all times back, as if these hours had passed. */
  const pass = (hours: number) =>
    sql(`ALTER TABLE workspace DISABLE TRIGGER workspace_auto_destroy;
         UPDATE workspace SET auto_destroy_at = auto_destroy_at - interval '${hours} hours',
                auto_destroy_due_at = auto_destroy_due_at - interval '${hours} hours';
         ALTER TABLE workspace ENABLE TRIGGER workspace_auto_destroy`);
  let serial = 0;
  /** Uploads a state with this many resources. */
  const manage = async (count: number, id = runs.workspace) => {
    serial += 1;
    await pushState(admin, id, managing(serial, count, `l-${id}`));
  };
  const trail = async () =>
    (await admin.get('organizations/acme/audit-events?page[size]=100').expect(200)).body.data.map(
      (one: { attributes: { action: string; after: { reason?: string } } }) => one.attributes,
    );
  const skipped = async () =>
    (await trail())
      .filter(({ action }: { action: string }) => action === 'workspace.auto-destroy-skip')
      .map(({ after }: { after: { reason: string } }) => after.reason);
  /** Waiting deliveries, newest first; they need not be sent. */
  const told = async () =>
    (
      await sql(
        'SELECT trigger, run_id, run_status, workspace_id, details FROM notification_delivery ORDER BY created_at',
      )
    ).rows;
  const subscribe = async () => {
    await sql(
      `INSERT INTO notification_configuration (id, workspace_id, name, destination_type, enabled, triggers)
       VALUES ('nc-' || gen_random_uuid(), $1, 'told', 'generic', true, $2)`,
      [runs.workspace, ['workspace:auto_destroy_reminder', 'workspace:auto_destroy_run_results']],
    );
  };

  beforeEach(() =>
    sql(`UPDATE workspace SET auto_destroy_at = NULL, auto_destroy_activity_duration = NULL, auto_destroy_due_at = NULL;
         DELETE FROM notification_configuration; DELETE FROM audit_event`),
  );

  it('queues one run when its time has come, which applies without confirmation, and clears the time (WV.13)', async () => {
    await configured(workspaces, runs.workspace);
    await manage(1);
    const at = inHours(30);
    const { body } = await set({ 'auto-destroy-at': at }).expect(200);
    expect(body.data.attributes['auto-destroy-at']).toBe(at);
    expect([await start(), await runsOf()]).toEqual([0, []]);
    await pass(31);
    expect([await start(), await start()]).toEqual([1, 0]);
    const [run, ...more] = await runsOf();
    expect(more).toEqual([]);
    expect(run.attributes).toMatchObject({
      source: 'tfe-infrastructure-lifecycle',
      'is-destroy': true,
      'auto-apply': true,
      'trigger-reason': 'manual',
      message: expect.stringMatching(/^Queued to destroy what the workspace manages, as of 20/),
    });
    expect(await shown()).toBeNull();
    const created = (await trail()).find(({ action }: { action: string }) => action === 'run.create');
    expect(created).toMatchObject({ after: { isDestroy: true } });
    await runs.worker.plan();
    await runs.worker.apply();
    expect(await runs.statusOf(run.id)).toBe('applied');
  });

  it('queues one run even if two nodes try, or the first is killed before it commits', async () => {
    await configured(workspaces, runs.workspace);
    await manage(1);
    await set({ 'auto-destroy-at': inHours(1) }).expect(200);
    await pass(2);
    // The first sweep crashes between clearing the time and queuing the run: neither has happened.
    const client = await workspaces.service.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM workspace WHERE id = $1 FOR UPDATE', [runs.workspace]);
    await client.query('UPDATE workspace SET auto_destroy_at = NULL WHERE id = $1', [runs.workspace]);
    const both = Promise.all([start(), start(), start()]);
    await client.query('ROLLBACK');
    client.release();
    expect((await both).sort()).toEqual([0, 0, 1]);
    expect(await runsOf()).toHaveLength(1);
  });

  it('counts from the last change of the state if workspaces may be idle for a limited time', async () => {
    await configured(workspaces, runs.workspace);
    const first = await set({ 'auto-destroy-activity-duration': '4h' }).expect(200);
    expect(first.body.data.attributes['auto-destroy-at']).toBeNull();
    await manage(1);
    expect(hoursUntil(await shown())).toBe(4);
    await pass(3);
    expect(hoursUntil(await shown())).toBe(1);
    await manage(2);
    expect(hoursUntil(await shown())).toBe(4);
    // A new duration counts from now, and the answer shows the new time.
    const longer = await set({ 'auto-destroy-activity-duration': '2d' }).expect(200);
    expect(hoursUntil(longer.body.data.attributes['auto-destroy-at'])).toBe(48);
    expect(longer.body.data.attributes['auto-destroy-activity-duration']).toBe('2d');
    // Other changes do not matter.
    await pass(5);
    await set({ description: 'busy' }).expect(200);
    await admin.post(`workspaces/${runs.workspace}/actions/lock`, {}).expect(200);
    await admin.post(`workspaces/${runs.workspace}/actions/unlock`, {}).expect(200);
    expect(hoursUntil(await shown())).toBe(43);
    await pass(44);
    expect([await start(), await start()]).toEqual([1, 0]);
    expect(await shown()).toBeNull();
    // The setting stays until the next change; after this run there is nothing left to destroy.
    await runs.worker.plan();
    const job = await runs.worker.take('apply');
    await runs.worker.start(job);
    await runs.worker.endApply(job, { outcome: 'applied' });
    expect(await shown()).toBeNull();
    await manage(0);
    expect(await shown()).toBeNull();
    await manage(1);
    expect(hoursUntil(await shown())).toBe(48);
    expect((await set({ 'auto-destroy-activity-duration': null }).expect(200)).body.data.attributes).toMatchObject({
      'auto-destroy-at': null,
      'auto-destroy-activity-duration': null,
    });
  });

  it('follows the project if the workspace sets nothing, also after changes and moves', async () => {
    const project = async (name: string, duration: string | null) =>
      (
        await admin
          .post(
            'organizations/acme/projects',
            resource('projects', { name, 'auto-destroy-activity-duration': duration }),
          )
          .expect(201)
      ).body.data.id;
    const brief = await project(`Brief ${runs.counter}`, '2h');
    const lasting = await project(`Lasting ${runs.counter}`, null);
    await manage(1);
    const move = (id: string) =>
      admin
        .patch(`workspaces/${runs.workspace}`, resource('workspaces', {}, { project: ref('projects', id) }))
        .expect(200);
    expect(await shown()).toBeNull();
    expect(hoursUntil((await move(brief)).body.data.attributes['auto-destroy-at'])).toBe(2);
    await pass(1);
    await admin
      .patch(`projects/${brief}`, resource('projects', { 'auto-destroy-activity-duration': '3d' }))
      .expect(200);
    expect(hoursUntil(await shown())).toBe(72);
    await admin.patch(`projects/${brief}`, resource('projects', { description: 'the same' })).expect(200);
    await pass(1);
    expect(hoursUntil(await shown())).toBe(71);
    const own = await set({ 'auto-destroy-activity-duration': null, 'inherits-project-auto-destroy': false });
    expect(own.body.data.attributes['auto-destroy-at']).toBeNull();
    const again = await set({ 'inherits-project-auto-destroy': true }).expect(200);
    expect(hoursUntil(again.body.data.attributes['auto-destroy-at'])).toBe(72);
    expect((await move(lasting)).body.data.attributes['auto-destroy-at']).toBeNull();
  });

  it('reports why it is impossible, and does not try again', async () => {
    await subscribe();
    const due = async () => {
      await set({ 'auto-destroy-at': inHours(1) }).expect(200);
      await pass(2);
      expect([await start(), await shown()]).toEqual([0, null]);
      expect(await start()).toBe(0);
    };
    await due();
    await manage(1);
    await due();
    await configured(workspaces, runs.workspace);
    await set({ 'allow-destroy-plan': false }).expect(200);
    await due();
    await set({ 'allow-destroy-plan': true, 'execution-mode': 'local' }).expect(200);
    await due();
    expect((await skipped()).reverse()).toEqual([
      'the workspace has no state: there is nothing to destroy',
      expect.stringContaining('no configuration has been uploaded'),
      expect.stringContaining('does not allow destroy plans'),
      expect.stringContaining('execution mode local'),
    ]);
    expect(await runsOf()).toEqual([]);
    expect((await told()).map(({ trigger, details }) => [trigger, typeof details.error])).toEqual(
      Array(4).fill(['workspace:auto_destroy_run_results', 'string']),
    );
  });

  it('waits for a lock and for the previous run, and is not queued while another destroy run waits', async () => {
    await configured(workspaces, runs.workspace);
    await manage(1);
    await runs.worker.claim();
    await admin.post(`workspaces/${runs.workspace}/actions/lock`, { reason: 'mine' }).expect(200);
    await set({ 'auto-destroy-at': inHours(1) }).expect(200);
    await pass(2);
    expect(await start()).toBe(1);
    const [run] = await runsOf();
    expect(run.attributes.status).toBe('pending');
    expect((await runs.show(run.id)).attributes['status-reason']).toContain('lock');
    await set({ 'auto-destroy-at': inHours(1) }).expect(200);
    await pass(2);
    expect([await start(), (await runsOf()).length]).toEqual([0, 1]);
  });

  it('reminds 24 and 12 hours ahead, once each and not for a time that was just set, and reports the result', async () => {
    await subscribe();
    await configured(workspaces, runs.workspace);
    await manage(1);
    await set({ 'auto-destroy-at': inHours(20) }).expect(200);
    const counts = async () => [await remindOfAutoDestroy(db()), await remindOfAutoDestroy(db())];
    expect(await counts()).toEqual([0, 0]);
    await pass(9);
    expect(await counts()).toEqual([1, 0]);
    // A move to another project changes the time.
    await set({ 'auto-destroy-at': inHours(40) }).expect(200);
    expect(await counts()).toEqual([0, 0]);
    await pass(17);
    expect(await counts()).toEqual([1, 0]);
    await pass(12);
    expect(await counts()).toEqual([1, 0]);
    await pass(12);
    expect(await counts()).toEqual([0, 0]);
    const at = expect.stringMatching(/^20.*Z$/);
    expect((await told()).map(({ details }) => details)).toEqual(Array(3).fill({ auto_destroy_at: at }));
    expect(await start()).toBe(1);
    await runs.worker.plan();
    await runs.worker.apply({ outcome: 'errored', errorMessage: 'no' });
    const [run] = await runsOf();
    expect((await told()).slice(3)).toEqual([
      expect.objectContaining({ trigger: 'workspace:auto_destroy_run_results', run_id: run.id, run_status: 'errored' }),
    ]);
    // Other runs send no reminders and reports.
    await runs.made({ 'plan-only': true });
    await runs.worker.plan();
    expect(await told()).toHaveLength(4);
  });

  it('stores a time that was already over when it was set, and ignores it', async () => {
    await configured(workspaces, runs.workspace);
    await manage(1);
    const at = inHours(-1);
    expect((await set({ 'auto-destroy-at': at }).expect(200)).body.data.attributes['auto-destroy-at']).toBe(at);
    expect([await start(), await remindOfAutoDestroy(db()), await shown()]).toEqual([0, 0, at]);
    const made = await admin
      .post(
        'organizations/acme/workspaces',
        resource('workspaces', { name: `late-${runs.counter}`, 'auto-destroy-at': at }),
      )
      .expect(201);
    expect(await shown(made.body.data.id)).toBe(at);
    // A request that repeats the value, as clients do, changes nothing. A state that changes when the time comes does
    // not clear it.
    const soon = inHours(1);
    await set({ 'auto-destroy-at': soon }).expect(200);
    await set({ 'auto-destroy-at': soon, description: 'again' }).expect(200);
    await pass(2);
    await manage(2);
    expect([await start(), await start(), await shown()]).toEqual([1, 0, null]);
  });

  it('skips workspaces that are being deleted, and deleted organizations', async () => {
    const { id } = await workspaces.workspace('acme', `gone-${runs.counter}`);
    await configured(workspaces, id);
    await manage(1, id);
    await set({ 'auto-destroy-at': inHours(1) }, id).expect(200);
    await pass(2);
    const [queued] = await Promise.all([start(), admin.delete(`workspaces/${id}`)]);
    expect([0, 1]).toContain(queued);
    expect(await start()).toBe(0);
    expect((await sql('SELECT 1 FROM run WHERE workspace_id = $1', [id])).rows).toHaveLength(
      (await sql('SELECT 1 FROM workspace WHERE id = $1', [id])).rows.length,
    );
  });
});
