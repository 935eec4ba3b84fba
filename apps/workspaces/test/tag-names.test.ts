import { beforeAll, describe, expect, it } from '@jest/globals';
import { resource, startWorkspaces } from './start-workspaces';

describe('names of tags', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let id = '';
  let project = '';
  beforeAll(async () => {
    await workspaces.organization('acme');
    id = (await workspaces.workspace('acme', 'app')).id;
    const made = await admin.post('organizations/acme/projects', resource('projects', { name: 'Stones' })).expect(201);
    project = made.body.data.id;
  });
  const flat = (name: string) => ({ data: [{ type: 'tags', attributes: { name } }] });
  const binding = (key: string) => ({ data: [{ type: 'tag-bindings', attributes: { key, value: 'x' } }] });
  const named = async () =>
    (await admin.get(`workspaces/${id}/relationships/tags`).expect(200)).body.data.map(
      (tag: { attributes: { name: string } }) => tag.attributes.name,
    );
  const refusal = ({ body }: { body: { errors: { detail: string }[] } }) => body.errors[0]!.detail;

  it.each(['-a', 'a-', ':', ':a', '_', 'a b', ' a', 'a ', '', 'ä', 'a\n'])(
    'are refused as %j wherever they are given',
    async (name) => {
      expect(refusal(await admin.post(`workspaces/${id}/relationships/tags`, flat(name)).expect(422))).toContain(
        'begin and end with a letter or number',
      );
      const body = resource('workspaces', { name: 'other' }, { tags: flat(name) });
      await admin.post('organizations/acme/workspaces', body).expect(422);
      await admin.get('organizations/acme/workspaces/other').expect(404);
    },
  );

  it('may have the allowed length and no more, with a message', async () => {
    const long = 'x'.repeat(255);
    const tooLong = await admin.post(`workspaces/${id}/relationships/tags`, flat(`${long}x`)).expect(422);
    expect(refusal(tooLong)).toContain('no more than 255 characters');
    for (const name of [long, 'a', '7', 'a:b_c-d']) {
      await admin.post(`workspaces/${id}/relationships/tags`, flat(name)).expect(204);
    }
    expect((await named()).sort()).toEqual(['7', 'a', 'a:b_c-d', long].sort());
  });

  it('that were allowed earlier can be removed by name', async () => {
    await workspaces.service.pool.query(
      "INSERT INTO tag SELECT 'tag-old', organization_id, '-old' FROM workspace WHERE id = $1",
      [id],
    );
    await workspaces.service.pool.query("INSERT INTO workspace_tag (workspace_id, tag_id) VALUES ($1, 'tag-old')", [
      id,
    ]);
    expect(await named()).toContain('-old');
    await admin.delete(`workspaces/${id}/relationships/tags`, flat('-old')).expect(204);
    expect(await named()).not.toContain('-old');
  });

  it.each([' team', 'team ', ' ', 'team\n', ''])('are not keys of bindings as %j', async (key) => {
    const places = [`workspaces/${id}/tag-bindings`, `projects/${project}/tag-bindings`];
    for (const place of places) await admin.patch(place, binding(key)).expect(422);
    for (const place of places) expect((await admin.get(place).expect(200)).body.data).toEqual([]);
    await admin.post('organizations/acme/reserved-tag-keys', resource('reserved-tag-keys', { key })).expect(422);
  });

  it('may contain blanks in keys of bindings', async () => {
    await admin.patch(`workspaces/${id}/tag-bindings`, binding('cost centre')).expect(200);
  });
});
