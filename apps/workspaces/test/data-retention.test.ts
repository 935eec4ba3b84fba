import { describe, expect, it } from '@jest/globals';
import { createLogger, Registry } from '@keystead/server';
import { startHousekeeping } from '../src/housekeeping';
import { eraseRemoved } from '../src/resources/organizations/organizations/removal';
import { sweep } from '../src/resources/states/data-retention/sweep';
import { resource, startWorkspaces } from './start-workspaces';

const DAY_MS = 86_400_000;
const older = (days: number) => resource('data-retention-policy-delete-olders', { 'delete-older-than-n-days': days });
const never = { data: { type: 'data-retention-policy-dont-deletes' } };

describe('data retention policies', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const onOrganization = (name: string) => `organizations/${name}/relationships/data-retention-policy`;
  const onWorkspace = (id: string) => `workspaces/${id}/relationships/data-retention-policy`;
  const stateAt = async (workspaceId: string, id: string, daysAgo: number): Promise<void> => {
    await workspaces.service.db.prisma.stateVersion.create({
      data: {
        id,
        workspaceId,
        serial: 1n,
        md5: 'x',
        status: 'finalized',
        createdById: 'user-x',
        createdAt: new Date(Date.now() - daysAgo * DAY_MS),
      },
    });
  };
  const statusOf = async (id: string): Promise<string> =>
    (await workspaces.service.db.prisma.stateVersion.findUniqueOrThrow({ where: { id } })).status;

  it('are not set at first', async () => {
    await workspaces.organization('quiet');
    const { body } = await admin.get(onOrganization('quiet')).expect(200);
    expect(body).toEqual({ data: null });
  });

  it('are set, shown on the organization at once, replaced by another kind, and removed', async () => {
    await workspaces.organization('kept');
    const path = onOrganization('kept');
    const { body: set } = await admin.post(path, older(33)).expect(200);
    expect(set.data).toMatchObject({
      type: 'data-retention-policy-delete-olders',
      attributes: { 'delete-older-than-n-days': 33 },
    });
    const relation = async () =>
      (await admin.get('organizations/kept').expect(200)).body.data.relationships['data-retention-policy'].data;
    expect(await relation()).toEqual({ id: set.data.id, type: set.data.type });
    const { body: changed } = await admin.post(path, never).expect(200);
    expect(changed.data.type).toBe('data-retention-policy-dont-deletes');
    expect(await relation()).toEqual({ id: changed.data.id, type: 'data-retention-policy-dont-deletes' });
    await admin.delete(path).expect(204);
    expect(await relation()).toBeNull();
  });

  it('answer requests in the older form with the older type', async () => {
    await workspaces.organization('legacy');
    const body = resource('data-retention-policies', { 'delete-older-than-n-days': 20 });
    const answer = await admin.patch(onOrganization('legacy'), body).expect(200);
    expect(answer.body.data).toMatchObject({
      type: 'data-retention-policies',
      attributes: { 'delete-older-than-n-days': 20 },
    });
  });

  it('are inherited from workspace to organization to installation', async () => {
    await workspaces.organization('above');
    const { id } = await workspaces.workspace('above', 'below');
    await admin.post('admin/data-retention-policy', older(90)).expect(200);
    const days = async (path: string) =>
      (await admin.get(path).expect(200)).body.data.attributes['delete-older-than-n-days'];
    expect(await days(onWorkspace(id))).toBe(90);
    await admin.post(onOrganization('above'), older(45)).expect(200);
    expect(await days(onWorkspace(id))).toBe(45);
    await admin.post(onWorkspace(id), older(1)).expect(200);
    expect(await days(onWorkspace(id))).toBe(1);
    await admin.delete(onWorkspace(id)).expect(204);
    expect(await days(onWorkspace(id))).toBe(45);
    await admin.delete('admin/data-retention-policy').expect(204);
  });

  it.each([
    ['a negative number', resource('data-retention-policy-delete-olders', { 'delete-older-than-n-days': -1 })],
    ['zero', older(0)],
    ['a string', resource('data-retention-policy-delete-olders', { 'delete-older-than-n-days': '7' })],
    ['no number', resource('data-retention-policy-delete-olders', {})],
    ['an unknown type', resource('data-retention-policy-sometimes', {})],
  ])('refuse %s', async (_what, body) => {
    await workspaces.organization(`bad-${Math.random().toString(36).slice(2)}`);
    await admin.post(onOrganization('kept'), body).expect(422);
  });

  it('are changed by owners only', async () => {
    const stranger = await workspaces.person('retention-stranger');
    await stranger.get(onOrganization('kept')).expect(404);
    await stranger.post(onOrganization('kept'), older(1)).expect(404);
    await stranger.get('admin/data-retention-policy').expect(404);
  });

  it('hide old data, remove it permanently a week later, and never touch the current state', async () => {
    const { prisma } = workspaces.service.db;
    await workspaces.organization('swept');
    const { id } = await workspaces.workspace('swept', 'app');
    await stateAt(id, 'sv-ancient', 40);
    await stateAt(id, 'sv-current', 39);
    await stateAt(id, 'sv-young', 3);
    await prisma.workspace.update({ where: { id }, data: { currentStateVersionId: 'sv-current' } });
    await admin.post(onWorkspace(id), older(30)).expect(200);
    const { body } = await admin.get(`${onWorkspace(id)}/preview`).expect(200);
    expect(body.data.attributes['state-versions']).toEqual({ count: 1, 'first-ids': ['sv-ancient'] });
    const now = Date.now();
    expect(await sweep(workspaces.service.db, now)).toEqual({ softDeleted: 1, removed: 0 });
    expect(await Promise.all(['sv-ancient', 'sv-current', 'sv-young'].map(statusOf))).toEqual([
      'backing_data_soft_deleted',
      'finalized',
      'finalized',
    ]);
    expect(await sweep(workspaces.service.db, now + 6 * DAY_MS)).toEqual({ softDeleted: 0, removed: 0 });
    expect(await sweep(workspaces.service.db, now + 8 * DAY_MS)).toEqual({ softDeleted: 0, removed: 1 });
    expect(await statusOf('sv-ancient')).toBe('backing_data_permanently_deleted');
  });

  it('keep everything if their policy is to keep, even if the policy of the organization is not', async () => {
    await workspaces.organization('mixed');
    const { id } = await workspaces.workspace('mixed', 'keeper');
    await stateAt(id, 'sv-kept', 400);
    await admin.post(onOrganization('mixed'), older(1)).expect(200);
    await admin.post(onWorkspace(id), never).expect(200);
    await sweep(workspaces.service.db, Date.now());
    expect(await statusOf('sv-kept')).toBe('finalized');
  });
});

describe('the sweep of retention policies', () => {
  const workspaces = startWorkspaces();
  const count = 1_100;

  async function oldStates(): Promise<void> {
    await workspaces.organization('large');
    const { id } = await workspaces.workspace('large', 'app');
    await workspaces.service.db.prisma.stateVersion.createMany({
      data: Array.from({ length: count }, (_, i) => ({
        id: `sv-old${i}`,
        workspaceId: id,
        serial: BigInt(i),
        md5: 'x',
        status: 'finalized',
        createdById: 'user-x',
        createdAt: new Date(Date.now() - 40 * DAY_MS),
      })),
    });
    await workspaces.admin.post(`workspaces/${id}/relationships/data-retention-policy`, older(30)).expect(200);
  }
  const softDeleted = () =>
    workspaces.service.db.prisma.stateVersion.count({ where: { status: 'backing_data_soft_deleted' } });

  it('continues after an interruption, is shared by nodes, and is counted in metrics', async () => {
    await oldStates();
    const { db } = workspaces.service;
    let statements = 0;
    const prisma = new Proxy(db.prisma, {
      get(target, name) {
        if (name === '$executeRaw' && ++statements === 2) throw new Error('the process ends here');
        return Reflect.get(target, name, target);
      },
    });
    await expect(sweep({ ...db, prisma }, Date.now())).rejects.toThrow('the process ends here');
    expect(await softDeleted()).toBe(500);

    const shares = await Promise.all([sweep(db, Date.now()), sweep(db, Date.now())]);
    expect(shares[0]!.softDeleted + shares[1]!.softDeleted).toBe(count - 500);
    expect(await softDeleted()).toBe(count);

    const registry = new Registry();
    const { keyring, publicUrl, notificationReach, mailer } = workspaces.service.env;
    const later = () => Date.now() + 8 * DAY_MS;
    const log = createLogger({ name: 'test', level: 'silent' });
    const housekeeping = startHousekeeping(db, {
      log,
      outage: workspaces.service.outage,
      keyring,
      notificationReach,
      mailer,
      publicUrl,
      now: later,
      consoleIdleMinutes: 30,
      clockTrouble: () => undefined,
      registry,
    });
    await housekeeping.close();
    const metrics = await registry.metrics();
    expect(metrics).toContain(`retention_items_total{step="removed"} ${count}\n`);
    expect(metrics).toContain('job_runs_total{job="apply retention policies"} 1\n');
    expect(metrics).toContain('job_failures_total{job="apply retention policies"} 0\n');
    expect(metrics).toMatch(/job_last_run_timestamp_seconds\{job="apply retention policies"\} \d{10}/);
  });
});

describe('deleting an organization', () => {
  const workspaces = startWorkspaces();

  it('frees its name at once and removes the rest afterwards', async () => {
    const { admin, service } = workspaces;
    const first = await workspaces.organization('phoenix');
    await workspaces.workspace('phoenix', 'one');
    await workspaces.workspace('phoenix', 'two');
    await admin.delete('organizations/phoenix').expect(204);
    await admin.get('organizations/phoenix').expect(404);
    const second = await workspaces.organization('phoenix');
    expect(second.attributes['external-id']).not.toBe(first.attributes['external-id']);
    expect(await eraseRemoved(service.db)).toBe(1);
    const left = await service.db.prisma.workspace.count();
    expect(left).toBe(0);
    await admin.get('organizations/phoenix').expect(200);
  });

  it('leaves an organization with a claimed workspace to the next call, and deletes the others', async () => {
    const { admin, service } = workspaces;
    for (const name of ['held', 'free']) {
      await workspaces.organization(name);
      await workspaces.workspace(name, 'one');
      await admin.delete(`organizations/${name}`).expect(204);
    }
    const client = await service.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(`SELECT FROM workspace w JOIN organization o ON o.id = w.organization_id
                           WHERE o.removed_at IS NOT NULL ORDER BY o.removed_at LIMIT 1 FOR UPDATE OF w`);
      expect(await eraseRemoved(service.db)).toBe(1);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
    expect(await eraseRemoved(service.db)).toBe(1);
  });
});

describe('data retention in the hosted edition', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: 'hosted' } });

  it('does not exist', async () => {
    const organization = await workspaces.organization('cloud');
    const path = 'organizations/cloud/relationships/data-retention-policy';
    await workspaces.admin.get(path).expect(404);
    await workspaces.admin.post(path, older(7)).expect(404);
    expect(organization).not.toHaveProperty(['relationships', 'data-retention-policy']);
  });
});
