import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { forgetEvents } from '../src/kernel/audit/audit';
import { member, organizationToken, project, team } from './members';
import { resource, startWorkspaces } from './start-workspaces';

interface Event {
  id: string;
  attributes: {
    action: string;
    actor: { name: string; type: string; 'token-id': string };
    target: { type: string; id: string; name: string };
    before: Record<string, unknown> | null;
    after: Record<string, unknown> | null;
    'request-id': string;
  };
}

describe('audit events', () => {
  const workspaces = startWorkspaces();
  const events = async (query = '', client = workspaces.admin): Promise<Event[]> => {
    const { body } = await client.get(`organizations/acme/audit-events?page[size]=100&${query}`).expect(200);
    return body.data;
  };

  it('show who changed what, with the values before and after', async () => {
    await workspaces.organization('acme');
    const id = await team(workspaces, 'acme', 'ops');
    const sent = await workspaces.admin
      .patch(`teams/${id}`, resource('teams', { name: 'operations' }))
      .set('X-Request-Id', '3f2b1c1e-6f3e-4b43-9e2a-0a4d0b0e7a11')
      .expect(200);
    const [latest] = await events();
    expect(latest!.attributes).toMatchObject({
      action: 'team.update',
      actor: { type: 'users', name: 'admin', 'token-id': expect.stringMatching(/^at-/) },
      target: { type: 'teams', id, name: 'operations' },
      before: { name: 'ops' },
      after: { name: 'operations' },
      'request-id': sent.headers['x-request-id'],
    });
    expect(Object.keys(latest!.attributes.before!)).toEqual(['name']);
  });

  it('record a change of every kind, and no secret', async () => {
    const { admin } = workspaces;
    const value = String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const key = await admin.post('organizations/acme/ssh-keys', resource('ssh-keys', { name: 'k', value })).expect(201);
    await admin.delete(`ssh-keys/${key.body.data.id}`).expect(204);
    const projectId = await project(workspaces, 'acme', 'a project');
    await admin.patch(`projects/${projectId}`, resource('projects', { description: 'd' })).expect(200);
    await admin.delete(`projects/${projectId}`).expect(204);
    const web = await workspaces.workspace('acme', 'web');
    const variable = resource('vars', { key: 'pw', value: 'canary-secret', category: 'env', sensitive: true });
    await admin.post(`workspaces/${web.id}/vars`, variable).expect(201);
    const token = await admin.post('organizations/acme/authentication-token').expect(201);
    await admin.delete('organizations/acme/authentication-token').expect(204);
    const oauth = resource('oauth-clients', {
      'service-provider': 'github',
      'http-url': 'https://code.test',
      'api-url': 'https://api.code.test',
      'oauth-token-string': 'canary-oauth',
    });
    await admin.post('organizations/acme/oauth-clients', oauth).expect(201);
    const ann = await member(workspaces, 'acme');
    await admin.delete(`organization-memberships/${ann.membershipId}`).expect(204);
    const all = await events();
    expect(all.map(({ attributes }) => attributes.action)).toEqual(
      expect.arrayContaining([
        'organization.create',
        'team.create',
        'team.update',
        'ssh-key.create',
        'ssh-key.delete',
        'project.create',
        'project.update',
        'project.delete',
        'workspace.create',
        'variable.create',
        'organization-token.create',
        'organization-token.delete',
        'oauth-client.create',
        'membership.create',
        'membership.accept',
        'membership.delete',
      ]),
    );
    const text = JSON.stringify(all);
    for (const canary of ['canary', value.split('\n')[1]!, token.body.data.attributes.token.split('.')[2]]) {
      expect(text).not.toContain(canary);
    }
  });

  it('do not record a refused change', async () => {
    const before = (await events()).length;
    await workspaces.admin.post('organizations/acme/teams', resource('teams', { name: 'operations' })).expect(422);
    await workspaces.admin.post('organizations/acme/projects', resource('projects', { name: 'x' })).expect(422);
    expect(await events()).toHaveLength(before);
  });

  it('can be filtered by actor, action, target and time, and continued from a cursor', async () => {
    expect((await events('filter[action]=team')).every((e) => e.attributes.action.startsWith('team.'))).toBe(true);
    expect(await events('filter[action]=team.delete')).toEqual([]);
    expect((await events('filter[target]=operations')).length).toBeGreaterThan(0);
    expect(await events('filter[actor]=unknown')).toEqual([]);
    const [newest] = await events('');
    const request = newest?.attributes['request-id'];
    const ofRequest = await events(`filter[request]=${request}`);
    expect(ofRequest.map((e) => e.attributes['request-id'])).toEqual([request]);
    expect(await events('filter[request]=none')).toEqual([]);
    expect(await events(`filter[since]=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
    const path = 'organizations/acme/audit-events?page[size]=3';
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await workspaces.admin.get(`${path}${cursor}`).expect(200);
      seen.push(...body.data.map((event: Event) => event.id));
      if (body.meta['next-cursor'] === null) break;
      cursor = `&page[after]=${body.meta['next-cursor']}`;
    }
    expect(seen).toEqual((await events()).map(({ id }) => id));
    for (const query of ['filter[since]=yesterday', 'page[after]=x', 'page[size]=0']) {
      const { body } = await workspaces.admin.get(`organizations/acme/audit-events?${query}`).expect(400);
      expect(body.errors[0].source.parameter).toBe(query.split('=')[0]);
    }
  });

  it('are for owners and the organization token', async () => {
    const client = await organizationToken(workspaces, 'acme');
    expect((await events('', client)).length).toBeGreaterThan(0);
    await (await member(workspaces, 'acme')).get('organizations/acme/audit-events').expect(404);
  });

  it('are always recorded, as the audit configuration shows and a test event proves', async () => {
    const path = 'organizations/acme/audit-configuration';
    const type = 'audit-configurations';
    const { body } = await workspaces.admin.get(path).expect(200);
    expect(body.data).toMatchObject({
      type,
      attributes: { 'audit-trails': { enabled: true }, 'hcp-audit-log-streaming': { enabled: false } },
      relationships: { organization: { data: { type: 'organizations', id: 'acme' } } },
    });
    const { attributes } = body.data;
    const same = { 'audit-trails': { enabled: true }, 'hcp-audit-log-streaming': { enabled: false } };
    expect((await workspaces.admin.patch(path, resource(type, same)).expect(200)).body.data.attributes).toEqual(
      attributes,
    );
    for (const wrong of [
      { 'audit-trails': { enabled: false } },
      { 'hcp-audit-log-streaming': { enabled: true } },
      { 'hcp-audit-log-streaming': { enabled: false, 'organization-id': 'x' } },
      { 'hcp-audit-log-streaming': { enabled: false, 'use-default-organization': true } },
    ]) {
      await workspaces.admin.patch(path, resource(type, wrong)).expect(422);
    }
    const { 'request-id': id } = (await workspaces.admin.post(`${path}/test`).expect(200)).body;
    expect((await events(`filter[request]=${id}`)).map((one) => one.attributes.action)).toEqual([
      'audit-configuration.test',
    ]);
    const plain = await member(workspaces, 'acme');
    await plain.get(path).expect(404);
    await plain.post(`${path}/test`).expect(404);
  });

  it('are deleted after the configured days, the oldest first, and kept forever with 0', async () => {
    const { db, pool } = workspaces.service;
    await pool.query(`
      INSERT INTO audit_event (id, at, actor_type, actor_id, actor_name, action, target_type, target_id)
      SELECT -n, now() - interval '31 days', 'system', 'system', 'system', 'old.one', 'things', 'x' FROM generate_series(1, 10001) n`);
    const count = async (old: boolean) =>
      db.prisma.auditEvent.count({ where: { action: old ? 'old.one' : { not: 'old.one' } } });
    const younger = await count(false);
    for (const days of [0, 400, 32]) {
      await forgetEvents(db, days);
      expect(await count(true)).toBe(10_001);
    }
    await forgetEvents(db, 30);
    expect([await count(true), await count(false)]).toEqual([0, younger]);
    expect(younger).toBeGreaterThan(0);
  });
});
