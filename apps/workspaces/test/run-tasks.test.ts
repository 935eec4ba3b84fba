import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { performTasks } from '../src/resources/runs/task-stages/deliver';
import { grant, member, team, teamToken } from './members';
import { startRuns } from './run-fixture';
import { ref, resource } from './start-workspaces';

interface Asked {
  readonly body: Record<string, string>;
  readonly text: string;
  readonly signature: string | undefined;
}

const stages = ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'] as const;

describe('run tasks', () => {
  const runs = startRuns({ env: { WORKSPACES_NOTIFICATION_NETWORKS: '127.0.0.1' } });
  const { admin, workspaces } = runs;
  let server: Server;
  let url = '';
  let asked: Asked[] = [];
  let status = 200;
  /** Runs before a request is answered. */
  let meanwhile: (body: Record<string, string>) => Promise<unknown> = async () => undefined;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        const body = JSON.parse(text) as Record<string, string>;
        if (body.stage !== 'test') {
          asked.push({ body, text, signature: request.headers['x-tfc-task-signature'] as string | undefined });
        }
        void meanwhile(body).then(() => response.writeHead(status).end());
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/check`;
  });
  afterAll(() => void server.close());
  beforeEach(async () => {
    asked = [];
    status = 200;
    meanwhile = async () => undefined;
    await workspaces.service.pool.query('DELETE FROM run_task');
  });

  const task = async (attributes: object = {}) =>
    (
      await admin
        .post('organizations/acme/tasks', resource('tasks', { name: 'check', url, category: 'task', ...attributes }))
        .expect(201)
    ).body.data;
  const attach = async (taskId: string, at: readonly string[], level = 'mandatory') =>
    (
      await admin
        .post(
          `workspaces/${runs.workspace}/tasks`,
          resource('workspace-tasks', { 'enforcement-level': level, stages: at }, { task: ref('tasks', taskId) }),
        )
        .expect(201)
    ).body.data;
  const perform = () => {
    const { db, env } = workspaces.service;
    return performTasks({ db, keyring: env.keyring, reach: env.notificationReach, publicUrl: env.publicUrl });
  };
  const answerOf = (attributes: object, outcomes: object[] = []) => ({
    data: { type: 'task-results', attributes, relationships: { outcomes: { data: outcomes } } },
  });
  const callBack = ({ body }: Pick<Asked, 'body'>, answer: object, token = body.access_token) =>
    workspaces.as(token!).patch(new URL(body.task_result_callback_url!).pathname.replace('/api/v2/', ''), answer);
  const stagesOf = async (id: string) =>
    Object.fromEntries(
      (await admin.get(`runs/${id}/task-stages`).expect(200)).body.data.map(
        (one: { id: string; attributes: { stage: string; status: string } }) => [one.attributes.stage, one],
      ),
    ) as Record<
      string,
      { id: string; attributes: { status: string }; relationships: { 'task-results': { data: { id: string }[] } } }
    >;
  const statusesOf = async (id: string) =>
    Object.fromEntries(Object.entries(await stagesOf(id)).map(([name, one]) => [name, one.attributes.status]));
  const makeDue = () =>
    workspaces.service.pool.query(
      "UPDATE task_result SET next_at = now() - interval '1 second' WHERE next_at IS NOT NULL",
    );
  /** Sends due requests, and returns the last one. */
  const answered = async (attributes: object = { status: 'passed' }) => {
    await perform();
    await callBack(asked.at(-1)!, answerOf(attributes)).expect(200);
  };

  it('run at all four stages of a run with signed requests, and their answers are shown (WP.24, WV.12, WV.25, WV.27)', async () => {
    const made = await task({ 'hmac-key': 'secret' });
    expect(made.attributes).toMatchObject({ 'hmac-key': null, enabled: true, category: 'task' });
    const { id: attached } = await attach(made.id, ['post_plan']);
    const again = async (attributes: object) =>
      (
        await admin
          .patch(`workspaces/${runs.workspace}/tasks/${attached}`, resource('workspace-tasks', attributes))
          .expect(200)
      ).body.data.attributes;
    // The earlier setting, for a single stage.
    expect(await again({ stage: 'pre_apply' })).toMatchObject({ stage: 'pre_apply', stages: ['pre_apply'] });
    expect(await again({ stages })).toMatchObject({ stage: 'pre_plan', stages });
    const id = await runs.started();
    expect(await runs.statusOf(id)).toBe('pre_plan_running');
    expect(await runs.worker.claim()).toBeUndefined();
    await answered();
    const [first] = asked;
    expect(first!.signature).toBe(createHmac('sha512', 'secret').update(first!.text).digest('hex'));
    expect(first!.body).toMatchObject({
      payload_version: 1,
      stage: 'pre_plan',
      run_id: id,
      organization_name: 'acme',
      workspace_id: runs.workspace,
      task_result_enforcement_level: 'mandatory',
    });
    expect(first!.body).not.toHaveProperty('plan_json_api_url');
    await runs.worker.plan({ jsonPlan: Buffer.from('{"format_version":"1.2"}') });
    expect(await runs.statusOf(id)).toBe('post_plan_running');
    await runs.act(id, 'apply').expect(409);
    await perform();
    const second = asked.at(-1)!;
    const reader = workspaces.as(second.body.access_token!);
    const plan = new URL(second.body.plan_json_api_url!).pathname.replace('/api/v2/', '');
    expect((await reader.get(plan).expect(200)).body).toEqual({ format_version: '1.2' });
    const archive = new URL(second.body.configuration_version_download_url!).pathname.replace('/api/v2/', '');
    await reader.get(archive).expect(200);
    await workspaces.as('x').get(plan).expect(401);
    const outcome = {
      type: 'task-result-outcomes',
      attributes: {
        'outcome-id': 'O-1',
        description: 'cheap',
        url: 'https://task.test/1',
        tags: { Cost: [{ label: 'low', level: 'info' }] },
      },
    };
    await callBack(second, answerOf({ status: 'running', message: 'at work' })).expect(200);
    await callBack(second, answerOf({ status: 'passed', message: 'fine', url: 'https://task.test' }, [outcome])).expect(
      200,
    );
    await reader.get(plan).expect(409);
    const { 'task-results': results } = (await stagesOf(id)).post_plan!.relationships;
    const result = (await admin.get(`task-results/${results.data[0]!.id}`).expect(200)).body.data.attributes;
    expect(result).toMatchObject({ status: 'passed', message: 'fine', url: 'https://task.test', 'task-name': 'check' });
    expect(result.outcomes).toEqual([outcome.attributes]);
    const path = `task-results/${results.data[0]!.id}/outcomes`;
    const [listed, none] = (await admin.get(path).expect(200)).body.data;
    expect(none).toBeUndefined();
    expect(listed).toMatchObject({
      type: 'task-result-outcomes',
      attributes: { 'outcome-id': 'O-1', tags: [{ label: 'Cost', value: [{ label: 'low', level: 'info' }] }] },
      relationships: { 'task-result': { data: { type: 'task-results', id: results.data[0]!.id } } },
    });
    expect((await admin.get(`task-result-outcomes/${listed.id}`).expect(200)).body.data).toEqual(listed);
    await admin.get(`task-result-outcomes/${results.data[0]!.id}-1`).expect(404);
    const stranger = await workspaces.person('stranger-to-findings');
    for (const hidden of [path, `task-result-outcomes/${listed.id}`]) await stranger.get(hidden).expect(404);
    expect(await runs.statusOf(id)).toBe('post_plan_completed');
    await runs.act(id, 'apply').expect(202);
    expect(await runs.statusOf(id)).toBe('pre_apply_running');
    await answered();
    await runs.worker.apply();
    expect(await runs.statusOf(id)).toBe('applied');
    expect((await runs.lockOf()).attributes.locked).toBe(false);
    await answered();
    expect(asked.map(({ body }) => body.stage)).toEqual(stages);
    expect(await statusesOf(id)).toEqual(Object.fromEntries(stages.map((stage) => [stage, 'passed'])));
    const { body } = await admin.get(`runs/${id}?include=task_stages`).expect(200);
    expect(body.included.map((one: { type: string }) => one.type)).toEqual(stages.map(() => 'task-stages'));
  });

  it('that are mandatory hold a run until someone with the right overrides them, with a reason', async () => {
    await attach((await task()).id, ['post_plan']);
    const id = await runs.started({ 'auto-apply': true });
    await runs.worker.plan();
    await answered({ status: 'failed', message: 'too dear' });
    expect(await runs.statusOf(id)).toBe('post_plan_awaiting_decision');
    const { post_plan: stage } = await stagesOf(id);
    expect(stage!.attributes).toMatchObject({
      status: 'awaiting_override',
      actions: { 'is-overridable': true },
      permissions: { 'can-override-tasks': true },
    });
    const group = await team(workspaces, 'acme', 'writers');
    await grant(workspaces, group, runs.workspace, 'admin');
    const writer = await member(workspaces, 'acme', [group]);
    await writer.post(`task-stages/${stage!.id}/actions/override`, {}).expect(404);
    await runs.act(id, 'apply').expect(409);
    await admin.post(`task-stages/${stage!.id}/actions/override`, { comment: 'agreed' }).expect(200);
    await admin.post(`task-stages/${stage!.id}/actions/override`, {}).expect(409);
    expect(await runs.statusOf(id)).toBe('apply_queued');
    const comments = (await admin.get(`runs/${id}/comments`).expect(200)).body.data;
    expect(comments.map((one: { attributes: { body: string } }) => one.attributes.body)).toEqual(['agreed']);
  });

  it('that are mandatory end a plan that applies nothing, and those that are advisory do not', async () => {
    const made = await task();
    const { id: attached } = await attach(made.id, ['pre_plan']);
    const id = await runs.started({ 'plan-only': true });
    await answered({ status: 'failed' });
    expect(await runs.show(id)).toMatchObject({
      attributes: { status: 'errored', 'status-reason': 'Mandatory run tasks did not pass: check' },
    });
    await admin
      .patch(
        `workspaces/${runs.workspace}/tasks/${attached}`,
        resource('workspace-tasks', { 'enforcement-level': 'advisory' }),
      )
      .expect(200);
    const other = await runs.made({ 'plan-only': true });
    await answered({ status: 'failed' });
    expect(await runs.statusOf(other)).toBe('plan_queued');
    expect(await statusesOf(other)).toEqual({ pre_plan: 'passed' });
  });

  it('name the workspaces that use them, for those who may see these', async () => {
    const made = await task();
    const path = `tasks/${made.id}/relationships/workspace-tasks`;
    expect((await admin.get(path).expect(200)).body.data).toEqual([]);
    const { id } = await attach(made.id, ['pre_plan']);
    expect((await admin.get(path).expect(200)).body.data).toMatchObject([
      { id, type: 'workspace-tasks', relationships: { workspace: { data: { id: runs.workspace } } } },
    ]);
    const reader = await teamToken(workspaces, await team(workspaces, 'acme', 'task-readers'));
    await reader.get(`tasks/${made.id}`).expect(200);
    await reader.get(path).expect(404);
    await (await workspaces.person('stranger-to-tasks')).get(path).expect(404);
  });

  it('of the organization run in all workspaces (WV.6)', async () => {
    const everywhere = { enabled: true, stages: ['pre_plan'], 'enforcement-level': 'mandatory' };
    const made = await task({ 'global-configuration': everywhere });
    expect(made.attributes['global-configuration']).toEqual(everywhere);
    const id = await runs.started();
    expect(await statusesOf(id)).toEqual({ pre_plan: 'running' });
    await answered();
    expect(await runs.statusOf(id)).toBe('plan_queued');
  });

  it.each([
    ['forged', async (one: Asked) => callBack(one, answerOf({ status: 'passed' }), 'forged'), 401],
    ['without a token', async (one: Asked) => callBack(one, answerOf({ status: 'passed' }), ''), 401],
    ['with an unknown status', async (one: Asked) => callBack(one, answerOf({ status: 'errored' })), 422],
    [
      'with a link to a script',
      async (one: Asked) => callBack(one, answerOf({ status: 'passed', url: 'javascript:x' })),
      422,
    ],
    [
      'of ten megabytes',
      async (one: Asked) => callBack(one, answerOf({ status: 'passed', message: 'x'.repeat(10_000_000) })),
      413,
    ],
  ])('refuse an answer %s, and change nothing', async (_what, answer, expected) => {
    await attach((await task()).id, ['pre_plan']);
    const id = await runs.started();
    await perform();
    expect((await answer(asked[0]!)).status).toBe(expected);
    expect(await statusesOf(id)).toEqual({ pre_plan: 'running' });
    await callBack(asked[0]!, answerOf({ status: 'passed' })).expect(200);
    // A second answer, which is too late.
    await callBack(asked[0]!, answerOf({ status: 'failed' })).expect(409);
    expect(await statusesOf(id)).toEqual({ pre_plan: 'passed' });
  });

  it.each([
    ['deleted', (id: string) => admin.delete(`tasks/${id}`).expect(204)],
    [
      'given another URL',
      (id: string) =>
        workspaces.service.pool.query('UPDATE run_task SET url = $2 WHERE id = $1', [id, `${url}/elsewhere`]),
    ],
  ] as const)('that were %s in the meantime read nothing, answer nothing and get no request', async (_how, change) => {
    const { id } = await task();
    await attach(id, ['pre_plan']);
    const first = await runs.started();
    await perform();
    const [before] = asked;
    await change(id);
    await callBack(before!, answerOf({ status: 'passed' })).expect(409);
    const reading = new URL(before!.body.configuration_version_download_url!).pathname.replace('/api/v2/', '');
    await workspaces.as(before!.body.access_token!).get(reading).expect(409);
    await runs.act(first, 'cancel').expect(202);
    await workspaces.service.pool.query('DELETE FROM run_task');
    const { id: other } = await task({ name: 'other' });
    await attach(other, ['pre_plan']);
    const run = await runs.started();
    await change(other);
    await perform();
    expect(asked.filter(({ body }) => body.run_id === run)).toEqual([]);
    const shown = (await stagesOf(run)).pre_plan!;
    const { data } = (
      await admin.get(`task-results/${shown.relationships['task-results'].data.at(-1)!.id}`).expect(200)
    ).body;
    expect(data.attributes).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('its address has changed'),
    });
  });

  it('refuse the token of another run', async () => {
    await attach((await task()).id, ['pre_plan']);
    const id = await runs.started({ 'plan-only': true });
    await runs.made({ 'plan-only': true });
    await perform();
    const [one, other] = asked;
    expect(one!.body.access_token).not.toBe(other!.body.access_token);
    await callBack(one!, answerOf({ status: 'passed' }), other!.body.access_token).expect(401);
    expect(await statusesOf(id)).toEqual({ pre_plan: 'running' });
  });

  it('time out by the clock of the database, however often they report progress', async () => {
    await attach((await task()).id, ['pre_plan'], 'advisory');
    const id = await runs.started();
    await perform();
    await callBack(asked[0]!, answerOf({ status: 'running' })).expect(200);
    await perform();
    expect(await statusesOf(id)).toEqual({ pre_plan: 'running' });
    await workspaces.service.pool.query(`UPDATE task_result SET ends_at = now() + interval '1 s'`);
    await callBack(asked[0]!, answerOf({ status: 'running' })).expect(200);
    const { rows } = await workspaces.service.pool.query('SELECT next_at <= ends_at AS soon FROM task_result');
    expect(rows).toEqual([{ soon: true }]);
    await makeDue();
    await perform();
    expect(await runs.statusOf(id)).toBe('plan_queued');
    const { 'task-results': results } = (await stagesOf(id)).pre_plan!.relationships;
    const { attributes } = (await admin.get(`task-results/${results.data[0]!.id}`).expect(200)).body.data;
    expect(attributes).toMatchObject({ status: 'errored', message: 'The service of the task did not answer in time' });
    await callBack(asked[0]!, answerOf({ status: 'passed' })).expect(409);
  });

  it('are sent again if a service does not accept the request, and then given up', async () => {
    await attach((await task()).id, ['pre_plan']);
    const id = await runs.started();
    status = 503;
    // The service may be delivering at the same time.
    while ((await runs.statusOf(id)) !== 'pre_plan_awaiting_decision') {
      await perform();
      await makeDue();
    }
    expect(asked).toHaveLength(5);
    await runs.act(id, 'discard').expect(202);
    expect(await statusesOf(id)).toEqual({ pre_plan: 'canceled' });
  });

  it('accept an answer that arrives before the request is answered, and only one of two answers through two nodes', async () => {
    await attach((await task()).id, ['pre_plan']);
    const id = await runs.started();
    meanwhile = (body) => callBack({ body }, answerOf({ status: 'passed' })).expect(200);
    await Promise.all([perform(), perform()]);
    expect(asked).toHaveLength(1);
    expect(await runs.statusOf(id)).toBe('plan_queued');
    await makeDue();
    await perform();
    expect(asked).toHaveLength(1);
  });

  it('are sent again if a node dies after sending, and one of two answers is accepted', async () => {
    await attach((await task()).id, ['pre_plan']);
    const id = await runs.started();
    await perform();
    // As if the node had died before it recorded that the request was sent.
    await workspaces.service.pool.query(
      `UPDATE task_result SET sent_at = NULL, status = 'pending', next_at = now() - interval '1 second'`,
    );
    await perform();
    expect(asked).toHaveLength(2);
    const answers = await Promise.all(asked.map((one) => callBack(one, answerOf({ status: 'passed' }))));
    expect(answers.map((one) => one.status).sort()).toEqual([200, 409]);
    expect(await runs.statusOf(id)).toBe('plan_queued');
    const { rows } = await workspaces.service.pool.query(
      'SELECT count(*)::int AS jobs FROM run_job WHERE run_id = $1',
      [id],
    );
    expect(rows).toEqual([{ jobs: 1 }]);
  });

  it('end with a run that is canceled', async () => {
    await attach((await task()).id, ['pre_plan', 'post_plan']);
    const id = await runs.started();
    await perform();
    await runs.act(id, 'cancel').expect(202);
    expect(await runs.statusOf(id)).toBe('canceled');
    expect(await statusesOf(id)).toEqual({ pre_plan: 'canceled', post_plan: 'unreachable' });
    await callBack(asked[0]!, answerOf({ status: 'passed' })).expect(409);
  });

  it('hold a saved plan like any other plan', async () => {
    await attach((await task()).id, ['pre_apply']);
    const id = await runs.started({ 'save-plan': true });
    await runs.worker.plan();
    await runs.act(id, 'apply').expect(202);
    expect(await runs.statusOf(id)).toBe('pre_apply_running');
    const next = await runs.made();
    await runs.worker.claim();
    expect(await runs.statusOf(next)).toBe('pending');
    await answered();
    await runs.worker.apply();
    expect(await runs.statusOf(id)).toBe('applied');
  });

  it('are not sent to closed networks, and not created for services that do not accept a test', async () => {
    for (const [given, reason] of [
      ['http://10.0.0.1/x', 'a network that may not be called'],
      ['http://169.254.169.254/x', 'a network that may not be called'],
    ]) {
      const { body } = await admin
        .post('organizations/acme/tasks', resource('tasks', { name: 'far', url: given, category: 'task' }))
        .expect(422);
      expect(body.errors[0]).toMatchObject({
        detail: expect.stringContaining(reason!),
        source: { pointer: '/data/attributes/url' },
      });
    }
    status = 500;
    const { body } = await admin
      .post('organizations/acme/tasks', resource('tasks', { name: 'bad', url, category: 'task' }))
      .expect(422);
    expect(body.errors[0].detail).toContain('it answered 500');
  });

  it('do not sign requests to a new address with the old key', async () => {
    const made = await task({ 'hmac-key': 'secret' });
    const moved = { url: `${url}/other` };
    await admin.patch(`tasks/${made.id}`, resource('tasks', moved)).expect(422);
    await admin.patch(`tasks/${made.id}`, resource('tasks', { ...moved, 'hmac-key': null })).expect(200);
    await attach(made.id, ['pre_plan']);
    await runs.started();
    await perform();
    expect(asked[0]!.signature).toBeUndefined();
  });
});
