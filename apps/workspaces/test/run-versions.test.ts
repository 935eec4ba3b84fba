import { describe, expect, it } from '@jest/globals';
import { configured, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { startRuns } from './run-fixture';
import { resource } from './start-workspaces';

describe('a run of a version', () => {
  const runs = startRuns();
  const { workspaces, admin, show, statusOf, made, lockOf } = runs;
  const pin = (version: string, workspace = runs.workspace) =>
    admin.patch(`workspaces/${workspace}`, resource('workspaces', { 'infra-version': version })).expect(200);
  const reasonOf = async (id: string): Promise<string> => (await show(id)).attributes['status-reason'];

  it('that no worker has waits, says so, and is carried out by none but its own (W6.15)', async () => {
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
    expect(await reasonOf(id)).toBe('Waiting for a worker that is free');
  });

  it('is not overtaken by later ones, which say what they wait for', async () => {
    await configured(workspaces, runs.workspace);
    await pin('1.5.7');
    await runs.worker.claim();
    const first = await made();
    await pin('1.11.4');
    const second = await made();
    const speculative = await made({ 'plan-only': true });
    expect(await reasonOf(second)).toBe(`Waiting for ${first} to end: one run of a workspace takes place at a time`);
    expect(await runs.worker.take('plan')).toMatchObject({ runId: speculative });
    expect(await runs.worker.claim()).toBeUndefined();
    await runs.act(first, 'discard').expect(202);
    expect(await runs.worker.take('plan')).toMatchObject({ runId: second });
  });

  it('does not keep other workspaces from their turn, however many wait', async () => {
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

  it('whose worker goes between plan and apply waits with its lock', async () => {
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

  it('that nobody chose is one that workers have, if any has', async () => {
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
});
