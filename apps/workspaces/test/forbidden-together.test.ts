import { beforeAll, describe, expect, it } from '@jest/globals';
import { ref, resource, startWorkspaces } from './start-workspaces';

const repository = { identifier: 'a/b', 'oauth-token-id': 'ot-1234567812345678' };

describe('a workspace', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let id = '';
  beforeAll(async () => {
    await workspaces.organization('acme');
    id = (await workspaces.workspace('acme', 'app')).id;
  });

  it.each([
    ['operations and a mode', { operations: false, 'execution-mode': 'local' }],
    ['prefixes and patterns', { 'trigger-prefixes': ['a'], 'trigger-patterns': ['b/**'] }],
    ['a pool and remote execution', { 'agent-pool-id': 'apool-1234567812345678', 'execution-mode': 'remote' }],
    ['a pool and local execution', { 'agent-pool-id': 'apool-1234567812345678', 'execution-mode': 'local' }],
    ['a pool and no operations', { 'agent-pool-id': 'apool-1234567812345678', operations: false }],
    ['agent execution and no pool', { 'execution-mode': 'agent' }],
    ['its own mode without a value', { 'setting-overwrites': { 'execution-mode': true } }],
    [
      'tags and prefixes',
      { 'trigger-prefixes': ['a'], 'vcs-repo': { ...repository, 'tags-regex': 'v.*' }, 'file-triggers-enabled': false },
    ],
    [
      'tags and patterns',
      { 'trigger-patterns': ['a'], 'vcs-repo': { ...repository, 'tags-regex': 'v.*' }, 'file-triggers-enabled': false },
    ],
    ['tags and file triggers', { 'file-triggers-enabled': true, 'vcs-repo': { ...repository, 'tags-regex': 'v.*' } }],
    ['a token and an installation', { 'vcs-repo': { ...repository, 'vcshost-app-installation-id': 'ghain-1' } }],
    ['two versions under two names', { 'infra-version': '1.1.0', 'terraform-version': '1.2.0' }],
  ])('never has %s: neither when created nor after a change', async (_what, attributes) => {
    const before = await admin.get(`workspaces/${id}`).expect(200);
    const made = await admin
      .post('organizations/acme/workspaces', resource('workspaces', { name: 'bad', ...attributes }))
      .expect(422);
    const changed = await admin.patch(`workspaces/${id}`, resource('workspaces', attributes)).expect(422);
    for (const { body } of [made, changed]) {
      expect(body.errors[0]).toMatchObject({ status: '422', detail: expect.stringMatching(/\w/) });
    }
    await admin.get('organizations/acme/workspaces/bad').expect(404);
    expect((await admin.get(`workspaces/${id}`).expect(200)).body).toEqual(before.body);
  });

  it('inherits the auto-destroy settings of its project until it sets its own', async () => {
    const draft = resource('projects', { name: 'short-lived', 'auto-destroy-activity-duration': '3d' });
    const project = (await admin.post('organizations/acme/projects', draft).expect(201)).body.data.id;
    const ends = ({ body }: { body: { data: { attributes: Record<string, unknown> } } }) => {
      const { attributes } = body.data;
      return [attributes['inherits-project-auto-destroy'], attributes['auto-destroy-activity-duration']];
    };
    const relation = { project: ref('projects', project) };
    const made = await admin.post('organizations/acme/workspaces', resource('workspaces', { name: 'brief' }, relation));
    expect(ends(made)).toEqual([true, '3d']);
    const set = (attributes: object) =>
      admin.patch(`workspaces/${made.body.data.id}`, resource('workspaces', attributes));
    expect(ends(await set({ 'auto-destroy-activity-duration': '14d' }).expect(200))).toEqual([false, '14d']);
    expect(ends(await set({ 'auto-destroy-activity-duration': null }).expect(200))).toEqual([false, null]);
    expect(ends(await set({ 'auto-destroy-activity-duration': '14d' }).expect(200))).toEqual([false, '14d']);
    expect(ends(await set({ 'inherits-project-auto-destroy': true }).expect(200))).toEqual([true, '3d']);
    await admin
      .patch(`projects/${project}`, resource('projects', { 'auto-destroy-activity-duration': '5d' }))
      .expect(200);
    expect(ends(await admin.get(`workspaces/${made.body.data.id}`).expect(200))).toEqual([true, '5d']);
    expect(ends(await set({ 'auto-destroy-at': '2031-01-02T03:04:05.000Z' }).expect(200))).toEqual([false, null]);
    const both = { 'auto-destroy-activity-duration': '14d', 'inherits-project-auto-destroy': true };
    const { body } = await set(both).expect(422);
    expect(body.errors[0].source.pointer).toBe('/data/attributes/inherits-project-auto-destroy');
  });

  it('has one auto-destroy setting at a time: setting the other removes the first, and both at once are refused', async () => {
    const at = '2031-01-02T03:04:05.000Z';
    const set = (attributes: object) => admin.patch(`workspaces/${id}`, resource('workspaces', attributes));
    const ends = (body: { data: { attributes: Record<string, unknown> } }) => [
      body.data.attributes['auto-destroy-at'],
      body.data.attributes['auto-destroy-activity-duration'],
    ];
    expect(ends((await set({ 'auto-destroy-at': at }).expect(200)).body)).toEqual([at, null]);
    expect(ends((await set({ 'auto-destroy-activity-duration': '14d' }).expect(200)).body)).toEqual([null, '14d']);
    expect(ends((await set({ 'auto-destroy-at': at }).expect(200)).body)).toEqual([at, null]);
    const { body } = await set({ 'auto-destroy-at': at, 'auto-destroy-activity-duration': '14d' }).expect(422);
    expect(body.errors[0].source.pointer).toBe('/data/attributes/auto-destroy-activity-duration');
  });

  it('accepts a thousand tags at once, and refuses ten thousand without storing any', async () => {
    const tags = (count: number, prefix: string) => ({
      data: Array.from({ length: count }, (_, i) => ({ type: 'tags', attributes: { name: `${prefix}${i}` } })),
    });
    await admin.post(`workspaces/${id}/relationships/tags`, tags(10_000, 'many')).expect(422);
    const before = await admin.get(`workspaces/${id}`).expect(200);
    expect(before.body.data.attributes['tag-names']).toEqual([]);
    await admin.post(`workspaces/${id}/relationships/tags`, tags(1000, 'some')).expect(204);
    const after = await admin.get(`workspaces/${id}`).expect(200);
    expect(after.body.data.attributes['tag-names']).toHaveLength(1000);
  });
});
