import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { sweepPhaseData } from '../src/resources/runs/runs/phase-data';
import { grant, team, teamToken } from './members';
import { startRuns, stateOf } from './run-fixture';
import { resource } from './start-workspaces';

// If this failed, the results of a plan could not be hidden, would be hidden from some readers only, or could not be
// restored.

const plan = {
  jsonPlan: Buffer.from('{"of":"hush"}'),
  redactedJsonPlan: Buffer.from('{"provider_format_version":"1.0","provider_schemas":{}}'),
};
const counts = {
  ...{ resourcesDrifted: 0, resourcesUndrifted: 1 },
  ...{ checksPassed: 0, checksFailed: 0, checksErrored: 0, checksUnknown: 0 },
};

describe('results and logs of plans and applies', () => {
  const runs = startRuns();
  const { admin, workspaces } = runs;
  const pool = () => workspaces.service.pool;
  const act = (path: string, name: string) => admin.post(`${path}/actions/${name}-backing-data`);
  const applied = async () => {
    const id = await runs.started({ 'auto-apply': true });
    const job = await runs.worker.plan(plan);
    await runs.worker.apply({ outcome: 'errored', erroredState: stateOf(9) });
    return { id, plan: `plans/${job.planId}`, apply: `applies/${job.applyId}` };
  };
  const blobs = async () => Number((await pool().query('SELECT count(*) AS n FROM blob')).rows[0].n);
  const logOf = async (path: string) => (await admin.get(`${path}/logs`).expect(200)).text.replace(/[\x02\x03]/g, '');

  it('are hidden from everyone, and can be restored', async () => {
    const made = await applied();
    const before = await blobs();
    expect(await logOf(made.plan)).toContain('will perform');
    for (const path of [made.plan, made.apply]) await act(path, 'soft-delete').expect(204);
    for (const name of ['json-output', 'json-output-redacted', 'json-schema']) {
      await admin.get(`${made.plan}/${name}`).expect(204);
    }
    await admin.get(`${made.plan}/content/json-output`).expect(404);
    await admin.get(`${made.apply}/errored-state`).expect(404);
    expect(await logOf(made.plan)).toBe('');
    const exported = { type: 'plan-exports', attributes: { 'data-type': 'sentinel-mock-bundle-v0' } };
    const relationships = { plan: { data: { type: 'plans', id: made.plan.slice(6) } } };
    await admin.post('plan-exports', { data: { ...exported, relationships } }).expect(422);
    expect((await admin.get(made.plan).expect(200)).body.data.attributes).toMatchObject({
      status: 'finished',
      'resource-additions': 1,
    });
    for (const path of [made.plan, made.apply]) await act(path, 'soft-delete').expect(400);
    for (const path of [made.plan, made.apply]) await act(path, 'restore').expect(204);
    await admin.get(`${made.plan}/json-output`).expect(307);
    await admin.get(`${made.apply}/errored-state`).expect(307);
    expect(await logOf(made.plan)).toContain('will perform');
    expect(await blobs()).toBe(before);
    await act(made.plan, 'restore').expect(400);
    await act(made.plan, 'permanently-delete').expect(400);
  });

  it('are permanently removed with their bytes: by hand, a week later, and with the run', async () => {
    const before = await blobs();
    const byHand = await applied();
    for (const path of [byHand.plan, byHand.apply]) {
      await act(path, 'soft-delete').expect(204);
      await act(path, 'permanently-delete').expect(204);
      await act(path, 'restore').expect(400);
    }
    // Only the configuration of the run is left.
    expect(await blobs()).toBe(before + 1);
    await act(byHand.plan, 'soft-delete').expect(400);
    const { rows } = await pool().query('SELECT 1 FROM log_chunk WHERE phase_id = $1', [byHand.plan.slice(6)]);
    expect(rows).toEqual([]);

    const byClock = await applied();
    await act(byClock.plan, 'soft-delete').expect(204);
    const { db, env } = workspaces.service;
    await sweepPhaseData(db, env.now() + 6 * 86_400_000);
    await act(byClock.plan, 'restore').expect(204);
    await act(byClock.plan, 'soft-delete').expect(204);
    await sweepPhaseData(db, env.now() + 8 * 86_400_000);
    await act(byClock.plan, 'restore').expect(400);

    const withRun = await applied();
    for (const path of [withRun.plan, withRun.apply]) await act(path, 'soft-delete').expect(204);
    await pool().query('DELETE FROM run');
    // The configurations of three runs.
    expect(await blobs()).toBe(before + 3);
  });

  it('cannot be hidden before the run has ended, and only by owners', async () => {
    const id = await runs.started();
    const job = await runs.worker.plan(plan);
    const path = `plans/${job.planId}`;
    expect((await act(path, 'soft-delete').expect(400)).body.errors[0].detail).toContain('its run is in progress');
    await runs.act(id, 'discard').expect(202);
    const teamId = await team(workspaces, 'acme', `hiders-${runs.counter}`);
    await grant(workspaces, teamId, runs.workspace, 'admin');
    const administrator = await teamToken(workspaces, teamId);
    await administrator.post(`${path}/actions/soft-delete-backing-data`).expect(404);
    await (await workspaces.person(`passer-${runs.counter}`))
      .post(`${path}/actions/soft-delete-backing-data`)
      .expect(404);
    await act(path, 'soft-delete').expect(204);
    const { body } = await admin.get(`organizations/acme/audit-events?filter[target]=${job.planId}`).expect(200);
    expect(body.data.map((event: { attributes: { action: string } }) => event.attributes.action)).toContain(
      'plan.soft-delete-backing-data',
    );
  });
});

describe('a requested assessment', () => {
  const runs = startRuns();
  const { admin, workspaces } = runs;
  const assess = (client = admin) => client.post(`workspaces/${runs.workspace}/actions/assess`);
  /** A workspace whose state manages a resource. */
  const managing = async () => {
    await runs.started({ 'plan-only': true });
    await runs.worker.plan({ hasChanges: false });
    const one = { schema_version: 0, attributes: { id: 'x' } };
    const resources = [
      { mode: 'managed', type: 'crane', name: 'c', provider: 'provider["a.test/b/c"]', instances: [one] },
    ];
    const bytes = Buffer.from(JSON.stringify({ ...JSON.parse(stateOf(1).toString()), resources }));
    const md5 = createHash('md5').update(bytes).digest('hex');
    await admin.post(`workspaces/${runs.workspace}/actions/lock`, {}).expect(200);
    const body = resource('state-versions', { serial: 1, md5, lineage: 'l-1', state: bytes.toString('base64') });
    await admin.post(`workspaces/${runs.workspace}/state-versions`, body).expect(201);
    await admin.post(`workspaces/${runs.workspace}/actions/unlock`, {}).expect(200);
  };
  const current = async () =>
    (await admin.get(`workspaces/${runs.workspace}/current-assessment-result`).expect(200)).body.data;

  it('is carried out in the self-hosted edition, one at a time, and its result is shown', async () => {
    await managing();
    const answers = await Promise.all([assess(), assess()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const job = await runs.worker.plan({ ...plan, hasChanges: false, health: counts });
    expect(job).toMatchObject({ isAssessment: true, refreshOnly: true });
    const result = await current();
    expect(result.attributes).toMatchObject({ succeeded: true, drifted: false, 'resources-undrifted': 1 });
    const { body } = await admin.get(`organizations/acme/audit-events?filter[target]=${runs.workspace}`).expect(200);
    expect(body.data.map((event: { attributes: { action: string } }) => event.attributes.action)).toContain(
      'workspace.assess',
    );
    await assess().expect(200);
  });

  it('is refused if it is not possible', async () => {
    expect((await assess().expect(409)).body.errors[0].detail).toContain('manages no resources');
    await managing();
    const id = await runs.made();
    expect((await assess().expect(409)).body.errors[0].detail).toContain('a run or an assessment is in progress');
    await runs.act(id, 'cancel').expect(202);
    await admin
      .patch(`workspaces/${runs.workspace}`, resource('workspaces', { 'execution-mode': 'local' }))
      .expect(200);
    expect((await assess().expect(409)).body.errors[0].detail).toContain('execution mode');
  });

  it('is for administrators of the workspace; readers see its plan without secrets', async () => {
    await managing();
    const teamId = await team(workspaces, 'acme', `readers-${runs.counter}`);
    await grant(workspaces, teamId, runs.workspace, 'read');
    const reader = await teamToken(workspaces, teamId);
    await assess(reader).expect(404);
    await assess(await workspaces.person(`stranger-${runs.counter}`)).expect(404);
    await assess().expect(200);
    await runs.worker.plan({ ...plan, hasChanges: false, health: counts });
    const { id } = await current();
    expect((await reader.get(`assessment-results/${id}/sanitized-plan`).expect(200)).body).toEqual(
      JSON.parse(plan.redactedJsonPlan.toString()),
    );
    await reader.get(`assessment-results/${id}/json-output`).expect(404);
    const data = (name: string, client = admin) => client.post(`assessments/${id}/actions/${name}-backing-data`);
    await data('soft-delete', reader).expect(404);
    await data('soft-delete').expect(204);
    for (const name of ['sanitized-plan', 'json-output', 'json-schema']) {
      await admin.get(`assessment-results/${id}/${name}`).expect(404);
    }
    expect((await admin.get(`assessment-results/${id}/log-output`).expect(200)).text).toBe('');
    await data('restore').expect(204);
    await reader.get(`assessment-results/${id}/sanitized-plan`).expect(200);
    await data('soft-delete').expect(204);
    await data('permanently-delete').expect(204);
    await data('restore').expect(400);
  });
});
