import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { archiveOf, putUrl } from './configurations';
import { member, project, team } from './members';
import { policiesOf } from './policy-sets';
import { resource, startWorkspaces } from './start-workspaces';

const rego = 'package terraform\ndeny contains "no" if false\n';
const declared = (body = 'query = "data.terraform.deny"\n  enforcement_level = "mandatory"') =>
  `policy "first" {\n  ${body}\n}\n`;

describe('policies', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const { post, upload, policy, set, version } = policiesOf(workspaces);
  let count = 0;

  beforeAll(async () => {
    await workspaces.organization('acme');
    await workspaces.organization('other');
  });

  const show = async (path: string) => (await admin.get(path).expect(200)).body.data;
  const pointers = (body: { errors: { source?: { pointer: string } }[] }) =>
    body.errors.map(({ source }) => source?.pointer);

  it('have a unique name, a level, and code that is uploaded and downloaded (WV.18)', async () => {
    const given = { name: 'tags', kind: 'opa', query: 'terraform.tags["x y"]', 'enforcement-level': 'advisory' };
    const { body } = await post('policies', resource('policies', { ...given, description: 'Of all' })).expect(201);
    const { id } = body.data;
    expect(body.data).toMatchObject({
      id: expect.stringMatching(/^pol-/),
      attributes: { ...given, description: 'Of all', enforce: [], 'policy-set-count': 0 },
      relationships: { organization: { data: { id: 'acme' } } },
      links: { upload: `/api/v2/policies/${id}/upload` },
    });
    await admin.get(`policies/${id}/download`).expect(404);
    await upload(id, rego).expect(200);
    expect((await admin.get(`policies/${id}/download`).expect(200)).text).toBe(rego);
    expect((await show(`policies/${id}`)).attributes.enforce).toEqual([{ path: 'tags.rego', mode: 'advisory' }]);
    await post('policies', resource('policies', given)).expect(422);
    const change = resource('policies', { enforce: [{ path: 'x', mode: 'mandatory' }], query: 'data.y' });
    const { body: changed } = await admin.patch(`policies/${id}`, change).expect(200);
    expect(changed.data.attributes).toMatchObject({ 'enforcement-level': 'mandatory', query: 'data.y' });
    const { body: listed } = await admin
      .get('organizations/acme/policies?search[name]=AG&filter[kind]=opa')
      .expect(200);
    expect(listed.data.map((one: { id: string }) => one.id)).toEqual([id]);
    expect((await admin.get('organizations/acme/policies?filter[kind]=sentinel').expect(200)).body.data).toEqual([]);
    await admin.delete(`policies/${id}`).expect(204);
    await admin.get(`policies/${id}`).expect(404);
  });

  it.each([
    ['no query', { query: undefined }, 'query'],
    ['a query that is not just a reference', { query: 'data.x]; y' }, 'query'],
    ['a query with a function', { query: 'http.send({})' }, 'query'],
    ['a level of the other policy kind', { 'enforcement-level': 'hard-mandatory' }, 'enforcement-level'],
    ['no level', { 'enforcement-level': undefined }, 'enforcement-level'],
    ['two levels', { enforce: [{ mode: 'advisory' }] }, 'enforce'],
    ['a name with a space', { name: 'a b' }, 'name'],
  ])('are refused with %s', async (_what, attributes, at) => {
    const given = { name: 'bad', kind: 'opa', query: 'data.x', 'enforcement-level': 'advisory', ...attributes };
    const { body } = await post('policies', resource('policies', given)).expect(422);
    expect(pointers(body)).toEqual([`/data/attributes/${at}`]);
  });

  it('accept only code that is small and UTF-8', async () => {
    const id = await policy('small');
    await upload(id, Buffer.from([0xff, 0xfe]) as unknown as string).expect(422);
    await upload(id, 'x'.repeat(300 * 1024)).expect(413);
    expect((await admin.get(`policies/${id}/download`).expect(200)).text).toBe('# small');
  });

  it('are managed by callers with the right, read by members, and invisible to others', async () => {
    const managers = await team(workspaces, 'acme', 'policy-makers', ['manage-policies']);
    const manager = policiesOf(workspaces, 'acme', await member(workspaces, 'acme', [managers]));
    const id = await manager.policy('owned');
    const made = await manager.set('owned', {}, { policies: [id] });
    const reader = await member(workspaces, 'acme');
    const stranger = await member(workspaces, 'other');
    const parameter = resource('vars', { key: 'k', value: 'v', category: 'policy-set' });
    const { body } = await admin.post(`policy-sets/${made.id}/parameters`, parameter).expect(201);
    const announced = await version(
      (await set('versioned')).id,
      await archiveOf([
        ['policies.hcl', declared()],
        ['a.rego', rego],
      ]),
    );
    const reading = [
      'policies/:id',
      'policies/:id/download',
      'policy-sets/:set',
      'policy-sets/:set/versions',
      'policy-set-versions/:version',
    ].map((path) => path.replace(':id', id).replace(':set', made.id).replace(':version', announced));
    for (const path of reading) {
      await reader.get(path).expect(200);
      await stranger.get(path).expect(404);
    }
    expect((await reader.get(`policy-set-versions/${announced}`).expect(200)).body.data.links.upload).toBeUndefined();
    const writes = [
      () => reader.patch(`policies/${id}`, resource('policies', { description: 'x' })),
      () => reader.put(`policies/${id}/upload`).set('Content-Type', 'application/octet-stream').send('x'),
      () => reader.delete(`policies/${id}`),
      () => reader.patch(`policy-sets/${made.id}`, resource('policy-sets', { global: true })),
      () => reader.post(`policy-sets/${made.id}/relationships/policies`, { data: [] }),
      () => reader.post(`policy-sets/${made.id}/tag-selectors`, { data: [{ 'tag-key': 'x' }] }),
      () => reader.post(`policy-sets/${made.id}/versions`),
      () => reader.get(`policy-sets/${made.id}/parameters`),
      () => reader.get(`policy-sets/${made.id}/parameters/${body.data.id}`),
      () => reader.delete(`policy-sets/${made.id}`),
      () =>
        reader.post(
          'organizations/acme/policies',
          resource('policies', { name: 'x', 'enforcement-level': 'advisory' }),
        ),
      () => reader.post('organizations/acme/policy-sets', resource('policy-sets', { name: 'x' })),
    ];
    for (const write of writes) expect((await write()).status).toBe(404);
  });

  it('come in sets, whose lists can be replaced, and which show members only to those who may see them (WV.17)', async () => {
    const ids = [await policy('one'), await policy('two')];
    const web = await workspaces.workspace('acme', 'set-web');
    const prj = await project(workspaces, 'acme', 'set-project');
    const made = await set(
      'all',
      { description: 'd', overridable: true },
      { policies: ids, workspaces: [web.id], projects: [prj] },
    );
    expect(made).toMatchObject({
      id: expect.stringMatching(/^polset-/),
      attributes: {
        ...{ name: 'all', kind: 'opa', global: false, overridable: true, 'policy-tool-version': 'latest' },
        ...{ 'policy-count': 2, 'workspace-count': 1, 'project-count': 1, versioned: false },
      },
    });
    const path = `policy-sets/${made.id}`;
    await admin.delete(`${path}/relationships/policies`, { data: [{ type: 'policies', id: ids[0] }] }).expect(204);
    await admin
      .post(`${path}/relationships/workspace-exclusions`, { data: [{ type: 'workspaces', id: web.id }] })
      .expect(204);
    await admin.post(`${path}/relationships/project-exclusions`, { data: [{ type: 'projects', id: prj }] }).expect(204);
    await admin.delete(`${path}/relationships/projects`, { data: [{ type: 'projects', id: prj }] }).expect(204);
    const selectors = [
      { 'tag-key': 'env', 'tag-value': 'prod', 'is-exclude': true },
      { 'tag-key': 'team', 'tag-value': null, 'is-exclude': false },
    ];
    await admin.post(`${path}/tag-selectors`, { data: selectors }).expect(204);
    await admin.delete(`${path}/tag-selectors`, { data: selectors.slice(1) }).expect(204);
    const { body } = await admin
      .get(`${path}?include=policies,workspaces,workspace_exclusions,project_exclusions`)
      .expect(200);
    expect(body.data.attributes['tag-selectors']).toEqual(selectors.slice(0, 1));
    const two = await workspaces.workspace('acme', 'set-two');
    const both = [web.id, two.id].map((id) => ({ type: 'workspaces', id }));
    const patch = resource('policy-sets', { global: false }, { workspaces: { data: both } });
    const changed = (await admin.patch(path, patch).expect(200)).body.data;
    expect(changed.attributes['workspace-count']).toBe(2);
    await admin.delete(`${path}/relationships/workspaces`, { data: both.slice(1) }).expect(204);
    const idsOf = (name: string) => body.data.relationships[name].data.map((one: { id: string }) => one.id);
    expect([
      idsOf('policies'),
      idsOf('workspaces'),
      idsOf('projects'),
      idsOf('workspace-exclusions'),
      idsOf('project-exclusions'),
    ]).toEqual([[ids[1]], [web.id], [], [web.id], [prj]]);
    expect(new Set(body.included.map((one: { type: string }) => one.type))).toEqual(
      new Set(['policies', 'workspaces', 'projects']),
    );
    const reader = await member(workspaces, 'acme');
    const seen = (await reader.get(path).expect(200)).body.data;
    expect([seen.attributes['workspace-count'], seen.relationships.workspaces.data]).toEqual([0, []]);
    const { body: listed } = await admin
      .get('organizations/acme/policy-sets?search[name]=AL&filter[kind]=opa')
      .expect(200);
    expect(listed.data.map((one: { id: string }) => one.id)).toEqual([made.id]);
    await admin.delete(path).expect(204);
    await admin.get(`policies/${ids[1]}`).expect(200);
  });

  it('come in sets that refuse workspaces of other organizations and policies of another kind', async () => {
    const foreign = await workspaces.workspace('other', 'elsewhere');
    const sentinel = await policy('sentinel', { kind: 'sentinel', 'enforcement-level': 'soft-mandatory' });
    const made = await set('strict');
    const add = (list: string, type: string, id: string) =>
      admin.post(`policy-sets/${made.id}/relationships/${list}`, { data: [{ type, id }] });
    await add('workspaces', 'workspaces', foreign.id).expect(422);
    await add('workspace-exclusions', 'workspaces', foreign.id).expect(422);
    await add('projects', 'projects', 'prj-unknown').expect(422);
    await add('policies', 'policies', sentinel).expect(422);
  });

  it('have parameters, whose sensitive values are sealed and never shown', async () => {
    const { id } = await set('parameters');
    const path = `policy-sets/${id}/parameters`;
    const given = { key: 'owner', value: 'top-secret', category: 'policy-set', sensitive: true };
    const { body } = await admin.post(path, resource('vars', given)).expect(201);
    expect(body.data).toMatchObject({
      attributes: { key: 'owner', value: null, sensitive: true },
      relationships: { configurable: { data: { type: 'policy-sets', id } } },
    });
    await admin.post(path, resource('vars', given)).expect(422);
    await admin.patch(`${path}/${body.data.id}`, resource('vars', { sensitive: false })).expect(422);
    const { rows } = await workspaces.service.pool.query('SELECT value, sealed FROM variable WHERE id = $1', [
      body.data.id,
    ]);
    expect(rows[0].value).toBeNull();
    expect(rows[0].sealed.includes('top-secret')).toBe(false);
    await admin.delete(`${path}/${body.data.id}`).expect(204);
    expect((await admin.get(path).expect(200)).body.data).toEqual([]);
  });

  it('of Sentinel can also be uploaded together', async () => {
    const { id } = await set('of-sentinel', { kind: 'sentinel' });
    const hcl = 'policy "old" {\n  source = "./old.sentinel"\n  enforcement_level = "hard-mandatory"\n}\n';
    const made = await version(id, await archiveOf([['sentinel.hcl', hcl]]));
    expect((await show(`policy-set-versions/${made}`)).attributes.status).toBe('ready');
  });

  it('of a set can be uploaded together, and the newest readable version is used', async () => {
    const { id } = await set('together');
    const good = await archiveOf([
      ['policies.hcl', declared()],
      ['rules/a.rego', rego],
      ['notes.txt', 'not kept'],
    ]);
    const first = await version(id, good);
    const shown = await show(`policy-set-versions/${first}`);
    expect(shown.attributes).toMatchObject({ status: 'ready', source: 'tfe-api', error: null });
    const second = await version(id, await archiveOf([['policies.hcl', declared('query = 1')]]), 422);
    const { body: versions } = await admin.get(`policy-sets/${id}/versions`).expect(200);
    expect(versions.data.map((one: { id: string }) => one.id)).toEqual([second, first]);
    expect((await show(`policy-set-versions/${second}`)).attributes).toMatchObject({
      status: 'errored',
      error: 'invalid archive',
      'error-message': expect.stringMatching(/policies\.hcl: query of the policy first/),
    });
    const { relationships, attributes } = await show(`policy-sets/${id}`);
    expect(attributes.versioned).toBe(true);
    expect(relationships['newest-version'].data.id).toBe(second);
    expect(relationships['current-version'].data.id).toBe(first);
    await admin
      .post(`policy-sets/${id}/relationships/policies`, { data: [{ type: 'policies', id: await policy('late') }] })
      .expect(422);
    const { body } = await admin.post(`policy-sets/${id}/versions`).expect(201);
    const link = body.data.links.upload;
    await putUrl(workspaces, link, good).expect(200);
    await putUrl(workspaces, link, good).expect(200);
    await putUrl(
      workspaces,
      link,
      await archiveOf([
        ['policies.hcl', declared()],
        ['b.rego', rego],
      ]),
    ).expect(409);
  });

  it.each([
    ['no archive', async () => Buffer.from('plain')],
    ['no declarations', () => archiveOf([['a.rego', rego]])],
    [
      'a file outside its folder',
      () =>
        archiveOf([
          ['policies.hcl', declared()],
          ['../a.rego', rego],
        ]),
    ],
    [
      'a link',
      () =>
        archiveOf([
          ['policies.hcl', declared()],
          [{ name: 'a.rego', type: 'symlink', linkname: '/etc/passwd' }, ''],
        ]),
    ],
    [
      'a device',
      () =>
        archiveOf([
          ['policies.hcl', declared()],
          [{ name: 'a.rego', type: 'character-device' }, ''],
        ]),
    ],
    [
      'declarations that cannot be read',
      () =>
        archiveOf([
          ['policies.hcl', 'policy "x" {'],
          ['a.rego', rego],
        ]),
    ],
    [
      'deeply nested declarations',
      () =>
        archiveOf([
          ['policies.hcl', `x = ${'['.repeat(200_000)}`],
          ['a.rego', rego],
        ]),
    ],
    [
      'a policy that is declared twice',
      () =>
        archiveOf([
          ['policies.hcl', declared() + declared()],
          ['a.rego', rego],
        ]),
    ],
    ['no rules', () => archiveOf([['policies.hcl', declared()]])],
    [
      'no level',
      () =>
        archiveOf([
          ['policies.hcl', declared('query = "data.x"')],
          ['a.rego', rego],
        ]),
    ],
    ['a decompression bomb', async () => gzipSync(Buffer.alloc(60 * 1024 * 1024))],
  ])('of a version are refused with %s', async (_what, archive) => {
    const { id } = await set(`refused-${++count}`);
    const made = await version(id, await archive(), 422);
    expect((await show(`policy-set-versions/${made}`)).attributes.status).toBe('errored');
    expect((await show(`policy-sets/${id}`)).relationships['current-version']).toBeUndefined();
  });
});
