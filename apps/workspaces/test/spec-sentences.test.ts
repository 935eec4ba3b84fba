import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { configured, startRun } from './configurations';
import { grant, grantProject, member, organizationToken, project, team } from './members';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

const outputs = { name: { value: 'web', type: 'string' } };
const state = Buffer.from(JSON.stringify({ version: 4, serial: 1, lineage: 'l', outputs, resources: [] }));
/** A state with one output. */
const version = resource('state-versions', {
  serial: 1,
  md5: createHash('md5').update(state).digest('hex'),
  state: state.toString('base64'),
});

describe.each(['self-hosted', 'hosted'] as const)('the sentences of the specification, %s', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });
  const { admin } = workspaces;
  const hosted = edition === 'hosted';
  beforeAll(async () => {
    for (const name of ['one', 'two', 'three', 'four', 'five']) await workspaces.organization(name);
  });

  it('relates an organization to everything that belongs to it (WP.11, WP.27)', async () => {
    const made = await admin.post('organizations/one/agent-pools', resource('agent-pools', { name: 'p' })).expect(201);
    const pool = { 'default-execution-mode': 'agent', 'default-agent-pool-id': made.body.data.id };
    await admin.patch('organizations/one', resource('organizations', pool)).expect(200);
    const { id, relationships, attributes } = (await admin.get('organizations/one').expect(200)).body.data;
    expect([id, attributes.name]).toEqual(['one', 'one']);
    const at = (rest: string) => ({ links: { related: `/api/v2/organizations/one/${rest}` } });
    expect(relationships).toMatchObject({
      'default-agent-pool': { data: { id: made.body.data.id, type: 'agent-pools' } },
      'oauth-tokens': at('oauth-tokens'),
      'authentication-token': at('authentication-token'),
      'entitlement-set': {
        data: { id: attributes['external-id'], type: 'entitlement-sets' },
        ...at('entitlement-set'),
      },
      subscription: hosted
        ? { data: { id: expect.any(String), type: 'subscriptions' }, ...at('subscription') }
        : { data: null },
    });
    const own = { 'module-producers': 'module-producers', 'data-retention-policy': 'data-retention-policy' };
    for (const [name, rest] of Object.entries(own)) {
      const { data, ...shown } = relationships[name] ?? {};
      expect([name, shown, data ?? null]).toEqual([name, hosted ? {} : at(`relationships/${rest}`), null]);
    }
  });

  it('lists a page with its links and numbers, by brackets in either spelling (WP.8, WP.9, WP.29)', async () => {
    const page = async (query: string) => (await admin.get(`organizations?${query}`).expect(200)).body;
    const second = await page('page%5Bnumber%5D=2&page%5Bsize%5D=2');
    expect(second.data).toHaveLength(2);
    const link = (number: number) =>
      expect.stringMatching(`organizations\\?page%5Bnumber%5D=${number}&page%5Bsize%5D=2$`);
    expect(second.links).toEqual({ self: link(2), first: link(1), prev: link(1), next: link(3), last: link(3) });
    expect(second.meta.pagination).toEqual({
      'current-page': 2,
      'page-size': 2,
      'prev-page': 1,
      'next-page': 3,
      'total-pages': 3,
      'total-count': 5,
    });
    const first = await page('page[number]=1&page[size]=2');
    expect([first.links.prev, first.meta.pagination['prev-page']]).toEqual([null, null]);
    const last = await page('page[number]=3&page[size]=2');
    expect([last.links.next, last.meta.pagination['next-page']]).toEqual([null, null]);
    expect([first.data[0].id, last.data.length]).toEqual(['five', 1]);
  });

  it('lists everything without page parameters, the first page with only a size, and twenty items with only a number (WP.30)', async () => {
    const ask = async (query: string) => (await admin.get(`organizations${query}`).expect(200)).body;
    const whole = await ask('');
    expect([whole.data.length, whole.links, whole.meta]).toEqual([5, undefined, undefined]);
    const sized = await ask('?page[size]=2');
    expect(sized.meta.pagination).toMatchObject({ 'current-page': 1, 'page-size': 2 });
    const numbered = await ask('?page[number]=1');
    expect(numbered.meta.pagination).toMatchObject({ 'current-page': 1, 'page-size': 20 });
  });

  it('includes the entitlement set on every GET of organizations (WP.12)', async () => {
    for (const path of ['organizations/one', 'organizations']) {
      const { body } = await admin.get(`${path}?include=entitlement_set`).expect(200);
      const shown = [body.data].flat().map((one: { attributes: object }) => one.attributes);
      const ids = shown.map((attributes) => (attributes as Record<string, unknown>)['external-id']).sort();
      const included = (body.included ?? []) as { id: string; type: string }[];
      expect(new Set(included.map(({ type }) => type))).toEqual(new Set(['entitlement-sets']));
      expect(included.map(({ id }) => id).sort()).toEqual(ids);
    }
  });

  it('requires a name, and the type of created and changed resources (WP.31, WP.33, WP.34)', async () => {
    const pointerOf = async (path: string, body: object, verb: 'post' | 'patch' = 'post') =>
      (await admin[verb](path, body).expect(422)).body.errors[0].source?.pointer;
    const attributes = { name: 'right', email: 'a@example.com' };
    const at = 'organizations/one/workspaces';
    expect(await pointerOf('organizations', resource('workspaces', attributes))).toBe('/data/type');
    expect(await pointerOf('organizations/one', resource('workspaces', {}), 'patch')).toBe('/data/type');
    expect(await pointerOf(at, resource('organizations', { name: 'right' }))).toBe('/data/type');
    expect(await pointerOf(at, resource('workspaces', {}))).toBe('/data/attributes/name');
    expect(await pointerOf('organizations', resource('organizations', { email: 'a@example.com' }))).toBe(
      '/data/attributes/name',
    );
    expect(await pointerOf('organizations', resource('organizations', { name: 'right' }))).toBe(
      '/data/attributes/email',
    );
    await admin.get('organizations/right').expect(404);
  });

  it('keeps the fields of a workspace that an update omits (WP.35)', async () => {
    const given = { name: 'kept', 'auto-apply': false, 'allow-destroy-plan': false, description: 'as it was' };
    const { body } = await admin.post('organizations/two/workspaces', resource('workspaces', given)).expect(201);
    for (const path of [`workspaces/${body.data.id}`, 'organizations/two/workspaces/kept']) {
      const changed = await admin.patch(path, resource('workspaces', { 'queue-all-runs': true })).expect(200);
      expect(changed.body.data.attributes).toMatchObject({ ...given, 'queue-all-runs': true });
    }
  });
});

describe('the specified protocol', () => {
  const workspaces = startWorkspaces();
  const send = (path: string) =>
    request(workspaces.server).get(path).set('Authorization', `Bearer ${workspaces.admin.token}`);

  it('has every path below /api/v2, and answers JSON:API (WP.5, WP.6, WP.26)', async () => {
    const { headers } = await send('/api/v2/organizations').expect(200);
    expect(headers['content-type']).toBe('application/vnd.api+json; charset=utf-8');
    for (const path of ['/organizations', '/api/organizations', '/api/v1/organizations', '/api/v3/organizations']) {
      await send(path).expect(404);
    }
  });

  it('accepts bodies as JSON:API, and none labelled as text (WP.7)', async () => {
    const post = (type: string, name: string) =>
      request(workspaces.server)
        .post('/api/v2/organizations')
        .set('Authorization', `Bearer ${workspaces.admin.token}`)
        .set('Content-Type', type)
        .send(JSON.stringify(resource('organizations', { name, email: 'a@example.com' })));
    await post('application/vnd.api+json', 'typed').expect(201);
    await post('text/plain', 'untyped').expect(415);
  });
});

describe('the specified workspaces', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  beforeAll(() => workspaces.organization('acme'));
  const of = (name: string, projectId?: string) =>
    resource('workspaces', { name }, projectId === undefined ? undefined : { project: ref('projects', projectId) });

  it('refer to all their resources (WP.18, WP.19)', async () => {
    const made = await admin.post('organizations/acme/agent-pools', resource('agent-pools', { name: 'p' })).expect(201);
    const pool = { 'execution-mode': 'agent', 'agent-pool-id': made.body.data.id };
    const { id } = await workspaces.workspace('acme', 'hung', pool);
    await admin.post(`workspaces/${id}/actions/lock`).expect(200);
    const stored = await admin.post(`workspaces/${id}/state-versions`, version).expect(201);
    await admin.post(`workspaces/${id}/actions/unlock`).expect(200);
    const configuration = await configured(workspaces, id);
    const run = (await startRun(admin, id).expect(201)).body.data.id;
    const { db } = workspaces.service;
    const variable = resource('vars', { key: 'size', value: 'big', category: 'env' });
    const vars = (await admin.post(`workspaces/${id}/vars`, variable).expect(201)).body.data.id;
    const { relationships } = (await admin.get(`workspaces/${id}`).expect(200)).body.data;
    const home = (await db.prisma.organization.findFirstOrThrow({ where: { name: 'acme' } })).defaultProjectId;
    expect(relationships).toMatchObject({
      'agent-pool': { data: { id: made.body.data.id, type: 'agent-pools' } },
      'current-configuration-version': { data: { id: configuration, type: 'configuration-versions' } },
      'current-run': { data: { id: run, type: 'runs' } },
      'latest-run': { data: { id: run, type: 'runs' } },
      'current-state-version': { data: { id: stored.body.data.id, type: 'state-versions' } },
      'current-assessment-result': { data: null },
      organization: { data: { id: 'acme', type: 'organizations' } },
      outputs: { data: [{ id: expect.any(String), type: 'workspace-outputs' }] },
      readme: { data: null },
      project: { data: { id: home, type: 'projects' } },
      vars: { data: [{ id: vars, type: 'vars' }] },
      'remote-state-consumers': { links: { related: `/api/v2/workspaces/${id}/relationships/remote-state-consumers` } },
    });
  });

  it('are seen by callers who read runs, locked by those who may lock, and changed by administrators (WP.39)', async () => {
    const { id } = await workspaces.workspace('acme', 'ruled');
    const withAccess = async (access: string, settings: object = {}) => {
      const teamId = await team(workspaces, 'acme', `${access}-${Object.keys(settings).length}`);
      await grant(workspaces, teamId, id, access, settings);
      return member(workspaces, 'acme', [teamId]);
    };
    const outsider = await member(workspaces, 'acme');
    const reader = await withAccess('read');
    const locker = await withAccess('custom', { 'workspace-locking': true });
    const administrator = await withAccess('admin');
    const change = resource('workspaces', { description: 'x' });
    const can = async (who: Client) => {
      const shown = (await who.get(`workspaces/${id}`)).status;
      const listed = (await who.get('organizations/acme/workspaces')).body.data.map(({ id }: { id: string }) => id);
      const changed = (await who.patch(`workspaces/${id}`, change)).status;
      const locked = (await who.post(`workspaces/${id}/actions/lock`)).status;
      if (locked !== 200) await admin.post(`workspaces/${id}/actions/lock`).expect(200);
      const unlocked = (await who.post(`workspaces/${id}/actions/unlock`)).status;
      if (unlocked === 200) await admin.post(`workspaces/${id}/actions/lock`).expect(200);
      const forced = (await who.post(`workspaces/${id}/actions/force-unlock`)).status;
      if (forced !== 200) await admin.post(`workspaces/${id}/actions/force-unlock`).expect(200);
      return { shown, listed: listed.includes(id), changed, locked, forced };
    };
    expect(await can(outsider)).toEqual({ shown: 404, listed: false, changed: 404, locked: 404, forced: 404 });
    expect(await can(reader)).toEqual({ shown: 200, listed: true, changed: 404, locked: 404, forced: 404 });
    expect(await can(locker)).toEqual({ shown: 200, listed: true, changed: 404, locked: 200, forced: 404 });
    expect(await can(administrator)).toEqual({ shown: 200, listed: true, changed: 200, locked: 200, forced: 200 });
    await admin.post(`workspaces/${id}/actions/lock`).expect(200);
    await reader.post(`workspaces/${id}/actions/unlock`).expect(404);
    await admin.post(`workspaces/${id}/actions/unlock`).expect(200);
    await locker.post(`workspaces/${id}/actions/lock`).expect(200);
    await locker.post(`workspaces/${id}/actions/unlock`).expect(200);
  });

  it('are created by owners, by teams that manage workspaces or projects, by the organization, and in projects (WP.40)', async () => {
    const at = 'organizations/acme/workspaces';
    const own = await project(workspaces, 'acme', 'own');
    const other = await project(workspaces, 'acme', 'other');
    const teams = {
      workspaces: await team(workspaces, 'acme', 'workspaces', ['manage-workspaces']),
      projects: await team(workspaces, 'acme', 'projects', ['manage-projects']),
      seers: await team(workspaces, 'acme', 'seers', ['read-workspaces', 'read-projects']),
      inside: await team(workspaces, 'acme', 'inside'),
    };
    await grantProject(workspaces, teams.inside, own, 'maintain');
    await grantProject(workspaces, teams.inside, other, 'read');
    const by = async (who: Client, name: string, projectId?: string) =>
      (await who.post(at, of(name, projectId))).status;
    expect(await by(admin, 'by-owner')).toBe(201);
    expect(await by(await member(workspaces, 'acme', [teams.workspaces]), 'by-workspaces')).toBe(201);
    expect(await by(await member(workspaces, 'acme', [teams.projects]), 'by-projects')).toBe(201);
    expect(await by(await organizationToken(workspaces, 'acme'), 'by-organization')).toBe(201);
    expect(await by(await member(workspaces, 'acme', [teams.seers]), 'by-seer', own)).toBe(404);
    const inside = await member(workspaces, 'acme', [teams.inside]);
    expect(await by(inside, 'by-project', own)).toBe(201);
    expect(await by(inside, 'elsewhere', other)).toBe(404);
  });
});
