import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type Secrets, startSecrets } from './start-secrets';

const wrapped = (text: string) => `1 error occurred:\n\t* ${text}\n\n`;

/** An auth mount's accessor, mounted on first use. */
async function accessorOf(secrets: Secrets, path: string): Promise<string> {
  await secrets.root.write(`sys/auth/${path}`, { type: 'userpass' });
  const { body } = await secrets.root.read('sys/auth').expect(200);
  return body.data[`${path}/`].accessor;
}

describe('entities over HTTP', () => {
  const secrets = startSecrets();

  it('are created, read, changed, listed and deleted', async () => {
    const made = await secrets.root
      .write('identity/entity', { name: 'Bob', metadata: { team: 'web' }, policies: 'b, a' })
      .expect(200);
    expect(Object.keys(made.body.data).sort()).toEqual(['aliases', 'id', 'name']);
    const { id } = made.body.data;
    const { body } = await secrets.root.read(`identity/entity/id/${id}`).expect(200);
    expect(body.data).toMatchObject({
      id,
      name: 'Bob',
      aliases: [],
      direct_group_ids: [],
      inherited_group_ids: [],
      group_ids: [],
      disabled: false,
      merged_entity_ids: null,
      metadata: { team: 'web' },
      namespace_id: 'root',
      policies: ['a', 'b'],
    });
    expect(Date.parse(body.data.creation_time)).not.toBeNaN();
    expect(Date.parse(body.data.last_update_time)).not.toBeNaN();
    await secrets.root.write('identity/entity', { name: 'bob', metadata: ['k=v'] }).expect(204);
    await secrets.root.write(`identity/entity/id/${id}`, { policies: [] }).expect(204);
    const byName = await secrets.root.read('identity/entity/name/BOB').expect(200);
    expect(byName.body.data).toMatchObject({ id, metadata: { k: 'v' }, policies: [] });
    const ids = await secrets.root.list('identity/entity/id').expect(200);
    expect(ids.body.data).toEqual({ keys: [id], key_info: { [id]: { aliases: [], name: 'Bob' } } });
    expect((await secrets.root.list('identity/entity/name').expect(200)).body.data.keys).toEqual(['Bob']);
    await secrets.root.delete(`identity/entity/id/${id}`).expect(204);
    await secrets.root.delete(`identity/entity/id/${id}`).expect(204);
    await secrets.root.read(`identity/entity/id/${id}`).expect(404, '{"errors":[]}\n');
    await secrets.root.list('identity/entity/id').expect(404);
  });

  it('get a generated name', async () => {
    const { body } = await secrets.root.write('identity/entity').expect(200);
    expect(body.data.name).toMatch(/^entity_[0-9a-f]{8}$/);
  });

  it('are deleted many at a time', async () => {
    const made = await Promise.all([1, 2, 3].map(() => secrets.root.write('identity/entity').expect(200)));
    const ids = made.map(({ body }) => body.data.id);
    await secrets.root.write('identity/entity/batch-delete', { entity_ids: ids }).expect(204);
    for (const id of ids) await secrets.root.read(`identity/entity/id/${id}`).expect(404);
  });

  it.each<[string, object, string]>([
    ['identity/entity', { policies: ['root'] }, 'policies cannot contain root'],
    ['identity/entity', { id: randomUUID() }, 'entity not found from id'],
    [`identity/entity/id/${randomUUID()}`, { name: 'x' }, 'entity not found from id'],
    [
      'identity/entity',
      { metadata: ['novalue'] },
      'Field validation failed: error converting input [novalue] for field "metadata": invalid key pair "novalue"',
    ],
    ['identity/entity/batch-delete', {}, 'missing entity ids to delete'],
    ['identity/entity/merge', {}, 'missing entity id to merge to'],
    ['identity/entity/merge', { to_entity_id: 'zz' }, 'missing entity ids to merge from'],
    [
      'identity/entity/merge',
      { to_entity_id: 'zz', from_entity_ids: ['zz'] },
      'to_entity_id should not be present in from_entity_ids',
    ],
    ['identity/entity/merge', { to_entity_id: 'zz', from_entity_ids: ['yy'] }, 'entity id to merge to is invalid'],
    ['identity/lookup/entity', {}, 'query parameter not supplied'],
    [
      'identity/lookup/entity',
      { id: 'x', name: 'y' },
      'query parameter conflict; please supply distinct set of query parameters',
    ],
    ['identity/lookup/group', { alias_name: 'x' }, "both 'alias_name' and 'alias_mount_accessor' needs to be set"],
  ])('%s refuses %j', async (path, body, message) => {
    await secrets.root.write(path, body).expect(400, { errors: [message] });
  });

  it('are found by id, name and alias, or not at all', async () => {
    const accessor = await accessorOf(secrets, 'lookup');
    const made = await secrets.root.write('identity/entity', { name: 'findme' }).expect(200);
    const { id } = made.body.data;
    const alias = await secrets.root
      .write('identity/entity-alias', { name: 'Al', mount_accessor: accessor, canonical_id: id })
      .expect(200);
    for (const query of [
      { id },
      { name: 'FINDME' },
      { alias_id: alias.body.data.id },
      { alias_name: 'al', alias_mount_accessor: accessor },
    ]) {
      expect((await secrets.root.write('identity/lookup/entity', query).expect(200)).body.data.id).toBe(id);
    }
    await secrets.root.write('identity/lookup/entity', { name: 'unknown' }).expect(204);
    await secrets.root.write('identity/lookup/group', { name: 'unknown' }).expect(204);
  });
});

describe('entity aliases over HTTP', () => {
  const secrets = startSecrets();

  it('belong to one entity and mount, in any case of their name', async () => {
    const accessor = await accessorOf(secrets, 'up');
    const made = await secrets.root
      .write('identity/entity-alias', { name: 'Ann', mount_accessor: accessor })
      .expect(200);
    const { id, canonical_id: entity } = made.body.data;
    await secrets.root.write('identity/entity-alias', { name: 'Ann', mount_accessor: accessor }).expect(204);
    const { body } = await secrets.root.read(`identity/entity-alias/id/${id}`).expect(200);
    expect(body.data).toMatchObject({
      canonical_id: entity,
      custom_metadata: null,
      local: false,
      merged_from_canonical_ids: null,
      metadata: null,
      mount_accessor: accessor,
      mount_path: 'auth/up/',
      mount_type: 'userpass',
      name: 'Ann',
      namespace_id: 'root',
    });
    await secrets.root
      .write('identity/entity-alias', { name: 'other', mount_accessor: accessor, canonical_id: entity })
      .expect(400, { errors: ['Alias already exists for requested entity and mount accessor'] });
    await secrets.root.write(`identity/entity-alias/id/${id}`, { custom_metadata: { k: 'v' } }).expect(200);
    const listed = await secrets.root.list('identity/entity-alias/id').expect(200);
    expect(listed.body.data.key_info[id]).toMatchObject({
      name: 'Ann',
      custom_metadata: { k: 'v' },
      mount_path: 'auth/up/',
    });
    await secrets.root.delete(`identity/entity-alias/id/${id}`).expect(204);
    await secrets.root.read(`identity/entity-alias/id/${id}`).expect(404);
  });

  it.each([
    [{}, "'id' or 'mount_accessor' and 'name' must be provided"],
    [{ name: 'x', mount_accessor: 'zz' }, 'invalid mount accessor "zz"'],
    [{ id: randomUUID(), name: 'x' }, 'invalid alias ID provided'],
  ])('refuse %j', async (body, message) => {
    await secrets.root.write('identity/entity-alias', body).expect(400, { errors: [message] });
  });

  it('refuse an entity that does not exist', async () => {
    const accessor = await accessorOf(secrets, 'up');
    await secrets.root
      .write('identity/entity-alias', { name: 'x', mount_accessor: accessor, canonical_id: randomUUID() })
      .expect(400, { errors: ['invalid canonical ID'] });
  });
});

describe('groups over HTTP', () => {
  const secrets = startSecrets();

  it('are created, read, changed, listed and deleted', async () => {
    const entity = (await secrets.root.write('identity/entity').expect(200)).body.data.id;
    const inner = (await secrets.root.write('identity/group', { name: 'inner' }).expect(200)).body.data;
    expect(Object.keys(inner).sort()).toEqual(['id', 'name']);
    const made = await secrets.root
      .write('identity/group', {
        name: 'G',
        policies: 'p',
        metadata: { a: 'b' },
        member_entity_ids: [entity],
        member_group_ids: inner.id,
      })
      .expect(200);
    const { id } = made.body.data;
    const { body } = await secrets.root.read(`identity/group/id/${id}`).expect(200);
    expect(body.data).toMatchObject({
      alias: {},
      id,
      member_entity_ids: [entity],
      member_group_ids: [inner.id],
      metadata: { a: 'b' },
      modify_index: 1,
      name: 'G',
      namespace_id: 'root',
      parent_group_ids: null,
      policies: ['p'],
      type: 'internal',
    });
    await secrets.root.write('identity/group/name/g', { policies: [] }).expect(204);
    expect((await secrets.root.read('identity/group/name/G').expect(200)).body.data).toMatchObject({
      modify_index: 2,
      policies: [],
    });
    expect((await secrets.root.read(`identity/group/id/${inner.id}`)).body.data.parent_group_ids).toEqual([id]);
    const listed = await secrets.root.list('identity/group/id').expect(200);
    expect(listed.body.data.key_info[id]).toEqual({ name: 'G', num_member_entities: 1, num_parent_groups: 0 });
    expect((await secrets.root.list('identity/group/name').expect(200)).body.data.keys).toEqual(['G', 'inner']);
    await secrets.root.delete('identity/group/name/g').expect(204);
    await secrets.root.delete(`identity/group/id/${inner.id}`).expect(204);
    await secrets.root.read(`identity/group/id/${inner.id}`).expect(404);
  });

  it.each<[object, string]>([
    [{ type: 'zzz' }, 'invalid group type "zzz"'],
    [{ policies: 'root' }, 'policies cannot contain root'],
    [{ id: randomUUID() }, 'invalid group ID'],
    [{ type: 'external', member_entity_ids: ['zz'] }, "member entities can't be set manually for external groups"],
    [{ type: 'external', member_group_ids: ['zz'] }, "member groups can't be set for external groups"],
    [{ member_entity_ids: ['zz'] }, wrapped('invalid entity ID "zz"')],
    [{ member_group_ids: ['zz'] }, wrapped('invalid group ID "zz"')],
  ])('refuse %j', async (body, message) => {
    await secrets.root.write('identity/group', body).expect(400, { errors: [message] });
  });

  it('keep their type and never contain themselves', async () => {
    const a = (await secrets.root.write('identity/group', {}).expect(200)).body.data.id;
    const b = (await secrets.root.write('identity/group', { member_group_ids: [a] }).expect(200)).body.data.id;
    await secrets.root
      .write(`identity/group/id/${a}`, { type: 'external' })
      .expect(400, { errors: ['group type cannot be changed'] });
    await secrets.root
      .write(`identity/group/id/${a}`, { member_group_ids: [b] })
      .expect(400, { errors: [`cyclic relationship detected for member group ID "${b}"`] });
  });
});

describe('names beyond ASCII', () => {
  const secrets = startSecrets();

  // The index of names and the query must lower letters by the same rules; otherwise an existing name is not found.
  it.each(['entity', 'group'])('of an %s are found, changed and deleted', async (kind) => {
    const at = `identity/${kind}/name/%C3%84RZTE-Tg4G%C3%AD%C3%9C`;
    const { id } = (await secrets.root.write(at, {}).expect(200)).body.data;
    expect((await secrets.root.read(at).expect(200)).body.data).toMatchObject({ id, name: 'ÄRZTE-Tg4GíÜ' });
    await secrets.root.write(at, { metadata: { a: 'b' } }).expect(204);
    await secrets.root.write(`identity/${kind}`, { name: 'ÄRZTE-Tg4GíÜ', metadata: { a: 'c' } }).expect(204);
    await secrets.root.delete(at).expect(204);
    await secrets.root.read(at).expect(404);
  });
});

describe('group aliases over HTTP', () => {
  const secrets = startSecrets();
  it('that are external show no members', async () => {
    const { body } = await secrets.root.write('identity/group', { type: 'external' }).expect(200);
    const read = await secrets.root.read(`identity/group/id/${body.data.id}`).expect(200);
    expect(read.body.data.member_entity_ids).toBeNull();
  });

  const external = async () =>
    (await secrets.root.write('identity/group', { type: 'external' }).expect(200)).body.data.id as string;

  it('are created for a group and read back (S10.1, S10.3, S10.4, S19.1, S19.3, SP.12, SP.31, SP.32)', async () => {
    const accessor = await accessorOf(secrets, 'up2');
    const group = await external();
    const made = await secrets.root
      .write('identity/group-alias', { name: 'Ops', mount_accessor: accessor, canonical_id: group })
      .expect(200);
    expect(made.body.data).toEqual({ canonical_id: group, id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    const { body } = await secrets.root.read(`identity/group-alias/id/${made.body.data.id}`).expect(200);
    expect(body.data).toEqual({
      canonical_id: group,
      creation_time: expect.stringMatching(/^\d{4}-.*Z$/),
      custom_metadata: null,
      id: made.body.data.id,
      last_update_time: expect.stringMatching(/^\d{4}-.*Z$/),
      local: false,
      merged_from_canonical_ids: null,
      metadata: null,
      mount_accessor: accessor,
      mount_path: 'auth/up2/',
      mount_type: 'userpass',
      name: 'Ops',
      namespace_id: 'root',
    });
    expect((await secrets.root.read(`identity/group/id/${group}`)).body.data.alias).toMatchObject({
      id: made.body.data.id,
      name: 'Ops',
    });
  });

  it('are listed by both verbs, and not found when there is none (S19.5, S19.6)', async () => {
    const listed = await secrets.root.list('identity/group-alias/id').expect(200);
    const byQuery = await secrets.root.read('identity/group-alias/id?list=true').expect(200);
    expect(byQuery.body.data).toEqual(listed.body.data);
    for (const id of listed.body.data.keys) {
      expect(Object.keys(listed.body.data.key_info[id]).sort()).toEqual([
        'canonical_id',
        'custom_metadata',
        'local',
        'metadata',
        'mount_accessor',
        'mount_path',
        'mount_type',
        'name',
      ]);
      await secrets.root.delete(`identity/group-alias/id/${id}`).expect(204);
    }
    await secrets.root.list('identity/group-alias/id').expect(404, '{"errors":[]}\n');
    await secrets.root.read('identity/group-alias/id').expect(405);
  });

  it('create an external group if none is named', async () => {
    const accessor = await accessorOf(secrets, 'up2');
    const { body } = await secrets.root
      .write('identity/group-alias', { name: 'own', mount_accessor: accessor })
      .expect(200);
    const group = await secrets.root.read(`identity/group/id/${body.data.canonical_id}`).expect(200);
    expect(group.body.data).toMatchObject({ type: 'external', name: expect.stringMatching(/^group_[0-9a-f]{8}$/) });
  });

  it('get a name and no mount by default, with a warning (S10.1, S10.3)', async () => {
    const { body } = await secrets.root.write('identity/group-alias', {}).expect(200);
    expect(body.warnings).toEqual(['the alias has no mount accessor, so no login can match it']);
    const read = await secrets.root.read(`identity/group-alias/id/${body.data.id}`).expect(200);
    expect(read.body.data).toMatchObject({
      name: expect.stringMatching(/^entity-[0-9a-f-]{36}$/),
      mount_accessor: '',
      mount_path: '',
    });
  });

  it('are changed through their id in the body or the URL (S10.1-S10.4, S19.2, SP.32)', async () => {
    const accessor = await accessorOf(secrets, 'up2');
    const [one, other] = [await external(), await external()];
    const { id } = (
      await secrets.root
        .write('identity/group-alias', { name: 'mv', mount_accessor: accessor, canonical_id: one })
        .expect(200)
    ).body.data;
    const same = await secrets.root
      .write(`identity/group-alias/id/${id}`, { name: 'mv', mount_accessor: accessor, canonical_id: one })
      .expect(200);
    expect(same.body.data).toEqual({ canonical_id: one, id });
    await secrets.root.write('identity/group-alias', { id, name: 'mv2' }).expect(200);
    expect((await secrets.root.read(`identity/group-alias/id/${id}`)).body.data).toMatchObject({
      id,
      name: 'mv2',
      mount_accessor: accessor,
    });
    const second = (await secrets.root.write('identity/group-alias', { name: 'mv3', mount_accessor: accessor })).body
      .data;
    expect((await secrets.root.read(`identity/group-alias/id/${second.id}`)).body.data.id).toBe(second.id);
    expect((await secrets.root.read(`identity/group-alias/id/${id}`)).body.data.canonical_id).toBe(one);
    const moved = await secrets.root.write(`identity/group-alias/id/${id}`, { canonical_id: other }).expect(200);
    expect(moved.body.data).toEqual({ canonical_id: other, id });
    const elsewhere = { name: 'mv4', mount_accessor: await accessorOf(secrets, 'up3') };
    await secrets.root.write(`identity/group-alias/id/${id}`, elsewhere).expect(200);
    expect((await secrets.root.read(`identity/group-alias/id/${id}`)).body.data).toMatchObject({
      ...elsewhere,
      canonical_id: other,
    });
    expect((await secrets.root.read(`identity/group/id/${one}`)).body.data.alias).toEqual({});
  });

  it('are deleted without their group, absent ones too (S19.4)', async () => {
    const accessor = await accessorOf(secrets, 'up2');
    const group = await external();
    const { id } = (
      await secrets.root
        .write('identity/group-alias', { name: 'del', mount_accessor: accessor, canonical_id: group })
        .expect(200)
    ).body.data;
    await secrets.root.delete(`identity/group-alias/id/${id}`).expect(204);
    await secrets.root.delete(`identity/group-alias/id/${id}`).expect(204);
    await secrets.root.read(`identity/group-alias/id/${id}`).expect(404);
    await secrets.root.read(`identity/group/id/${group}`).expect(200);
  });

  it('are deleted with their group', async () => {
    const accessor = await accessorOf(secrets, 'up2');
    const group = await external();
    const { id } = (
      await secrets.root
        .write('identity/group-alias', { name: 'with', mount_accessor: accessor, canonical_id: group })
        .expect(200)
    ).body.data;
    await secrets.root.delete(`identity/group/id/${group}`).expect(204);
    await secrets.root.read(`identity/group-alias/id/${id}`).expect(404);
  });

  it('refuse impossible combinations', async () => {
    const accessor = await accessorOf(secrets, 'up2');
    const group = await external();
    const internal = (await secrets.root.write('identity/group', {}).expect(200)).body.data.id;
    const first = (
      await secrets.root
        .write('identity/group-alias', { name: 'CaseX', mount_accessor: accessor, canonical_id: group })
        .expect(200)
    ).body.data.id;
    const taken = 'combination of mount and group alias name is already in use';
    for (const [body, message] of [
      [{ name: 'n', mount_accessor: 'zz' }, 'invalid mount accessor "zz"'],
      [{ name: 'n', mount_accessor: accessor, canonical_id: randomUUID() }, "invalid group ID given in 'canonical_id'"],
      [{ name: 'n', mount_accessor: accessor, canonical_id: internal }, "alias can't be set on an internal group"],
      [{ name: 'casex', mount_accessor: accessor }, taken],
      [{ name: 'CaseX', mount_accessor: accessor, canonical_id: await external() }, taken],
      [{ name: 'n', mount_accessor: accessor, canonical_id: group }, `the group already has the alias "${first}"`],
      [{ id: randomUUID(), name: 'n' }, 'invalid group alias ID'],
    ] as const) {
      await secrets.root.write('identity/group-alias', body).expect(400, { errors: [message] });
    }
    await secrets.root
      .write(`identity/group-alias/id/${randomUUID()}`, { name: 'n' })
      .expect(400, { errors: ['invalid group alias ID'] });
    await secrets.root.write('sys/auth/here', { type: 'userpass', local: true }).expect(204);
    const { accessor: local } = (await secrets.root.read('sys/auth')).body.data['here/'];
    await secrets.root
      .write('identity/group-alias', { name: 'n', mount_accessor: local })
      .expect(400, { errors: [`mount accessor "${local}" is a local mount`] });
  });

  it('accept only groups and mounts of their namespace', async () => {
    const accessor = await accessorOf(secrets, 'up2');
    const group = await external();
    await secrets.root.write('sys/namespaces/below', {}).expect(200);
    const below = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'below' });
    await below.write('identity/group-alias', { name: 'n', mount_accessor: accessor }).expect(400);
    await below
      .write('identity/group-alias', { name: 'n', canonical_id: group })
      .expect(400, { errors: ["invalid group ID given in 'canonical_id'"] });
  });
});

describe('the time of last change', () => {
  const secrets = startSecrets();

  it('of a group changes with its members: when an entity or group in it is deleted or merged', async () => {
    const { root } = secrets;
    const entity = async () => (await root.write('identity/entity', {}).expect(200)).body.data.id as string;
    const [kept, merged, deleted] = [await entity(), await entity(), await entity()];
    const inner = (await root.write('identity/group', { name: 'inner' }).expect(200)).body.data.id;
    const members = { member_entity_ids: [merged, deleted], member_group_ids: [inner] };
    const { id } = (await root.write('identity/group', { name: 'outer', ...members }).expect(200)).body.data;
    const index = async () => (await root.read(`identity/group/id/${id}`).expect(200)).body.data;
    let before = await index();
    for (const change of [
      () => root.delete(`identity/entity/id/${deleted}`).expect(204),
      () => root.write('identity/entity/merge', { to_entity_id: kept, from_entity_ids: [merged] }).expect(204),
      () => root.delete(`identity/group/id/${inner}`).expect(204),
    ]) {
      await change();
      const after = await index();
      expect(after.modify_index).toBe(before.modify_index + 1);
      expect(after.last_update_time > before.last_update_time).toBe(true);
      before = after;
    }
    expect(before).toMatchObject({ member_entity_ids: [kept], member_group_ids: null });
  });

  it('of a secret changes when versions are deleted, undeleted or destroyed, and only then', async () => {
    const { root } = secrets;
    await root.write('sys/mounts/kv', { type: 'kv', options: { version: '2' } }).expect(204);
    await root.write('kv/data/s', { data: { a: 1 } }).expect(200);
    const time = async () => (await root.read('kv/metadata/s').expect(200)).body.data.updated_time as string;
    let before = await time();
    for (const change of ['delete', 'undelete', 'destroy']) {
      await root.write(`kv/${change}/s`, { versions: [1] }).expect(204);
      const after = await time();
      expect(after > before).toBe(true);
      before = after;
    }
    await root.write('kv/delete/s', { versions: [1, 9] }).expect(204);
    expect(await time()).toBe(before);
  });
});
