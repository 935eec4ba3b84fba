import { beforeAll, describe, expect, it } from '@jest/globals';
import { endUnserved } from '../src/resources/runs/runs/jobs/abandoned';
import { configured, fetchUrl, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { startRuns } from './run-fixture';
import { resource } from './start-workspaces';

describe('a run of a version', () => {
  const runs = startRuns();
  const { workspaces, admin, show, statusOf, made, lockOf } = runs;
  const pin = (version: string, workspace = runs.workspace) =>
    admin.patch(`workspaces/${workspace}`, resource('workspaces', { 'infra-version': version })).expect(200);
  const reasonOf = async (id: string): Promise<string> => (await show(id)).attributes['status-reason'];

  it('that no worker has waits visibly, and is carried out only by a worker with its version (W6.15)', async () => {
    await configured(workspaces, runs.workspace);
    await pin('1.5.7');
    await runs.worker.claim();
    const id = await made();
    expect(await statusOf(id)).toBe('pending');
    expect(await reasonOf(id)).toBe('Waiting for a worker with version 1.5.7 of the tool. Workers have 1.11.4.');
    expect((await lockOf()).attributes.locked).toBe(false);
    expect(await runs.worker.claim()).toBeUndefined();
    expect(await statusOf(id)).toBe('pending');
    const old = fakeWorker(workspaces, 'old', ['1.5.7']);
    expect(await old.take('plan')).toMatchObject({ runId: id, infraVersion: '1.5.7' });
    expect(await reasonOf(id)).toBe('Waiting for a worker to become free');
  });

  it('is not overtaken by later runs, which show what they wait for', async () => {
    await configured(workspaces, runs.workspace);
    await pin('1.5.7');
    await runs.worker.claim();
    const first = await made();
    const second = await made();
    const speculative = await made({ 'plan-only': true, 'infra-version': '1.11.4' });
    expect(await reasonOf(second)).toBe(`Waiting for ${first} to end: a workspace has one run at a time`);
    expect(await runs.worker.take('plan')).toMatchObject({ runId: speculative });
    expect(await runs.worker.claim()).toBeUndefined();
    await runs.act(first, 'discard').expect(202);
    await pin('1.11.4');
    expect(await runs.worker.take('plan')).toMatchObject({ runId: second });
  });

  it('does not block other workspaces, however many wait', async () => {
    await runs.worker.claim();
    for (let n = 0; n < 21; n++) {
      const { id } = await workspaces.workspace('acme', `old-${runs.counter}-${n}`, { 'infra-version': '1.5.7' });
      await configured(workspaces, id);
      await startRun(admin, id).expect(201);
    }
    await runs.worker.retire();
    await configured(workspaces, runs.workspace);
    const id = await made();
    expect(await runs.worker.take('plan')).toMatchObject({ runId: id });
  });

  it('keeps its lock while it waits if the worker disappears between plan and apply', async () => {
    await configured(workspaces, runs.workspace);
    await pin('1.5.7');
    const old = fakeWorker(workspaces, 'old-2', ['1.5.7', '1.6.0']);
    await old.claim();
    const id = await made({ 'auto-apply': true });
    await old.plan();
    expect(await statusOf(id)).toBe('apply_queued');
    await old.retire();
    expect(await runs.worker.claim()).toBeUndefined();
    expect(await reasonOf(id)).toBe('Waiting for a worker with version 1.5.7 of the tool. Workers have 1.11.4.');
    expect((await lockOf()).attributes.locked).toBe(true);
    await old.apply();
    expect(await statusOf(id)).toBe('applied');
  });

  it('that was not chosen uses one that workers have', async () => {
    await fakeWorker(workspaces, 'two', ['1.4.6', '1.4.2']).claim();
    const versionOf = async (name: string, attributes: object = {}) => {
      const { id } = await workspaces.workspace('acme', `${name}-${runs.counter}`, attributes);
      await configured(workspaces, id);
      const { body } = await startRun(admin, id).expect(201);
      return body.data.attributes['infra-version'];
    };
    expect(await versionOf('unsaid')).toBe('1.4.6');
    expect(await versionOf('latest', { 'infra-version': 'latest' })).toBe('1.4.6');
    expect(await versionOf('constraint', { 'infra-version': '~> 1.4.0, < 1.4.5' })).toBe('1.4.2');
    expect(await versionOf('other', { 'infra-version': '~> 1.3.0' })).toBe('1.3.10');
  });

  it('continues with the new version of its workspace after a mistake; a plan with its own version keeps that', async () => {
    await configured(workspaces, runs.workspace);
    await pin('1.5.7');
    await runs.worker.claim();
    const id = await made();
    const speculative = await made({ 'plan-only': true });
    const own = await made({ 'plan-only': true, 'infra-version': '1.5.6' });
    await pin('~> 1.11.0');
    const versionOf = async (run: string) => (await show(run)).attributes['infra-version'];
    expect(await Promise.all([id, speculative, own].map(versionOf))).toEqual(['1.11.4', '1.11.4', '1.5.6']);
    const taken = [await runs.worker.take('plan'), await runs.worker.take('plan')].map(({ runId }) => runId);
    expect(taken.sort()).toEqual([id, speculative].sort());
  });

  describe('that no worker has', () => {
    const ended = (seconds: number) => endUnserved(workspaces.service.db, workspaces.service.env.keyring, seconds);
    const planLog = async (run: string) => {
      const plan = (await show(run)).relationships.plan.data.id;
      const { body } = await admin.get(`plans/${plan}`).expect(200);
      return (await fetchUrl(workspaces, body.data.attributes['log-read-url']).expect(200)).body.toString();
    };

    it('ends in time, and the log of its plan lists the available versions', async () => {
      await configured(workspaces, runs.workspace);
      await pin('1.5.7');
      const id = await made();
      expect(await ended(0)).toBe(0);
      await runs.worker.claim();
      expect(await ended(3600)).toBe(0);
      expect(await statusOf(id)).toBe('pending');
      expect(await ended(0)).toBe(1);
      expect(await statusOf(id)).toBe('errored');
      const reason = /No worker has version 1\.5\.7 of the tool\. Available versions: 1\.11\.4\./;
      expect(await reasonOf(id)).toMatch(reason);
      expect(await planLog(id)).toMatch(reason);
      expect((await lockOf()).attributes.locked).toBe(false);
    });

    it('keeps waiting if a worker with the version has come back, and for the full time again if that worker has left', async () => {
      await configured(workspaces, runs.workspace);
      await pin('1.5.7');
      await runs.worker.claim();
      const id = await made();
      await ended(3600);
      await fakeWorker(workspaces, 'back', ['1.5.7']).claim();
      expect(await ended(0)).toBe(0);
      expect(await statusOf(id)).toBe('plan_queued');
    });
  });

  describe('is refused', () => {
    const add = (version: string, attributes: object) =>
      admin.post('admin/infra-versions', resource('infra-versions', { version, ...attributes })).expect(201);
    const asking = {
      'at creation': (version: string) =>
        admin.post(
          'organizations/acme/workspaces',
          resource('workspaces', {
            name: `v${version.replaceAll('.', '-')}-${runs.counter}`,
            'terraform-version': version,
          }),
        ),
      'by a change': (version: string) =>
        admin.patch(`workspaces/${runs.workspace}`, resource('workspaces', { 'terraform-version': version })),
      'by a run': (version: string) =>
        startRun(admin, runs.workspace, { 'plan-only': true, 'terraform-version': version }),
    };

    beforeAll(async () => {
      await workspaces.organization('other');
      await add('95.0.0', { enabled: true, beta: true });
      await add('95.1.0', { enabled: false });
    });

    it.each(Object.keys(asking) as (keyof typeof asking)[])(
      '%s unless it is listed and enabled, or a worker has it',
      async (way) => {
        await configured(workspaces, runs.workspace);
        const pool = async (organization: string, version: string) => {
          const { body } = await admin
            .post(`organizations/${organization}/agent-pools`, resource('agent-pools', { name: `p-${runs.counter}` }))
            .expect(201);
          const poolId = body.data.id;
          const token = await admin
            .post(
              `agent-pools/${poolId}/authentication-tokens`,
              resource('authentication-tokens', { description: 'a' }),
            )
            .expect(201);
          await workspaces.service.pool.query(
            'INSERT INTO run_worker (id, versions, agent_pool_id, token_id) VALUES ($1, $2, $3, $4)',
            [`agent-${version}`, [version], poolId, token.body.data.id],
          );
        };
        await fakeWorker(workspaces, 'betas', ['95.2.0', '95.2.1-beta1', '95.1.0']).claim();
        await pool('acme', '95.3.0');
        await pool('other', '95.4.0');
        const statuses = { '1.5.7': 'ok', '95.0.0': 'ok', '95.2.0': 'ok', '95.2.1-beta1': 'ok', '95.3.0': 'ok' };
        const refused = { '95.1.0': 422, '95.4.0': 422, '99.0.0': 422, '0.0.1': 422 };
        const found: Record<string, unknown> = {};
        for (const version of Object.keys({ ...statuses, ...refused })) {
          const { status, body } = await asking[way](version);
          found[version] = status < 300 ? 'ok' : status;
          if (status === 422) expect(body.errors[0].source.pointer).toBe('/data/attributes/terraform-version');
        }
        expect(found).toEqual({ ...statuses, ...refused });
      },
    );

    it('but not in a change that keeps the version, although no worker has it any longer', async () => {
      await fakeWorker(workspaces, 'gone', ['95.5.0']).claim();
      await pin('95.5.0');
      await fakeWorker(workspaces, 'gone').retire();
      await pin('95.5.0');
      const { body } = await admin.patch(
        `workspaces/${runs.workspace}`,
        resource('workspaces', { 'infra-version': '95.5.1' }),
      );
      expect(body.errors[0].detail).toContain('95.5.1 is not an enabled version');
      expect((await lockOf()).attributes['infra-version']).toBe('95.5.0');
    });
  });
});
