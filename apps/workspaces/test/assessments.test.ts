import { createHash } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { forgetAssessments, startAssessments } from '../src/resources/runs/assessments/schedule';
import { settleAbandoned } from '../src/resources/runs/runs/jobs/abandoned';
import type { PlanResult } from '../src/resources/runs/runs/jobs/job';
import { configured, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { grant, team, teamToken } from './members';
import { stateOf } from './run-fixture';
import { type Client, resource, startWorkspaces } from './start-workspaces';

// If this failed, drift would go unreported, runs would wait for assessments, and readers would see secrets in plans.

const fine = {
  resourcesDrifted: 0,
  resourcesUndrifted: 3,
  checksPassed: 2,
  checksFailed: 0,
  checksErrored: 0,
  checksUnknown: 0,
};

describe('assessments', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: 'hosted' } });
  const { admin } = workspaces;
  const sql = (text: string, values: unknown[] = []) => workspaces.service.pool.query(text, values);
  const db = () => workspaces.service.db;
  const keyring = () => workspaces.service.env.keyring;
  let counter = 0;
  let workspace = '';
  let worker = fakeWorker(workspaces);

  /** Uploads a state with a resource. */
  const manage = async (id = workspace, serial = 1) => {
    const one = { schema_version: 0, attributes: { id: 'x', secret: 'hush' } };
    const resources = [
      { mode: 'managed', type: 'crane', name: 'c', provider: 'provider["a.test/b/c"]', instances: [one] },
    ];
    const bytes = Buffer.from(JSON.stringify({ ...JSON.parse(stateOf(serial).toString()), resources }));
    const md5 = createHash('md5').update(bytes).digest('hex');
    const body = resource('state-versions', { serial, md5, lineage: 'l-1', state: bytes.toString('base64') });
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    await admin.post(`workspaces/${id}/state-versions`, body).expect(201);
    await admin.post(`workspaces/${id}/actions/unlock`, {}).expect(200);
  };
  const make = async (attributes: object = { 'assessments-enabled': true }) => {
    ({ id: workspace } = await workspaces.workspace('acme', `dock-${++counter}`, attributes));
    await configured(workspaces, workspace);
    await manage();
  };
  const start = (hours = 24) => startAssessments(db(), hours);
  const due = () =>
    sql(`UPDATE workspace SET assessment_due_at = now() - interval '1 second' WHERE id = $1`, [workspace]);
  const shown = async (client: Client = admin) => (await client.get(`workspaces/${workspace}`).expect(200)).body.data;
  const current = async () =>
    (await admin.get(`workspaces/${workspace}/current-assessment-result`).expect(200)).body.data;
  const hidden = async () =>
    (await sql('SELECT id, status FROM run WHERE workspace_id = $1 AND is_assessment ORDER BY number', [workspace]))
      .rows;
  /** Carries out the waiting assessment. */
  const assess = async (health: object | undefined = fine, more: Partial<PlanResult> = {}) => {
    const given = { hasChanges: false, health: health as typeof fine, jsonPlan: Buffer.from('{"of":"hush"}') };
    const redactedJsonPlan = Buffer.from('{"provider_format_version":"1.0","provider_schemas":{"a.test/b/c":{}}}');
    return worker.plan({ ...given, redactedJsonPlan, planFile: undefined, ...more });
  };
  const again = async (health?: object, more?: Partial<PlanResult>) => {
    await due();
    expect(await start()).toBe(1);
    await assess(health, more);
    return current();
  };

  beforeAll(async () => {
    await workspaces.organization('acme');
  });
  beforeEach(async () => {
    await sql('DELETE FROM run; DELETE FROM run_worker; DELETE FROM notification_configuration');
    await sql('UPDATE workspace SET assessments_enabled = false; UPDATE organization SET assessments_enforced = false');
    worker = fakeWorker(workspaces);
    await worker.claim();
  });

  it('start within minutes, are repeated a day later, and appear as results, never as runs', async () => {
    await make();
    expect([await start(), await start()]).toEqual([0, 0]);
    const dueAt = async () =>
      (await sql('SELECT assessment_due_at FROM workspace WHERE id = $1', [workspace])).rows[0].assessment_due_at;
    const first = (await dueAt()).getTime() - Date.now();
    expect(first).toBeLessThan(600_000);
    await due();
    expect([await start(), await start()]).toEqual([1, 0]);
    const hours = ((await dueAt()).getTime() - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(21);
    expect(hours).toBeLessThan(27);
    await admin.get(`workspaces/${workspace}/current-assessment-result`).expect(404);
    const job = await assess();
    expect(job).toMatchObject({ isAssessment: true, refreshOnly: true, planOnly: true, structuredOutput: true });
    const result = await current();
    expect(result).toEqual({
      id: expect.stringMatching(/^asmtres-/),
      type: 'assessment-results',
      attributes: {
        drifted: false,
        succeeded: true,
        'error-msg': null,
        'all-checks-succeeded': true,
        'resources-drifted': 0,
        'resources-undrifted': 3,
        'checks-passed': 2,
        'checks-failed': 0,
        'checks-errored': 0,
        'checks-unknown': 0,
        'created-at': expect.any(String),
      },
      relationships: {},
      links: {
        self: `/api/v2/assessment-results/${result.id}`,
        'json-output': `/api/v2/assessment-results/${result.id}/json-output`,
        'json-schema': `/api/v2/assessment-results/${result.id}/json-schema`,
        'sanitized-plan': `/api/v2/assessment-results/${result.id}/sanitized-plan`,
        'log-output': `/api/v2/assessment-results/${result.id}/log-output`,
      },
    });
    const data = await shown();
    expect(data.attributes['last-assessment-result-at']).toBe(result.attributes['created-at']);
    expect(data.relationships['current-assessment-result'].data).toEqual({ type: 'assessment-results', id: result.id });
    // The assessment does not appear in any list of runs.
    const [{ id }] = await hidden();
    expect([data.relationships['current-run'].data, data.relationships['latest-run'].data]).toEqual([null, null]);
    expect(data.attributes['workspace-kpis-runs-count']).toBeNull();
    expect((await admin.get(`workspaces/${workspace}/runs`).expect(200)).body.data).toEqual([]);
    for (const path of [
      `runs/${id}`,
      `runs/${id}/plan`,
      `runs/${id}/run-events`,
      `runs/${id}/comments`,
      `plans/${job.planId}`,
      `plans/${job.planId}/json-output`,
      `plans/${job.planId}/logs`,
      `applies/${job.applyId}`,
    ]) {
      await admin.get(path).expect(404);
    }
    await admin.post(`runs/${id}/actions/cancel`, {}).expect(404);
    const list = (await admin.get('organizations/acme/runs').expect(200)).body.data;
    expect(list).toEqual([]);
    expect((await sql('SELECT 1 FROM run_event')).rows).toEqual([]);
  });

  it('show their plans only to administrators of the workspace, and to no token of an organization', async () => {
    await make();
    const { id } = await again();
    const teamId = await team(workspaces, 'acme', `viewers-${counter}`);
    await grant(workspaces, teamId, workspace, 'read');
    const reader = await teamToken(workspaces, teamId);
    const made = await admin.post('organizations/acme/authentication-token', resource('authentication-tokens'));
    const ofOrganization = workspaces.as(made.body.data.attributes.token);
    await workspaces.organization(`other-${counter}`, {}, await workspaces.person(`stranger-${counter}`));
    const stranger = await workspaces.person(`passer-${counter}`);
    await reader.get(`assessment-results/${id}`).expect(200);
    await stranger.get(`assessment-results/${id}`).expect(404);
    for (const name of ['json-output', 'json-schema', 'log-output']) {
      await reader.get(`assessment-results/${id}/${name}`).expect(404);
      await stranger.get(`assessment-results/${id}/${name}`).expect(404);
      await ofOrganization.get(`assessment-results/${id}/${name}`).expect(404);
    }
    expect((await admin.get(`assessment-results/${id}/json-output`).expect(200)).body).toEqual({ of: 'hush' });
    expect((await admin.get(`assessment-results/${id}/json-schema`).expect(200)).body).toEqual({
      format_version: '1.0',
      provider_schemas: { 'a.test/b/c': {} },
    });
    const log = await admin.get(`assessment-results/${id}/log-output`).expect(200);
    expect(log.text).toBe('Terraform will perform the following actions\n');
    await admin.get('assessment-results/asmtres-nothing').expect(404);
    const { rows } = await sql('SELECT sealed FROM blob_chunk');
    expect(rows.some(({ sealed }) => sealed.includes('hush'))).toBe(false);
  });

  it('give way to runs, take no lock, and do not begin during a run', async () => {
    await make();
    await due();
    expect(await start()).toBe(1);
    expect((await shown()).attributes.locked).toBe(false);
    const job = await worker.take('plan');
    await worker.start(job);
    expect((await shown()).attributes.locked).toBe(false);
    const run = (await startRun(admin, workspace).expect(201)).body.data.id;
    expect(await hidden()).toMatchObject([{ status: 'canceled' }]);
    expect(await worker.heartbeat(job)).toMatchObject({ mine: false });
    expect(await worker.endPlan(job, { outcome: 'planned', health: fine })).toBe(false);
    await admin.get(`workspaces/${workspace}/current-assessment-result`).expect(404);
    await due();
    expect(await start()).toBe(0);
    await worker.plan();
    await due();
    expect(await start()).toBe(0);
    await admin.post(`runs/${run}/actions/discard`, {}).expect(202);
    expect(await start()).toBe(1);
    // A plan-only run does not cancel the assessment.
    await startRun(admin, workspace, { 'plan-only': true }).expect(201);
    expect(await hidden()).toMatchObject([{ status: 'canceled' }, { status: 'plan_queued' }]);
  });

  it('come after all runs if there are few workers', async () => {
    await make();
    await due();
    expect(await start()).toBe(1);
    const { id: other } = await workspaces.workspace('acme', `busy-${counter}`);
    await configured(workspaces, other);
    const run = (await startRun(admin, other, { 'plan-only': true }).expect(201)).body.data.id;
    expect((await worker.take('plan')).runId).toBe(run);
    expect((await worker.take('plan')).isAssessment).toBe(true);
  });

  it('are for workspaces of the hosted edition that can be assessed, and for all if the organization requires it', async () => {
    await make({});
    await due();
    expect(await start()).toBe(0);
    await sql('UPDATE organization SET assessments_enforced = true');
    expect(await start(0)).toBe(0);
    expect(await start()).toBe(1);
    await sql('DELETE FROM run');
    for (const attributes of [{ 'execution-mode': 'local' }, { 'infra-version': '0.15.3' }]) {
      await make(attributes);
      await due();
      expect([await start(), await hidden()]).toEqual([0, []]);
    }
    ({ id: workspace } = await workspaces.workspace('acme', `bare-${++counter}`));
    await manage();
    await due();
    expect(await start()).toBe(0);
    ({ id: workspace } = await workspaces.workspace('acme', `empty-${++counter}`));
    await configured(workspaces, workspace);
    await due();
    expect(await start()).toBe(0);
    await sql(`UPDATE subscription SET feature_set = 'standard'`);
    await make();
    await due();
    expect(await start()).toBe(0);
    await sql(`UPDATE subscription SET feature_set = 'business'`);
  });

  it.each([
    ['switched off', 'UPDATE workspace SET assessments_enabled = false', ''],
    ['in local mode', "UPDATE workspace SET execution_mode = 'local'", ''],
    [
      'in an organization whose plan has no assessments',
      "UPDATE subscription SET feature_set = 'standard'",
      "UPDATE subscription SET feature_set = 'business'",
    ],
  ])('do not start if they were %s while they waited', async (_how, lose, restore) => {
    await make();
    await due();
    expect(await start()).toBe(1);
    const job = await worker.take('plan');
    await sql(lose);
    expect(await worker.start(job)).toBe(false);
    expect(await hidden()).toMatchObject([{ status: 'canceled' }]);
    const { rows } = await sql(
      "SELECT after FROM audit_event WHERE action = 'run.plan-refuse' ORDER BY id DESC LIMIT 1",
    );
    expect(rows).toEqual([{ after: { reason: 'the workspace is no longer assessed' } }]);
    if (restore) await sql(restore);
  });

  it('run one at a time, also on two nodes and after a worker was lost', async () => {
    await make();
    await due();
    const both = await Promise.all([start(), start(), start()]);
    expect(both.sort()).toEqual([0, 0, 1]);
    for (let attempt = 0; attempt < 3; attempt++) {
      const job = await worker.take('plan');
      await worker.start(job);
      await sql(`UPDATE run_job SET claimed_until = now() - interval '1 second'`);
      await settleAbandoned(db(), keyring());
    }
    expect((await current()).attributes).toMatchObject({
      succeeded: false,
      drifted: false,
      'error-msg': 'The worker was lost during the plan, 3 times',
    });
  });

  it('report why they failed, and are ignored if the state has changed in the meantime', async () => {
    await make();
    const failed = await again(undefined, { outcome: 'errored', errorMessage: 'init failed' });
    expect(failed.attributes).toMatchObject({ succeeded: false, 'error-msg': 'init failed', 'resources-undrifted': 0 });
    const old = await again(undefined, { health: undefined });
    expect(old.attributes).toMatchObject({ succeeded: false, 'error-msg': expect.stringContaining('too old') });
    await due();
    expect(await start()).toBe(1);
    const job = await worker.take('plan');
    await worker.start(job);
    await manage(workspace, 2);
    expect(await worker.endPlan(job, { outcome: 'planned', health: { ...fine, resourcesDrifted: 1 } })).toBe(true);
    expect((await current()).id).toBe(old.id);
    const { rows } = await sql(
      `SELECT assessment_due_at < now() + interval '61 minutes' AS soon FROM workspace WHERE id = $1`,
      [workspace],
    );
    expect(rows).toEqual([{ soon: true }]);
  });

  it('notify people of new results', async () => {
    await make();
    await sql(
      `INSERT INTO notification_configuration (id, workspace_id, name, destination_type, enabled, triggers)
       VALUES ('nc-a', $1, 'told', 'generic', true, $2)`,
      [
        workspace,
        ['assessment:drifted', 'assessment:check_failure', 'assessment:failed', 'run:created', 'run:completed'],
      ],
    );
    const drifted = { ...fine, resourcesDrifted: 2, resourcesUndrifted: 1 };
    const first = await again(drifted);
    await again(drifted);
    await again({ ...drifted, resourcesDrifted: 1 });
    await again({ ...fine, checksPassed: 1, checksFailed: 1 });
    await again({ ...fine, checksPassed: 1, checksFailed: 1 });
    await again(fine);
    await again(undefined, { outcome: 'errored', errorMessage: 'no' });
    await again(undefined, { outcome: 'errored', errorMessage: 'no' });
    const { rows } = await sql(
      'SELECT trigger, run_id, workspace_id, details FROM notification_delivery ORDER BY created_at, id',
    );
    expect(rows.map(({ trigger }) => trigger)).toEqual([
      'assessment:drifted',
      'assessment:drifted',
      'assessment:check_failure',
      'assessment:failed',
      'assessment:failed',
    ]);
    expect(rows[0]).toMatchObject({
      run_id: null,
      workspace_id: workspace,
      details: {
        prior_assessment_result: null,
        new_assessment_result: {
          id: first.id,
          succeeded: true,
          drifted: true,
          all_checks_succeeded: true,
          resources_drifted: 2,
          resources_undrifted: 1,
          checks_passed: 2,
          checks_failed: 0,
        },
      },
    });
    expect(rows[1].details.prior_assessment_result).toMatchObject({ resources_drifted: 2 });
  });

  it('are deleted after a month, except the newest; those without a result are deleted after a day', async () => {
    await make();
    const old = (await again()).id;
    const newest = (await again()).id;
    await due();
    await start();
    await worker.take('plan');
    await startRun(admin, workspace).expect(201);
    await sql(`UPDATE run SET finished_at = finished_at - interval '31 days' WHERE is_assessment`);
    expect(await forgetAssessments(db())).toBe(2);
    await admin.get(`assessment-results/${old}`).expect(404);
    await admin.get(`assessment-results/${newest}`).expect(200);
    expect(await hidden()).toHaveLength(1);
    await admin.delete(`workspaces/${workspace}`).expect(204);
    await admin.get(`assessment-results/${newest}`).expect(404);
    expect((await sql('SELECT 1 FROM assessment_result WHERE workspace_id = $1', [workspace])).rows).toEqual([]);
  });
});
