import { beforeAll, describe, expect, it } from '@jest/globals';
import type { RunJob } from '../src/resources/runs/runs/jobs/job';
import { announced, archiveOf, configured, fetchUrl, putUrl } from './configurations';
import { fakeWorker } from './fake-worker';
import { member, team } from './members';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

const said = (status: string, passed: number, failed: number) =>
  [
    `{"@message":"tests/a.tftest.hcl... in progress","type":"test_file"}`,
    JSON.stringify({
      type: 'test_run',
      test_run: { path: 'a.tftest.hcl', run: 'good', progress: 'complete', elapsed: 1500, status: 'pass' },
    }),
    JSON.stringify({
      type: 'test_run',
      test_run: { path: 'a.tftest.hcl', run: 'bad <&>', status: failed ? 'fail' : 'pass' },
    }),
    JSON.stringify({
      type: 'diagnostic',
      '@testfile': 'a.tftest.hcl',
      '@testrun': 'bad <&>',
      diagnostic: { severity: 'error', summary: 'Test assertion failed', detail: 'too "small" \u0001' },
    }),
    JSON.stringify({ type: 'test_summary', test_summary: { status, passed, failed, errored: 0, skipped: 0 } }),
    '',
  ].join('\n');

describe('tests of modules', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const worker = fakeWorker(workspaces);
  const under = (name: string, organization = 'acme') =>
    `organizations/${organization}/tests/registry-modules/private/${organization}/${name}/crane`;
  const modules = 'organizations/acme/registry-modules';

  beforeAll(async () => {
    await workspaces.organization('acme');
    await workspaces.organization('other');
  });

  const create = async (name: string, organization = 'acme', tests: object = { 'tests-enabled': true }) => {
    const body = resource('registry-modules', { name, provider: 'crane', 'test-config': tests });
    return (await admin.post(`organizations/${organization}/registry-modules`, body).expect(201)).body.data;
  };
  const uploaded = async (name: string, organization = 'acme') => {
    const { body } = await admin.post(`${under(name, organization)}/test-runs/configuration-versions`).expect(201);
    const { id, attributes } = body.data;
    expect(attributes).toMatchObject({ status: 'pending', speculative: true });
    await putUrl(workspaces, attributes['upload-url'], await archiveOf()).expect(200);
    return id as string;
  };
  const start = (name: string, configuration: string, attributes: object = {}, by: Client = admin) =>
    by.post(
      `${under(name)}/test-runs`,
      resource('test-runs', attributes, { 'configuration-version': ref('configuration-versions', configuration) }),
    );
  const show = async (name: string, id: string) =>
    (await admin.get(`${under(name)}/test-runs/${id}`).expect(200)).body.data.attributes;
  const end = (job: RunJob, outcome: 'finished' | 'errored' | 'canceled' = 'finished', errorMessage?: string) =>
    worker.endToolRun(job, { outcome, errorMessage });

  it('are carried out by a worker with the variables of the module, and show their results', async () => {
    const { id: moduleId, attributes } = await create('tested');
    expect(attributes['test-config']).toEqual({
      'tests-enabled': true,
      'agent-execution-mode': 'remote',
      'agent-pool-id': null,
    });
    const vars = `${under('tested')}/vars`;
    const variable = (key: string, value: string, more: object = {}) =>
      admin.post(vars, resource('vars', { key, value, category: 'env', ...more })).expect(201);
    const secret = (await variable('TOKEN', 'hidden', { sensitive: true })).body.data;
    expect(secret).toMatchObject({
      attributes: { value: null },
      relationships: { 'registry-module': { data: { type: 'registry-modules', id: moduleId } } },
    });
    await variable('size', '3', { category: 'terraform', hcl: true });
    const configuration = await uploaded('tested');
    expect((await admin.get(`configuration-versions/${configuration}`).expect(200)).body.data).toMatchObject({
      attributes: { status: 'uploaded' },
      relationships: { workspace: { data: null } },
    });
    const asked = {
      filters: ['a.tftest.hcl'],
      'test-directory': 'tests',
      verbose: true,
      parallelism: 4,
      variables: [{ key: 'size', value: '5' }],
    };
    const { body } = await start('tested', configuration, asked).expect(201);
    const { id } = body.data;
    expect(body.data.attributes).toMatchObject({ status: 'queued', 'test-status': 'pending', filters: asked.filters });
    const job = await worker.take('test');
    expect(job).toMatchObject({
      runId: id,
      workspaceId: '',
      workspaceName: 'tested',
      testing: { filters: ['a.tftest.hcl'], directory: 'tests', verbose: true, parallelism: 4 },
    });
    expect(await worker.start(job)).toBe(true);
    expect((await show('tested', id)).status).toBe('running');
    const inputs = await worker.inputs(job);
    expect(inputs.variables).toEqual([{ key: 'size', value: '5', hcl: true, sensitive: false }]);
    expect(inputs.environment).toEqual([{ key: 'TOKEN', value: 'hidden', hcl: false, sensitive: true }]);
    expect(inputs.registry).toBeDefined();
    expect(await inputs.state()).toBeUndefined();
    expect(await inputs.configuration()).toBeDefined();
    await admin.get(`${under('tested')}/test-runs/${id}/junit`).expect(409);
    const [first, ...rest] = said('fail', 1, 1).split('\n');
    await worker.log(job, `${first}\n`);
    // The summary is in the end of the log, which comes with the result.
    expect(await worker.endToolRun(job, { outcome: 'finished', log: { bytes: Buffer.from(rest.join('\n')) } })).toBe(
      true,
    );
    const shown = await show('tested', id);
    expect(shown).toMatchObject({
      status: 'finished',
      'test-status': 'fail',
      'tests-passed': 1,
      'tests-failed': 1,
      'tests-errored': 0,
      'tests-skipped': 0,
    });
    for (const name of ['queued-at', 'started-at', 'finished-at'])
      expect(shown['status-timestamps'][name]).toBeDefined();
    const log = await fetchUrl(workspaces, shown['log-read-url']).expect(200);
    expect(log.body.toString()).toContain('"test_summary"');
    const report = await admin.get(`${under('tested')}/test-runs/${id}/junit`).expect(200);
    expect(report.text).toContain('<testsuite name="a.tftest.hcl" tests="2" failures="1" errors="0" skipped="0">');
    expect(report.text).toContain('<testcase name="good" classname="a.tftest.hcl" time="1.5"/>');
    expect(report.text).toContain('name="bad &#60;&#38;&#62;"');
    expect(report.text).toContain('Test assertion failed\ntoo &#34;small&#34; </failure>');
    const listed = (await admin.get(`${under('tested')}/test-runs`).expect(200)).body;
    expect(listed.data.map((one: { id: string }) => one.id)).toEqual([id]);
    await admin.delete(`${modules}/private/acme/tested/crane`).expect(204);
    await admin.get(`${under('tested')}/test-runs/${id}`).expect(404);
    const left = await workspaces.service.db.prisma.runPhase.count({ where: { id } });
    expect(left).toBe(0);
  });

  it('can be canceled, at once or when the tool has stopped, and force-canceled after a while', async () => {
    await create('canceled');
    const configuration = await uploaded('canceled');
    const at = (id: string, verb: string) => `${under('canceled')}/test-runs/${id}/${verb}`;
    const waiting = (await start('canceled', configuration).expect(201)).body.data.id;
    await admin.post(at(waiting, 'force-cancel')).expect(409);
    await admin.post(at(waiting, 'cancel')).expect(204);
    expect(await show('canceled', waiting)).toMatchObject({ status: 'canceled', 'test-status': 'error' });
    await admin.post(at(waiting, 'cancel')).expect(409);
    expect(await worker.claim()).toBeUndefined();
    const running = (await start('canceled', configuration).expect(201)).body.data.id;
    const job = await worker.take('test');
    await worker.start(job);
    await admin.post(at(running, 'cancel')).expect(204);
    await admin.post(at(running, 'cancel')).expect(204);
    expect(await worker.heartbeat(job)).toEqual({ mine: true, cancel: 'cancel' });
    await admin.post(at(running, 'force-cancel')).expect(409);
    await workspaces.service.db.prisma.toolRun.update({
      where: { id: running },
      data: { canceledAt: new Date(Date.now() - 61_000) },
    });
    await admin.post(at(running, 'force-cancel')).expect(204);
    expect(await worker.heartbeat(job)).toEqual({ mine: false, cancel: 'force-cancel' });
    expect(await end(job)).toBe(false);
    expect(await show('canceled', running)).toMatchObject({ status: 'canceled' });
    await admin.post(at('nonsense', 'cancel')).expect(404);
  });

  it('end in error if their worker is lost, and do not start if their creator may no longer manage modules', async () => {
    await create('lost');
    const configuration = await uploaded('lost');
    const { db } = workspaces.service;
    const first = (await start('lost', configuration).expect(201)).body.data.id;
    const job = await worker.take('test');
    await worker.start(job);
    await db.prisma.$executeRaw`UPDATE run_job SET claimed_until = now() - interval '1 second' WHERE id = ${job.id}`;
    expect(await worker.claim()).toBeUndefined();
    expect(await show('lost', first)).toMatchObject({
      status: 'errored',
      'error-message': 'The worker was lost. Resources that the tests created may still exist',
    });
    const managers = await team(workspaces, 'acme', 'managers', ['manage-modules']);
    const person = await member(workspaces, 'acme', [managers]);
    const second = (await start('lost', configuration, {}, person).expect(201)).body.data.id;
    await admin.delete(`teams/${managers}`).expect(204);
    const taken = await worker.take('test');
    expect(await worker.start(taken)).toBe(false);
    expect(await show('lost', second)).toMatchObject({ status: 'canceled' });
  });

  it('are only for callers who manage modules, and only for modules with tests enabled', async () => {
    await create('mine');
    await create('theirs', 'other');
    await create('untested', 'acme', {});
    const [mine, untested] = [await uploaded('mine'), await uploaded('untested')];
    const theirs = await uploaded('theirs', 'other');
    const { body } = await admin.post(`${under('mine')}/test-runs/configuration-versions`).expect(201);
    const put = (bytes: Buffer) => putUrl(workspaces, body.data.attributes['upload-url'], bytes);
    await put(await archiveOf()).expect(200);
    await put(await archiveOf()).expect(200);
    await put(Buffer.from('none')).expect(409);
    await put(await archiveOf([['other.tf', '']])).expect(409);
    await start('mine', mine, { 'test-directory': '../up' }).expect(422);
    await start('untested', untested).expect(422);
    await start('mine', theirs).expect(422);
    await start('mine', untested).expect(422);
    const { id } = (await start('mine', mine).expect(201)).body.data;
    const reader = await member(workspaces, 'acme');
    for (const path of ['test-runs', `test-runs/${id}`, 'vars']) {
      await reader.get(`${under('mine')}/${path}`).expect(404);
    }
    await reader.get(`configuration-versions/${mine}`).expect(404);
    await start('mine', mine, {}, reader).expect(404);
    await admin.get(`${under('theirs', 'other')}/test-runs/${id}`).expect(404);
    await admin.post(`${under('theirs', 'other')}/test-runs/${id}/cancel`).expect(404);
    await admin.post(`${under('mine')}/test-runs/${id}/cancel`).expect(204);
  });

  it('run only on agents of a pool if the module requires it', async () => {
    let pools = 0;
    const pool = async (attributes: object) => {
      const body = resource('agent-pools', { name: `pool-${++pools}`, ...attributes });
      return (await admin.post('organizations/acme/agent-pools', body).expect(201)).body.data.id as string;
    };
    const [open, closed] = [await pool({}), await pool({ 'organization-scoped': false })];
    await create('pooled');
    const change = (config: object) =>
      admin.patch(`${modules}/private/acme/pooled/crane`, resource('registry-modules', { 'test-config': config }));
    await change({ 'agent-execution-mode': 'agent' }).expect(422);
    await change({ 'agent-execution-mode': 'remote', 'agent-pool-id': open }).expect(422);
    await change({ 'agent-pool-id': closed }).expect(422);
    const { attributes } = (await change({ 'agent-pool-id': open }).expect(200)).body.data;
    expect(attributes['test-config']).toEqual({
      'tests-enabled': true,
      'agent-execution-mode': 'agent',
      'agent-pool-id': open,
    });
    await start('pooled', await uploaded('pooled')).expect(201);
    expect(await worker.claim()).toBeUndefined();
    await change({ 'agent-execution-mode': 'remote' }).expect(200);
    const job = await worker.take('test');
    await worker.release(job);
    await end(await worker.take('test'), 'errored', 'the tests did not run');
  });

  it('are limited per module, and old ones are deleted', async () => {
    const { id: moduleId } = await create('many');
    const configuration = await uploaded('many');
    const { prisma } = workspaces.service.db;
    const { id: organizationId } = await prisma.organization.findFirstOrThrow({ where: { name: 'acme' } });
    const old = Array.from({ length: 120 }, (_, n) => ({
      id: `trun-old${n}`,
      kind: 'test',
      organizationId,
      moduleId,
      createdAt: new Date(n),
      finishedAt: new Date(n),
    }));
    await prisma.toolRun.createMany({ data: old });
    await start('many', configuration).expect(201);
    expect(await prisma.toolRun.count({ where: { moduleId } })).toBe(100);
    expect(await prisma.toolRun.count({ where: { id: 'trun-old119' } })).toBe(1);
    for (let n = 1; n < 50; n++) await start('many', configuration).expect(201);
    await start('many', configuration).expect(409);
  });
});

describe('queries', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const worker = fakeWorker(workspaces);

  it('are carried out by a worker with the inputs of a plan of their workspace', async () => {
    await workspaces.organization('acme');
    const { id: workspaceId } = await workspaces.workspace('acme', 'cranes');
    await admin
      .post(`workspaces/${workspaceId}/vars`, resource('vars', { key: 'A', value: '1', category: 'env' }))
      .expect(201);
    const ask = (attributes: object = {}, by: Client = admin, configuration?: string) =>
      by.post(
        'queries',
        resource('queries', attributes, {
          workspace: ref('workspaces', workspaceId),
          ...(configuration ? { 'configuration-version': ref('configuration-versions', configuration) } : {}),
        }),
      );
    await ask().expect(422);
    const configuration = await configured(workspaces, workspaceId);
    const pending = await announced(admin, workspaceId);
    await ask({}, admin, pending.id).expect(422);
    await ask({ 'infra-version': '9.9.9' }).expect(422);
    const pinned = (await ask({ 'infra-version': '1.11.4' }).expect(201)).body.data;
    expect(pinned.attributes['infra-version']).toBe('1.11.4');
    await admin.post(`queries/${pinned.id}/actions/cancel`).expect(204);
    const { id, attributes, relationships } = (await ask({ 'generate-config-out': false }).expect(201)).body.data;
    expect(attributes).toMatchObject({ status: 'queued', 'generate-config-out': false });
    expect(relationships['configuration-version'].data.id).toBe(configuration);
    const job = await worker.take('query');
    expect(await worker.start(job)).toBe(true);
    expect((await worker.inputs(job)).environment).toMatchObject([{ key: 'A', value: '1' }]);
    await worker.log(job, 'nothing\n');
    await worker.endToolRun(job, { outcome: 'errored', errorMessage: 'no command query' });
    const { body } = await admin.get(`queries/${id}?include=created_by`).expect(200);
    expect(body.data.attributes).toMatchObject({ status: 'errored', 'error-message': 'no command query' });
    expect(body.data.attributes['status-timestamps']).toMatchObject({
      'queuing-at': expect.any(String),
      'running-at': expect.any(String),
    });
    expect(body.included[0].type).toBe('users');
    const log = await fetchUrl(workspaces, body.data.attributes['log-read-url']).expect(200);
    expect(log.body.toString()).toBe('\u0002nothing\n\u0003');
    const listed = (await admin.get(`workspaces/${workspaceId}/queries`).expect(200)).body;
    expect(listed.data).toHaveLength(2);
    await admin.post(`queries/${id}/actions/cancel`).expect(409);
    await admin.post(`queries/${id}/actions/force-cancel`).expect(409);
    const stranger = await member(workspaces, 'acme');
    await stranger.get(`queries/${id}`).expect(404);
    await ask({}, stranger).expect(404);
    await admin.get('queries/nonsense').expect(404);
  });
});
