import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { resources } from '../src/resources/registry';
import { grant, member, team } from './members';
import { type Client, PASSWORD, resource, startWorkspaces } from './start-workspaces';

interface Event {
  readonly action: string;
  readonly actor: { readonly id: string; readonly name: string };
  readonly target: { readonly type: string; readonly id: string };
  readonly after: Readonly<Record<string, unknown>> | null;
}

describe('the audit trail', () => {
  let nowMs = Date.now();
  const workspaces = startWorkspaces({ now: () => nowMs });
  const { admin } = workspaces;
  const eventsAt = async (path: string, by: Client = admin): Promise<Event[]> =>
    (await by.get(`${path}?page[size]=100`).expect(200)).body.data.map(
      ({ attributes }: { attributes: Event }) => attributes,
    );
  const inAcme = () => eventsAt('organizations/acme/audit-events');
  const ofInstallation = () => eventsAt('admin/audit-events');
  const signIn = (username: string, password: string) =>
    workspaces.anyone.post('session', resource('sessions', { username, password }));
  let workspaceId = '';
  beforeAll(async () => {
    await workspaces.organization('acme');
    workspaceId = (await workspaces.workspace('acme', 'web')).id;
  });

  it('records who received a state or sensitive values, by token and by link', async () => {
    const state = {
      version: 4,
      serial: 1,
      lineage: 'l',
      outputs: { pw: { value: 'hush', type: 'string', sensitive: true } },
      resources: [],
    };
    const text = JSON.stringify(state);
    await admin.post(`workspaces/${workspaceId}/actions/lock`).expect(200);
    const md5 = createHash('md5').update(text).digest('hex');
    const body = resource('state-versions', { serial: 1, md5, state: Buffer.from(text).toString('base64') });
    const made = (await admin.post(`workspaces/${workspaceId}/state-versions`, body).expect(201)).body.data;
    const link = new URL(made.attributes['hosted-state-download-url']);
    const path = `${link.pathname}${link.search}`;
    const reader = await member(workspaces, 'acme', [await team(workspaces, 'acme', 'readers')]);
    expect((await inAcme()).some(({ action }) => action === 'state-version.download')).toBe(false);
    await admin.get(path).expect(200);
    await workspaces.anyone.get(path).expect(200);
    await reader.get(link.pathname).expect(404);
    const [byLink, byToken] = (await inAcme()).filter(({ action }) => action === 'state-version.download');
    expect(byToken).toMatchObject({ actor: { name: 'admin' }, target: { type: 'state-versions', id: made.id } });
    expect(byLink!.actor.name).toBe('admin');
  });

  it('records refused requests for existing objects in the trail of their organization, up to a number in a minute', async () => {
    const readers = await team(workspaces, 'acme', 'seers');
    await grant(workspaces, readers, workspaceId, 'read');
    const reader = await member(workspaces, 'acme', [readers]);
    const stranger = await workspaces.person('stranger');
    await reader.patch(`workspaces/${workspaceId}`, resource('workspaces', { name: 'mine' })).expect(404);
    await stranger.get(`workspaces/${workspaceId}`).expect(404);
    await stranger.get('workspaces/ws-absent').expect(404);
    const refused = (await inAcme()).filter(({ action }) => action === 'request.refuse');
    expect(refused[0]).toMatchObject({
      actor: { name: reader.username },
      target: { type: 'workspaces', id: workspaceId },
      after: { method: 'PATCH', path: '/workspaces/:workspace_id' },
    });
    // Callers who are not members leave nothing in the trail of an organization.
    const strangers = async (from: Promise<Event[]>) => (await from).filter(({ actor }) => actor.name === 'stranger');
    expect(await strangers(inAcme())).toEqual([]);
    const [first] = await strangers(ofInstallation());
    const { id: organization } = await workspaces.service.db.prisma.organization.findFirstOrThrow({
      where: { name: 'acme' },
    });
    expect(first).toMatchObject({
      target: { type: 'workspaces', id: workspaceId },
      after: { method: 'GET', path: '/workspaces/:workspace_id', organization },
    });
    for (let n = 0; n < 29; n++) await stranger.get(`workspaces/${workspaceId}`).expect(404);
    expect(await strangers(ofInstallation())).toHaveLength(20);
    // Many events of one kind do not hide events of another kind.
    await stranger.delete(`workspaces/${workspaceId}`).expect(404);
    expect(await strangers(ofInstallation())).toHaveLength(21);
    nowMs += 61_000;
    await stranger.get(`workspaces/${workspaceId}`).expect(404);
    const left = async () => (await strangers(ofInstallation())).filter(({ after }) => after?.leftOut === 10);
    while ((await left()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await left()).toHaveLength(1);
    expect(await strangers(ofInstallation())).toHaveLength(23);
  });

  it('shows site administrators events outside organizations: sign-ins with their outcome, accounts, settings', async () => {
    const ann = await workspaces.person('ann');
    await signIn('ann', PASSWORD).expect(201);
    await signIn('ann', 'wrong').expect(401);
    await signIn('no-such-person', 'wrong').expect(401);
    await ann.get('admin/users').expect(404);
    const events = await ofInstallation();
    expect(events.slice(0, 4).map(({ action, target, after }) => [action, target.type, after])).toEqual([
      ['request.refuse', 'users', { method: 'GET', path: '/admin/users' }],
      ['account.refuse-sign-in', 'users', { why: 'unknown name' }],
      ['account.refuse-sign-in', 'users', { why: 'wrong password' }],
      ['session-token.create', expect.anything(), expect.anything()],
    ]);
    expect(events[2]!.target.id).toBe(ann.id);
    expect(JSON.stringify(events)).not.toContain('no-such-person');
    await ann.get('admin/audit-events').expect(404);
    const only = await admin.get('admin/audit-events?filter[action]=account.refuse-sign-in&page[size]=1').expect(200);
    expect(only.body.data).toHaveLength(1);
    expect(only.body.meta['next-cursor']).toMatch(/^\d+$/);
    const outcome = async (name: string) =>
      (await admin.get(`admin/audit-events?filter[outcome]=${name}&page[size]=100`).expect(200)).body.data.map(
        (event: { attributes: { action: string } }) => event.attributes.action,
      );
    expect([...new Set(await outcome('refused'))].sort()).toEqual(['account.refuse-sign-in', 'request.refuse']);
    expect(await outcome('done')).toContain('session-token.create');
    expect(await outcome('done')).not.toContain('request.refuse');
    await admin.get('admin/audit-events?filter[outcome]=unknown').expect(400);
  });

  it('is written by every endpoint that returns contents', () => {
    const given = resources
      .flatMap(({ endpoints }) => endpoints)
      .filter(
        ({ method, path, link }) =>
          method === 'GET' &&
          link !== 'only' &&
          /(download|json-output|errored-state|\/content\/(raw|json))$/.test(path),
      );
    expect(given.length).toBeGreaterThan(6);
    expect(given.filter(({ discloses }) => discloses === undefined).map(({ path }) => path)).toEqual([]);
  });
});
