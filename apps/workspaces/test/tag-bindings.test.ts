import { beforeAll, describe, expect, it } from '@jest/globals';
import type { OrganizationRight } from '../src/kernel/access/capabilities';
import { member, team } from './members';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

type Shown = { attributes: { key: string; value: string }; links?: Record<string, string> }[];

describe('key-value tags of projects', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const binding = (key: string, value: string) => ({ type: 'tag-bindings', attributes: { key, value } });
  let bads = 0;
  const asPairs = (data: Shown) => data.map(({ attributes }) => `${attributes.key}=${attributes.value}`);
  const list = async (path: string): Promise<string[]> => asPairs((await admin.get(path).expect(200)).body.data);
  const makeProject = async (name: string, bindings?: object[]) => {
    const relationships = bindings && { 'tag-bindings': { data: bindings } };
    const body = resource('projects', { name }, relationships);
    return (await admin.post('organizations/acme/projects', body).expect(201)).body.data.id as string;
  };
  const makeWorkspace = async (name: string, project: string, bindings?: object[]) => {
    const more = bindings && { 'tag-bindings': { data: bindings } };
    const body = resource('workspaces', { name }, { project: ref('projects', project), ...more });
    return (await admin.post('organizations/acme/workspaces', body).expect(201)).body.data.id as string;
  };

  const having = async (right: OrganizationRight) =>
    member(workspaces, 'acme', [await team(workspaces, 'acme', right, [right])]);

  beforeAll(async () => {
    await workspaces.organization('acme');
  });

  it('are set at creation, added to, replaced by an update, and removed', async () => {
    const id = await makeProject('Stones', [binding('team', 'quarry')]);
    expect(await list(`projects/${id}/tag-bindings`)).toEqual(['team=quarry']);
    const added = { data: [binding('team', 'mine'), binding('cost', '7')] };
    const { body } = await admin.patch(`projects/${id}/tag-bindings`, added).expect(200);
    // The tags in the request come first, in their order, then the others.
    expect(asPairs(body.data)).toEqual(['team=mine', 'cost=7']);
    const more = (await admin.patch(`projects/${id}/tag-bindings`, { data: [binding('team', 'mine')] })).body;
    expect(asPairs(more.data)).toEqual(['team=mine', 'cost=7']);
    expect(await list(`projects/${id}/effective-tag-bindings`)).toEqual(['cost=7', 'team=mine']);
    const update = (data: object[]) =>
      admin.patch(`projects/${id}`, resource('projects', {}, { 'tag-bindings': { data } })).expect(200);
    await update([binding('cost', '8')]);
    expect(await list(`projects/${id}/tag-bindings`)).toEqual(['cost=8']);
    await admin.patch(`projects/${id}`, resource('projects', { description: 'kept' })).expect(200);
    expect(await list(`projects/${id}/tag-bindings`)).toEqual(['cost=8']);
    await update([]);
    expect(await list(`projects/${id}/tag-bindings`)).toEqual([]);
  });

  it.each(['projects', 'workspaces'])('are listed, added and replaced as a relationship of %s too', async (type) => {
    const project = await makeProject(`Related ${type}`);
    const id = type === 'projects' ? project : await makeWorkspace('related', project);
    const at = `${type}/${id}/relationships/tag-bindings`;
    const post = await admin.post(at, { data: [binding('team', 'quarry')] }).expect(204);
    expect(post.text).toBe('');
    await admin.post(at, { data: [binding('cost', '7')] }).expect(204);
    expect(await list(at)).toEqual(['cost=7', 'team=quarry']);
    await admin.patch(at, { data: [binding('team', 'mine')] }).expect(204);
    expect(await list(at)).toEqual(['team=mine']);
    expect(await list(`${type}/${id}/tag-bindings`)).toEqual(['team=mine']);
    await admin.patch(at, { data: [binding('hc:x', 'y')] }).expect(422);
    const reader = await member(workspaces, 'acme', [
      await team(workspaces, 'acme', `reads ${type}`, ['read-projects', 'read-workspaces']),
    ]);
    await reader.patch(at, { data: [] }).expect(404);
    await reader.post(at, { data: [binding('k', 'v')] }).expect(404);
    await admin.patch(at, { data: [] }).expect(204);
    expect(await list(at)).toEqual([]);
  });

  it('are inherited by workspaces, whose own value wins', async () => {
    const project = await makeProject('Cranes', [binding('team', 'quarry'), binding('cost', '7')]);
    const id = await makeWorkspace('crane', project, [binding('cost', '9')]);
    const { body } = await admin.get(`workspaces/${id}/effective-tag-bindings`).expect(200);
    expect(asPairs(body.data)).toEqual(['cost=9', 'team=quarry']);
    const data: Shown = body.data;
    expect(data.map(({ links }) => links)).toEqual([undefined, { 'inherited-from': `/api/v2/projects/${project}` }]);
    expect(await list(`workspaces/${id}/tag-bindings`)).toEqual(['cost=9']);
    const none = resource('workspaces', {}, { 'tag-bindings': { data: [] } });
    await admin.patch(`workspaces/${id}`, none).expect(200);
    expect(await list(`workspaces/${id}/effective-tag-bindings`)).toEqual(['cost=7', 'team=quarry']);
  });

  it('are named and included in projects and workspaces if requested', async () => {
    const project = await makeProject('Included', [binding('in', 'cluded')]);
    const workspace = await makeWorkspace('included', project);
    const asked = ['projects', 'workspaces'].map((type) => `organizations/acme/${type}`);
    for (const path of [`projects/${project}`, `workspaces/${workspace}`, ...asked]) {
      const { body } = await admin.get(`${path}?include=effective_tag_bindings`).expect(200);
      const all = Array.isArray(body.data) ? body.data : [body.data];
      const one = all.find(({ id }: { id: string }) => [project, workspace].includes(id));
      const [named] = one.relationships['effective-tag-bindings'].data;
      expect(body.included).toContainEqual(
        expect.objectContaining({ ...named, attributes: expect.objectContaining({ key: 'in', value: 'cluded' }) }),
      );
    }
    const { body: plain } = await admin.get(`projects/${project}`).expect(200);
    expect(plain.data.relationships['effective-tag-bindings'].data).toBeUndefined();
  });

  it('filter the list of projects', async () => {
    await makeProject('Found', [binding('find', 'me'), binding('also', 'this')]);
    await makeProject('Other', [binding('find', 'another')]);
    const names = async (...tags: [string, string?][]) => {
      const query = tags.flatMap(([key, value], n) => [
        `filter[tagged][${n}][key]=${key}`,
        ...(value === undefined ? [] : [`filter[tagged][${n}][value]=${value}`]),
      ]);
      const { body } = await admin.get(`organizations/acme/projects?${query.join('&')}`).expect(200);
      return body.data.map((item: { attributes: { name: string } }) => item.attributes.name);
    };
    expect(await names(['find'])).toEqual(['Found', 'Other']);
    expect(await names(['find', 'me'])).toEqual(['Found']);
    expect(await names(['find'], ['also', 'this'])).toEqual(['Found']);
    expect(await names(['find', 'unused'])).toEqual([]);
  });

  it.each([
    [binding('hc:mine', 'x')],
    [binding('', 'x')],
    [binding('a/b', 'x')],
    [{ type: 'tag-bindings', attributes: { key: 'k', value: 5 } }],
    [{ type: 'tag-bindings' }],
  ])('refuse %j, and more than ten', async (bad) => {
    const id = await makeProject(`Bad ${++bads}`);
    const { body } = await admin.patch(`projects/${id}/tag-bindings`, { data: [bad] }).expect(422);
    expect(body.errors).toHaveLength(1);
    const eleven = Array.from({ length: 11 }, (_, n) => binding(`k${n}`, 'x'));
    await admin.patch(`projects/${id}/tag-bindings`, { data: eleven }).expect(422);
    expect(await list(`projects/${id}/tag-bindings`)).toEqual([]);
  });

  it('are set by callers who may change the project, and read by those who see it', async () => {
    const id = await makeProject('Guarded');
    const reader = await having('read-projects');
    await reader.get(`projects/${id}/tag-bindings`).expect(200);
    await reader.patch(`projects/${id}/tag-bindings`, { data: [binding('k', 'v')] }).expect(404);
    const stranger = await workspaces.person('stranger');
    await stranger.get(`projects/${id}/tag-bindings`).expect(404);
    await stranger.get(`projects/${id}/effective-tag-bindings`).expect(404);
  });

  describe('with reserved keys', () => {
    const keys = 'organizations/acme/reserved-tag-keys';
    const reserve = (attributes: object, as: Client = admin) =>
      as.post(keys, resource('reserved-tag-keys', attributes));

    it('are created, listed, changed and deleted', async () => {
      const { body } = await reserve({ key: 'owner' }).expect(201);
      expect(body.data).toMatchObject({
        id: expect.stringMatching(/^rtk-/),
        type: 'reserved-tag-keys',
        attributes: { key: 'owner', 'disable-overrides': false },
        relationships: { organization: { data: { type: 'organizations', id: 'acme' } } },
      });
      expect((await admin.get(keys).expect(200)).body).toMatchObject({
        data: [body.data],
        meta: { pagination: { 'total-count': 1 } },
      });
      const again = await reserve({ key: 'owner' }).expect(422);
      expect(again.body.errors[0].detail).toBe('Key has already been taken');
      const bad = await reserve({ key: '! / nope' }).expect(422);
      expect(bad.body.errors[0].detail).toBe('Key is invalid');
      const path = `reserved-tag-keys/${body.data.id}`;
      const changed = await admin.patch(path, resource('reserved-tag-keys', { 'disable-overrides': true })).expect(200);
      expect(changed.body.data.attributes).toMatchObject({ key: 'owner', 'disable-overrides': true });
      const other = (await reserve({ key: 'other' }).expect(201)).body.data;
      await admin.patch(`reserved-tag-keys/${other.id}`, resource('reserved-tag-keys', { key: 'owner' })).expect(422);
      await admin.delete(`reserved-tag-keys/${other.id}`).expect(204);
      await admin.delete(path).expect(204);
      await admin.delete(path).expect(404);
    });

    it('that may not be overridden apply in every workspace, even over its earlier values', async () => {
      const project = await makeProject('Fixed', [binding('fixed', 'ours'), binding('loose', 'ours')]);
      const id = await makeWorkspace('fixed', project, [binding('fixed', 'mine'), binding('loose', 'mine')]);
      const { body } = await reserve({ key: 'fixed', 'disable-overrides': true }).expect(201);
      await reserve({ key: 'loose' }).expect(201);
      expect(await list(`workspaces/${id}/effective-tag-bindings`)).toEqual(['fixed=ours', 'loose=mine']);
      const tagged = async (value: string) =>
        (
          await admin
            .get(`organizations/acme/workspaces?filter[tagged][0][key]=fixed&filter[tagged][0][value]=${value}`)
            .expect(200)
        ).body.data.length;
      expect([await tagged('ours'), await tagged('mine')]).toEqual([1, 0]);
      const refused = await admin
        .patch(`workspaces/${id}/tag-bindings`, { data: [binding('fixed', 'again')] })
        .expect(422);
      expect(refused.body.errors[0].detail).toContain('fixed');
      await admin.patch(`workspaces/${id}/tag-bindings`, { data: [binding('loose', 'again')] }).expect(200);
      // A key that the project does not set can be set by its workspaces.
      const free = await makeWorkspace('free', await makeProject('Without'), [binding('fixed', 'mine')]);
      expect(await list(`workspaces/${free}/effective-tag-bindings`)).toEqual(['fixed=mine']);
      await admin.delete(`reserved-tag-keys/${body.data.id}`).expect(204);
      expect(await list(`workspaces/${id}/effective-tag-bindings`)).toEqual(['fixed=mine', 'loose=again']);
    });

    it('are set by callers who manage all projects, and read by members', async () => {
      const writer = await having('manage-workspaces');
      await writer.get(keys).expect(200);
      await reserve({ key: 'no' }, writer).expect(404);
      const { body } = await reserve({ key: 'guarded' }).expect(201);
      const path = `reserved-tag-keys/${body.data.id}`;
      await writer.patch(path, resource('reserved-tag-keys', { key: 'mine' })).expect(404);
      await writer.delete(path).expect(404);
      const manager = await having('manage-projects');
      await manager.delete(path).expect(204);
      const outside = await workspaces.person('outside');
      await outside.get(keys).expect(404);
    });
  });
});
