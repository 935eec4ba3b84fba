import { beforeEach, describe, expect, it } from '@jest/globals';
import { startTriggered } from '../src/resources/runs/runs/run-triggers';
import { configured, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { grant, team, teamToken } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

describe('run triggers', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let counter = 0;
  let network = '';
  let compute = '';

  beforeEach(async () => {
    counter += 1;
    if (counter === 1) await workspaces.organization('acme');
    ({ id: network } = await workspaces.workspace('acme', `network-${counter}`));
    ({ id: compute } = await workspaces.workspace('acme', `compute-${counter}`, { 'auto-apply-run-trigger': true }));
  });

  const post = (workspace: string, source: string, client = admin) =>
    client.post(
      `workspaces/${workspace}/run-triggers`,
      resource('run-triggers', {}, { sourceable: ref('workspaces', source) }),
    );
  const made = async () => (await post(compute, network).expect(201)).body.data;
  const listed = async (workspace: string, direction: string, client = admin) =>
    (await client.get(`workspaces/${workspace}/run-triggers?filter[run-trigger][type]=${direction}`).expect(200)).body;
  const runsOf = async (workspace: string) => (await admin.get(`workspaces/${workspace}/runs`).expect(200)).body.data;
  const start = () => startTriggered(workspaces.service.db, workspaces.service.env.keyring);

  it('are created, shown, listed from both ends, and deleted', async () => {
    const { id, attributes, relationships } = await made();
    expect(id).toMatch(/^rt-/);
    expect(attributes).toEqual({
      'workspace-name': `compute-${counter}`,
      'sourceable-name': `network-${counter}`,
      'created-at': expect.any(String),
    });
    expect([relationships.workspace.data, relationships.sourceable.data]).toEqual([
      { type: 'workspaces', id: compute },
      { type: 'workspaces', id: network },
    ]);
    const shown = await admin.get(`run-triggers/${id}?include=workspace,sourceable`).expect(200);
    expect(shown.body.included.map((one: { id: string }) => one.id).sort()).toEqual([compute, network].sort());
    for (const [workspace, direction, count] of [
      [compute, 'inbound', 1],
      [compute, 'outbound', 0],
      [network, 'inbound', 0],
      [network, 'outbound', 1],
    ] as const) {
      const { data, meta } = await listed(workspace, direction);
      expect([data.length, meta.pagination['total-count']]).toEqual([count, count]);
    }
    await admin.get(`workspaces/${compute}/run-triggers`).expect(422);
    await admin.get(`workspaces/${compute}/run-triggers?filter[run-trigger][type]=sideways`).expect(422);
    await admin.delete(`run-triggers/${id}`).expect(204);
    await admin.get(`run-triggers/${id}`).expect(404);
  });

  it('are refused for the workspace itself, a second time, and for missing workspaces', async () => {
    await made();
    expect((await post(compute, network).expect(422)).body.errors[0].detail).toContain('already been taken');
    expect((await post(compute, compute).expect(422)).body.errors[0].detail).toContain('another workspace');
    await post(compute, 'ws-nothing').expect(404);
    await workspaces.organization(`other-${counter}`);
    const { id } = await workspaces.workspace(`other-${counter}`, 'elsewhere');
    await post(compute, id).expect(404);
  });

  it('reveal nothing about a workspace that the caller does not see', async () => {
    const { id } = await made();
    const teamId = await team(workspaces, 'acme', `operators-${counter}`);
    await grant(workspaces, teamId, compute, 'admin');
    const member = await teamToken(workspaces, teamId);
    expect((await listed(compute, 'inbound', member)).data).toEqual([]);
    await member.get(`run-triggers/${id}`).expect(404);
    await member.delete(`run-triggers/${id}`).expect(404);
    await post(compute, network, member).expect(404);
    await member.get(`workspaces/${network}/run-triggers?filter[run-trigger][type]=outbound`).expect(404);
  });

  it('start a run once after an apply, except in workspaces with local execution', async () => {
    const { id: local } = await workspaces.workspace('acme', `local-${counter}`, { 'execution-mode': 'local' });
    const { id: empty } = await workspaces.workspace('acme', `empty-${counter}`);
    for (const workspace of [compute, local, empty]) await post(workspace, network).expect(201);
    await configured(workspaces, network);
    await configured(workspaces, compute);
    const worker = fakeWorker(workspaces);
    await workspaces.service.pool.query('DELETE FROM run');
    const { id } = (await startRun(admin, network, { 'auto-apply': true }).expect(201)).body.data;
    await worker.plan();
    expect(await start()).toBe(0);
    await worker.apply();
    expect([await start(), await start()]).toEqual([1, 0]);
    const [run, ...more] = await runsOf(compute);
    expect(more).toEqual([]);
    expect(run.attributes).toMatchObject({
      source: 'tfe-run-trigger',
      message: `Triggered by the apply of ${id}`,
      'auto-apply': true,
    });
    expect([await runsOf(local), await runsOf(empty)]).toEqual([[], []]);
    const due = await workspaces.service.db.prisma.runTrigger.count({ where: { dueRunId: { not: null } } });
    expect(due).toBe(0);
  });

  it('start nothing after a plan without changes, or an apply that failed', async () => {
    await made();
    await configured(workspaces, network);
    await configured(workspaces, compute);
    const worker = fakeWorker(workspaces);
    await workspaces.service.pool.query('DELETE FROM run');
    await startRun(admin, network, { 'auto-apply': true }).expect(201);
    await worker.plan({ hasChanges: false });
    await startRun(admin, network, { 'auto-apply': true }).expect(201);
    await worker.plan();
    await worker.apply({ outcome: 'errored' });
    expect([await start(), await runsOf(compute)]).toEqual([0, []]);
  });
});
