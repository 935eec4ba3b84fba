import { once } from 'node:events';
import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import request from 'supertest';
import { readConfig } from '../src/config';
import { createService, type Service } from '../src/service';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

describe('workspaces answered from cached text', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const show = async (id: string, as: Client = admin) => (await as.get(`workspaces/${id}`).expect(200)).body.data;
  /** The first workspace of a list, which is requested until its page is cached as a whole, too. */
  const first = async (organization: string, as: Client = admin) => {
    const list = async () => (await as.get(`organizations/${organization}/workspaces`).expect(200)).body;
    const answer = await list();
    for (let again = 0; again < 3; again++) expect(await list()).toEqual(answer);
    return answer.data[0];
  };

  beforeAll(async () => {
    await workspaces.organization('cached');
  });

  it('follow every change of the shown data', async () => {
    const { id } = await workspaces.workspace('cached', 'mirror');
    const sorted: object[] = [];
    const steps: [what: string, change: () => PromiseLike<unknown>, seen: object][] = [
      [
        'a setting',
        () => admin.patch(`workspaces/${id}`, resource('workspaces', { 'auto-apply': true })).expect(200),
        { attributes: { 'auto-apply': true } },
      ],
      [
        'a lock',
        () => admin.post(`workspaces/${id}/actions/lock`, { reason: 'busy' }).expect(200),
        { attributes: { locked: true, 'locked-reason': 'busy' } },
      ],
      ['an unlock', () => admin.post(`workspaces/${id}/actions/unlock`).expect(200), { attributes: { locked: false } }],
      [
        'a tag',
        () =>
          admin
            .post(`workspaces/${id}/relationships/tags`, { data: [{ type: 'tags', attributes: { name: 'blue' } }] })
            .expect(204),
        { attributes: { 'tag-names': ['blue'] } },
      ],
      [
        'a tag that is deleted from all workspaces',
        async () => {
          const { body } = await admin.get('organizations/cached/tags').expect(200);
          await admin.delete('organizations/cached/tags', { data: [ref('tags', body.data[0].id).data] }).expect(204);
        },
        { attributes: { 'tag-names': [] } },
      ],
      [
        'a variable',
        () =>
          admin.post(`workspaces/${id}/vars`, resource('vars', { key: 'a', category: 'env', value: '1' })).expect(201),
        { relationships: { vars: { data: [{ type: 'vars', id: expect.stringMatching(/^var-/) }] } } },
      ],
      [
        'the order of its variables, which are sorted by key',
        async () => {
          const { body: other } = await admin
            .post(`workspaces/${id}/vars`, resource('vars', { key: 'b', category: 'env', value: '2' }))
            .expect(201);
          const [first, second] = (await show(id)).relationships.vars.data;
          expect(second.id).toBe(other.data.id);
          await admin.patch(`workspaces/${id}/vars/${first.id}`, resource('vars', { key: 'c' })).expect(200);
          sorted.push(second, first);
        },
        { relationships: { vars: { data: sorted } } },
      ],
      [
        'the organization’s mode',
        () =>
          admin
            .patch('organizations/cached', resource('organizations', { 'default-execution-mode': 'local' }))
            .expect(200),
        {
          attributes: {
            'execution-mode': 'local',
            operations: false,
            'setting-overwrites': { 'execution-mode': false },
          },
        },
      ],
      [
        'the organization’s name',
        () => admin.patch('organizations/cached', resource('organizations', { name: 'renamed' })).expect(200),
        { links: { self: '/api/v2/organizations/renamed/workspaces/mirror' } },
      ],
    ];
    await show(id);
    await first('cached');
    let organization = 'cached';
    for (const [what, change, seen] of steps) {
      await change();
      if (what.includes('name')) organization = 'renamed';
      expect(await show(id)).toMatchObject(seen);
      expect(await first(organization)).toEqual(await show(id));
    }
    await admin.patch('organizations/renamed', resource('organizations', { name: 'cached' })).expect(200);
  });

  it('show every caller their own permissions', async () => {
    await workspaces.organization('single');
    const { id } = await workspaces.workspace('single', 'shared');
    const reader = await workspaces.person('reader');
    const { db } = workspaces.service;
    const organization = await db.prisma.organization.findFirstOrThrow({ where: { name: 'single' } });
    const mine = { organizationId: organization.id, userId: reader.id };
    await db.prisma.membership.create({ data: { id: 'ou-reader', ...mine, status: 'active' } });
    const { body: team } = await admin
      .post('organizations/single/teams', resource('teams', { name: 'readers' }))
      .expect(201);
    await admin
      .post(`teams/${team.data.id}/relationships/organization-memberships`, {
        data: [ref('organization-memberships', 'ou-reader').data],
      })
      .expect(204);
    await reader.get(`workspaces/${id}`).expect(404);
    const relationships = { team: ref('teams', team.data.id), workspace: ref('workspaces', id) };
    const { body: grant } = await admin
      .post('team-workspaces', resource('team-workspaces', { access: 'read' }, relationships))
      .expect(201);
    const permissions = async (as: Client) => (await show(id, as)).attributes.permissions;
    expect(await permissions(reader)).toMatchObject({
      'can-read-settings': true,
      'can-update': false,
      'can-lock': false,
    });
    expect(await permissions(admin)).toMatchObject({ 'can-update': true, 'can-force-delete': true });
    for (const as of [admin, reader, admin, reader]) {
      expect((await first('single', as)).attributes.permissions).toEqual(await permissions(as));
    }
    const listed = await reader.get('organizations/single/workspaces').expect(200);
    expect(listed.body.data.map((one: { id: string }) => one.id)).toEqual([id]);
    expect(listed.body.meta.pagination['total-count']).toBe(1);
    await admin.patch(`team-workspaces/${grant.data.id}`, resource('team-workspaces', { access: 'write' })).expect(200);
    expect(await permissions(reader)).toMatchObject({ 'can-update': false, 'can-lock': true });
    await admin.delete(`team-workspaces/${grant.data.id}`).expect(204);
    await reader.get(`workspaces/${id}`).expect(404);
    expect((await reader.get('organizations/single/workspaces').expect(200)).body.data).toEqual([]);
  });
});

describe('the history of locks', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;

  it('shows who held a workspace, why, from when, and whether the end was forced', async () => {
    await workspaces.organization('vault');
    const { id } = await workspaces.workspace('vault', 'door');
    const { body: me } = await admin.get('account/details').expect(200);
    const { body: locked } = await admin.post(`workspaces/${id}/actions/lock`, { reason: 'first' }).expect(200);
    expect(locked.data.attributes['locked-at']).toMatch(/^\d{4}-/);
    await admin.post(`workspaces/${id}/actions/unlock`).expect(200);
    await admin.post(`workspaces/${id}/actions/lock`, { reason: 'second' }).expect(200);
    await admin.post(`workspaces/${id}/actions/force-unlock`).expect(200);
    const { body } = await admin.get(`workspaces/${id}/locks`).expect(200);
    expect(body.data.map((one: { attributes: object }) => one.attributes)).toEqual([
      expect.objectContaining({ reason: 'second', forced: true, 'unlocked-at': expect.any(String) }),
      expect.objectContaining({ reason: 'first', forced: false, 'unlocked-at': expect.any(String) }),
    ]);
    expect(body.data[0].relationships['locked-by']).toEqual(ref('users', me.data.id));
    const stranger = await workspaces.person('passer-by');
    await stranger.get(`workspaces/${id}/locks`).expect(404);
  });
});

describe('many simultaneous requests', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;

  it('create their resources, each with its own answer, and a duplicate fails only itself', async () => {
    await workspaces.organization('crowd');
    const names = [...Array.from({ length: 30 }, (_, i) => `w-${i}`), 'w-7', 'not valid'];
    const answers = await Promise.all(
      names.map((name) => admin.post('organizations/crowd/workspaces', resource('workspaces', { name }))),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(30);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(2);
    for (const { body } of made) {
      expect(names).toContain(body.data.attributes.name);
    }
    const { body } = await admin.get('organizations/crowd/workspaces?page[size]=100').expect(200);
    expect(body.meta.pagination['total-count']).toBe(30);
    expect(new Set(body.data.map((one: { id: string }) => one.id)).size).toBe(30);
  });

  it('keep the total right while workspaces are added and removed', async () => {
    await workspaces.organization('tide');
    const made = await Promise.all(Array.from({ length: 12 }, (_, i) => workspaces.workspace('tide', `w-${i}`)));
    await Promise.all(made.slice(0, 5).map(({ id }) => admin.delete(`workspaces/${id}`).expect(204)));
    const { body } = await admin.get('organizations/tide/workspaces').expect(200);
    expect(body.meta.pagination['total-count']).toBe(7);
    expect(body.data).toHaveLength(7);
  });

  it('record one audit event for each change they made', async () => {
    const { id } = await workspaces.workspace('tide', 'watched');
    await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        admin.patch(`workspaces/${id}`, resource('workspaces', { description: `d${i}` })).expect(200),
      ),
    );
    const events = await workspaces.service.db.prisma.auditEvent.findMany({
      where: { targetId: id, action: 'workspace.update' },
    });
    expect(events).toHaveLength(8);
    const { body } = await admin.get(`workspaces/${id}`).expect(200);
    const last = events.sort((a, b) => Number(a.id - b.id)).at(-1)!;
    expect((last.after as { description: string }).description).toBe(body.data.attributes.description);
  });

  it('page through a changing list without skipping or repeating workspaces that stay', async () => {
    await workspaces.organization('pages');
    const stays = await Promise.all(Array.from({ length: 25 }, (_, i) => workspaces.workspace('pages', `m-${i}`)));
    const seen: string[] = [];
    for (let page = 1; page <= 3; page++) {
      const { body } = await admin.get(`organizations/pages/workspaces?page[size]=10&page[number]=${page}`).expect(200);
      seen.push(...body.data.map((one: { id: string }) => one.id));
      await workspaces.workspace('pages', `z-${page}`);
    }
    expect(seen.slice(0, 25).sort()).toEqual(stays.map(({ id }) => id).sort());
  });
});

describe('two nodes on one database', () => {
  const workspaces = startWorkspaces();
  let second: Service;
  let server: Server;
  let other: (method: 'get' | 'patch' | 'post' | 'delete', path: string, body?: object) => request.Test;

  beforeAll(async () => {
    const config = readConfig({
      WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
      WORKSPACES_SEAL_KEY: '07'.repeat(32),
      WORKSPACES_PUBLIC_URL: 'https://workspaces.test',
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_MIGRATE: 'off',
    });
    second = await createService(config, { log: createLogger({ name: 'second', level: 'silent' }) });
    server = createServer(second.app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    other = (method, path, body) => {
      const sent = request(server)[method](`/api/v2/${path}`).set('Authorization', `Bearer ${workspaces.admin.token}`);
      return body === undefined
        ? sent
        : sent.set('Content-Type', 'application/vnd.api+json').send(JSON.stringify(body));
    };
  });

  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await second?.close();
  });

  it('show acknowledged changes of the other at once', async () => {
    const { admin } = workspaces;
    await workspaces.organization('pair');
    const { id } = await workspaces.workspace('pair', 'twin');
    for (let i = 0; i < 5; i++) {
      await admin.patch(`workspaces/${id}`, resource('workspaces', { description: `here ${i}` })).expect(200);
      expect((await other('get', `workspaces/${id}`).expect(200)).body.data.attributes.description).toBe(`here ${i}`);
      await other('patch', `workspaces/${id}`, resource('workspaces', { description: `there ${i}` })).expect(200);
      expect((await admin.get(`workspaces/${id}`).expect(200)).body.data.attributes.description).toBe(`there ${i}`);
    }
    await other('post', 'organizations/pair/workspaces', resource('workspaces', { name: 'sibling' })).expect(201);
    const { body } = await admin.get('organizations/pair/workspaces').expect(200);
    expect(body.data.map((one: { attributes: { name: string } }) => one.attributes.name)).toEqual(['sibling', 'twin']);
    await other('delete', `workspaces/${id}`).expect(204);
    await admin.get(`workspaces/${id}`).expect(404);
  });

  it('let only one of the two lock a workspace', async () => {
    const { id } = await workspaces.workspace('pair', 'locked');
    const path = `workspaces/${id}/actions/lock`;
    const answers = await Promise.all([workspaces.admin.post(path), other('post', path)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('lose no change when both change the same workspace', async () => {
    const { id } = await workspaces.workspace('pair', 'torn');
    const keys = ['auto-apply', 'queue-all-runs', 'auto-apply-run-trigger', 'global-remote-state'];
    const change = (key: string, index: number) => {
      const body = resource('workspaces', { [key]: true });
      return index % 2 === 0
        ? workspaces.admin.patch(`workspaces/${id}`, body)
        : other('patch', `workspaces/${id}`, body);
    };
    const answers = await Promise.all(keys.map(change));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { body } = await other('get', `workspaces/${id}`).expect(200);
    expect(keys.map((key) => body.data.attributes[key])).toEqual([true, true, true, true]);
  });

  it('let every caller change a workspace although the other node changes it continuously', async () => {
    const { id } = await workspaces.workspace('pair', 'busy');
    let ended = false;
    const elsewhere = async () => {
      while (!ended) await workspaces.service.pool.query('UPDATE workspace SET source_url = NULL WHERE id = $1', [id]);
    };
    const others = Promise.all([elsewhere(), elsewhere(), elsewhere()]);
    const change = (n: number) =>
      workspaces.admin.patch(`workspaces/${id}`, resource('workspaces', { description: `d${n}` }));
    const answers = await Promise.all(Array.from({ length: 16 }, (_, n) => change(n)));
    ended = true;
    await others;
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });
});
