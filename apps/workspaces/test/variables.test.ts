import { describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { grant, member, project, team } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

interface Shown {
  attributes: { key: string; name: string };
  relationships: { overwriter: { data: { id: string } | null }; overwritten: { data: { id: string }[] } };
}

const varBody = (attributes: object) => resource('vars', attributes);
const plain = { key: 'region', value: 'eu-1', category: 'terraform' };

describe('variables of a workspace', () => {
  const workspaces = startWorkspaces();
  let path = '';

  it('creates a variable, which the workspace shows at once', async () => {
    await workspaces.organization('acme');
    const { id } = await workspaces.workspace('acme', 'web');
    path = `workspaces/${id}/vars`;
    const { body } = await workspaces.admin.post(path, varBody({ ...plain, description: 'where' })).expect(201);
    expect(body.data).toMatchObject({
      type: 'vars',
      id: expect.stringMatching(/^var-/),
      attributes: {
        key: 'region',
        value: 'eu-1',
        category: 'terraform',
        description: 'where',
        hcl: false,
        sensitive: false,
        'version-id': expect.any(String),
      },
      relationships: { configurable: { data: { type: 'workspaces', id } } },
    });
    const shown = await workspaces.admin.get(`workspaces/${id}?include=vars`).expect(200);
    expect(shown.body.data.relationships.vars.data).toEqual([{ type: 'vars', id: body.data.id }]);
    expect(shown.body.included).toEqual([body.data]);
    const listed = await workspaces.admin.get(path).expect(200);
    expect(listed.body.data).toEqual([body.data]);
    expect(listed.body).not.toHaveProperty('links');
  });

  it('keeps sensitive values write-only, and sealed in the database', async () => {
    const secret = 'canary-value-of-a-secret';
    const made = await workspaces.admin.post(
      path,
      varBody({ ...plain, key: 'secret', value: secret, sensitive: true }),
    );
    expect(made.status).toBe(201);
    expect(made.body.data.attributes.value).toBeNull();
    const byId = `${path}/${made.body.data.id}`;
    const changed = await workspaces.admin.patch(byId, varBody({ value: `${secret}-2` })).expect(200);
    expect(changed.body.data.attributes).toMatchObject({ value: null, sensitive: true });
    expect(changed.body.data.attributes['version-id']).not.toBe(made.body.data.attributes['version-id']);
    for (const attributes of [{ sensitive: false }, { key: 'renamed' }]) {
      const { body } = await workspaces.admin.patch(byId, varBody(attributes)).expect(422);
      expect(body.errors[0].source.pointer).toBe(`/data/attributes/${Object.keys(attributes)[0]}`);
    }
    await workspaces.admin.patch(byId, varBody({ key: 'renamed', value: 'again' })).expect(200);
    const text = await withClient(workspaces.databaseUrl, async (client) => {
      const { rows } = await client.query(
        'SELECT row_to_json(v)::text AS text FROM variable v UNION ALL SELECT row_to_json(e)::text FROM audit_event e',
      );
      return rows.map((row) => row.text).join('\n');
    });
    expect(text).not.toContain('canary');
    expect(text).not.toContain(Buffer.from(secret).toString('hex'));
  });

  it('hides a value when its variable becomes sensitive', async () => {
    const made = await workspaces.admin.post(path, varBody({ ...plain, key: 'later' })).expect(201);
    const { body } = await workspaces.admin
      .patch(`${path}/${made.body.data.id}`, varBody({ sensitive: true }))
      .expect(200);
    expect(body.data.attributes).toMatchObject({ value: null, sensitive: true });
  });

  it.each([
    ['no key', { category: 'env' }, "Key can't be blank", 'key'],
    ['an empty key', { key: '', category: 'env' }, "Key can't be blank", 'key'],
    ['a key with =', { key: 'a=b', category: 'env' }, 'Key may not contain', 'key'],
    ['no category', { key: 'a' }, 'Category must be one of', 'category'],
    ['an unknown category', { key: 'a', category: 'magic' }, 'Category must be one of', 'category'],
    ['a number as value', { ...plain, value: 7 }, 'Value must be a string', 'value'],
    ['a megabyte as value', { ...plain, value: 'x'.repeat(1_000_000) }, 'Value is too long', 'value'],
    ['a long description', { ...plain, description: 'x'.repeat(513) }, 'Description is too long', 'description'],
    ['text for a flag', { ...plain, hcl: 'yes' }, 'Hcl must be a boolean', 'hcl'],
    ['an existing key', plain, 'Key has already been taken', 'key'],
  ])('refuses a variable with %s', async (_what, attributes, detail, name) => {
    const { body } = await workspaces.admin.post(path, varBody(attributes)).expect(422);
    expect(body.errors).toEqual([
      {
        status: '422',
        title: 'invalid attribute',
        detail: expect.stringContaining(detail),
        source: { pointer: `/data/attributes/${name}` },
      },
    ]);
  });

  it('accepts the same key in the other category, and a missing value as an empty one', async () => {
    const { body } = await workspaces.admin.post(path, varBody({ key: 'region', category: 'env' })).expect(201);
    expect(body.data.attributes.value).toBe('');
    await workspaces.admin.delete(`${path}/${body.data.id}`).expect(204);
    await workspaces.admin.get(`${path}/${body.data.id}`).expect(404);
  });

  it('serves the older form without the workspace in the path', async () => {
    const workspace = ref('workspaces', path.split('/')[1]!);
    const made = await workspaces.admin
      .post('vars', resource('vars', { key: 'old', value: '1', category: 'env' }, { workspace }))
      .expect(201);
    const query = 'filter[organization][name]=acme&filter[workspace][name]=web';
    const listed = await workspaces.admin.get(`vars?${query}`).expect(200);
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toContain(made.body.data.id);
    await workspaces.admin.patch(`vars/${made.body.data.id}`, varBody({ value: '2' })).expect(200);
    await workspaces.admin.delete(`vars/${made.body.data.id}`).expect(204);
    await workspaces.admin.get('vars').expect(404);
    const other = await workspaces.workspace('acme', 'other');
    const foreign = await workspaces.admin.post(`workspaces/${other.id}/vars`, varBody(plain)).expect(201);
    await workspaces.admin.get(`${path}/${foreign.body.data.id}`).expect(404);
  });
});

describe('several variables of a workspace', () => {
  const workspaces = startWorkspaces();

  it('are changed in one request, all or none', async () => {
    await workspaces.organization('acme');
    const { id } = await workspaces.workspace('acme', 'web');
    const { id: other } = await workspaces.workspace('acme', 'other');
    const make = async (workspace: string, key: string) =>
      (await workspaces.admin.post(`workspaces/${workspace}/vars`, varBody({ ...plain, key })).expect(201)).body.data
        .id;
    const [first, second, foreign] = [await make(id, 'a'), await make(id, 'b'), await make(other, 'c')];
    const change = (...changes: [unknown, object][]) =>
      workspaces.admin.patch(`workspaces/${id}/relationships/vars`, {
        data: changes.map(([one, attributes]) => ({ type: 'vars', id: one, attributes })),
      });
    const values = async () =>
      (await workspaces.admin.get(`workspaces/${id}/vars`).expect(200)).body.data.map(
        ({ attributes }: { attributes: Record<string, string> }) => `${attributes.key}=${attributes.value}`,
      );
    await change([second, { value: '2', description: 'x' }], [first, { value: '1' }]).expect(204);
    expect(await values()).toEqual(['a=1', 'b=2']);
    for (const [wrong, pointer] of [
      [[second, { key: 'a' }], '/data/1/attributes/key'],
      [[second, { hcl: 'x', value: 7 }], '/data/1/attributes/value'],
      [[first, { value: 'twice' }], '/data/1/id'],
      [[foreign, { value: 'x' }], '/data/1/id'],
      [[undefined, { value: 'x' }], '/data/1/id'],
    ] as [[unknown, object], string][]) {
      const { body } = await change([first, { value: 'lost' }], wrong).expect(422);
      expect(body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer)).toContain(pointer);
      expect(await values()).toEqual(['a=1', 'b=2']);
    }
    await workspaces.admin.patch(`workspaces/${id}/relationships/vars`, { data: {} }).expect(422);
    const many = Array.from({ length: 101 }, (): [string, object] => [first, { value: 'x' }]);
    await change(...many).expect(400);
  });
});

describe('variable sets', () => {
  const workspaces = startWorkspaces();
  const collection = 'organizations/acme/varsets';
  const setBody = (attributes: object, relationships?: object) => resource('varsets', attributes, relationships);
  const made: Record<string, string> = {};

  it('creates a set with variables and assignments, and shows them', async () => {
    await workspaces.organization('acme');
    made.web = (await workspaces.workspace('acme', 'web')).id;
    made.project = await project(workspaces, 'acme', 'the project');
    const inside = resource('workspaces', { name: 'inside' }, { project: ref('projects', made.project) });
    made.inside = (await workspaces.admin.post('organizations/acme/workspaces', inside).expect(201)).body.data.id;
    const relationships = {
      workspaces: { data: [{ type: 'workspaces', id: made.web }] },
      projects: { data: [{ type: 'projects', id: made.project }] },
      vars: { data: [{ type: 'vars', attributes: { key: 'a', value: '1', category: 'env' } }] },
    };
    const attributes = { name: 'shared', description: 'for all', global: false, priority: true };
    const { body } = await workspaces.admin.post(collection, setBody(attributes, relationships)).expect(201);
    made.set = body.data.id;
    expect(body.data).toMatchObject({
      type: 'varsets',
      attributes: { ...attributes, 'var-count': 1, 'workspace-count': 1, 'project-count': 1 },
      relationships: {
        organization: { data: { id: 'acme' } },
        workspaces: { data: [{ type: 'workspaces', id: made.web }] },
        projects: { data: [{ type: 'projects', id: made.project }] },
        parent: { data: { type: 'organizations', id: 'acme' } },
      },
    });
    const shown = await workspaces.admin.get(`varsets/${made.set}?include=vars,workspaces,projects,stacks`).expect(200);
    // Clients of the hosted edition ask for stacks; there are none.
    expect(shown.body.data.relationships.stacks).toEqual({ data: [] });
    expect(shown.body.data).toEqual(body.data);
    expect(shown.body.included.map(({ type }: { type: string }) => type).sort()).toEqual([
      'projects',
      'vars',
      'workspaces',
    ]);
  });

  it('reaches single workspaces, those of a project, or all if the set is global', async () => {
    const names = async (path: string) => {
      const { body } = await workspaces.admin.get(path).expect(200);
      return body.data.map((set: { attributes: { name: string } }) => set.attributes.name);
    };
    await workspaces.admin.post(collection, setBody({ name: 'everywhere', global: true })).expect(201);
    const outside = await workspaces.workspace('acme', 'outside');
    expect(await names(`workspaces/${made.web}/varsets`)).toEqual(['everywhere', 'shared']);
    expect(await names(`workspaces/${made.inside}/varsets`)).toEqual(['everywhere', 'shared']);
    expect(await names(`workspaces/${outside.id}/varsets`)).toEqual(['everywhere']);
    expect(await names(`projects/${made.project}/varsets`)).toEqual(['everywhere', 'shared']);
    expect(await names(`${collection}?q=SHAR`)).toEqual(['shared']);
  });

  it('is assigned and removed, and not assigned to resources of other organizations', async () => {
    await workspaces.organization('elsewhere');
    const foreign = await workspaces.workspace('elsewhere', 'foreign');
    const path = `varsets/${made.set}/relationships/workspaces`;
    const data = (id: string) => ({ data: [{ type: 'workspaces', id }] });
    await workspaces.admin.post(path, data(foreign.id)).expect(404);
    await workspaces.admin.post(path, data('ws-absent')).expect(404);
    await workspaces.admin.post(path, data(made.inside!)).expect(204);
    await workspaces.admin.post(path, data(made.inside!)).expect(204);
    await workspaces.admin.delete(path, data(made.web!)).expect(204);
    const relationships = { workspaces: data('ws-absent') };
    const { body } = await workspaces.admin.patch(`varsets/${made.set}`, setBody({}, relationships)).expect(422);
    expect(body.errors[0].source.pointer).toBe('/data/relationships/workspaces');
    const shown = await workspaces.admin.get(`varsets/${made.set}`).expect(200);
    expect(shown.body.data.relationships.workspaces.data).toEqual([{ type: 'workspaces', id: made.inside }]);
    const global = await workspaces.admin.post(`varsets/${made.set}`, setBody({ global: true })).expect(200);
    expect(global.body.data.attributes).toMatchObject({ 'workspace-count': 0, 'project-count': 0 });
    await workspaces.admin.post(path, data(made.inside!)).expect(422);
  });

  it('follows the rules of variables inside a set', async () => {
    const path = `varsets/${made.set}/relationships/vars`;
    const variable = await workspaces.admin
      .post(path, varBody({ key: 'b', value: 'hidden', category: 'terraform', sensitive: true }))
      .expect(201);
    expect(variable.body.data.attributes.value).toBeNull();
    expect(variable.body.data.relationships.varset.data.id).toBe(made.set);
    await workspaces.admin.post(path, varBody({ key: 'b', category: 'terraform' })).expect(422);
    const byId = `${path}/${variable.body.data.id}`;
    await workspaces.admin.patch(byId, varBody({ hcl: true })).expect(200);
    await workspaces.admin.delete(byId).expect(204);
    await workspaces.admin.get(byId).expect(404);
  });

  it('has a priority; workspaces end by inactivity and apply on triggers (WV.10)', async () => {
    const { body } = await workspaces.admin.post(collection, setBody({ name: 'first', priority: true })).expect(201);
    expect(body.data.attributes.priority).toBe(true);
    const settings = { 'auto-destroy-activity-duration': '14d', 'auto-apply-run-trigger': true };
    const changed = await workspaces.admin
      .patch(`workspaces/${made.web}`, resource('workspaces', settings))
      .expect(200);
    expect(changed.body.data.attributes).toMatchObject(settings);
  });

  it('is seen by readers of a workspace it applies to, and changed only with the right to', async () => {
    const few = await team(workspaces, 'acme', 'few');
    const reader = await member(workspaces, 'acme', [few]);
    const { body } = await workspaces.admin
      .post(collection, setBody({ name: 'limited' }, { workspaces: { data: [{ type: 'workspaces', id: made.web }] } }))
      .expect(201);
    await reader.get(`varsets/${body.data.id}`).expect(404);
    await grant(workspaces, few, made.web!, 'read');
    await reader.get(`varsets/${body.data.id}`).expect(200);
    await reader.patch(`varsets/${body.data.id}`, setBody({ name: 'mine' })).expect(404);
    await reader.delete(`varsets/${body.data.id}`).expect(404);
    await workspaces.admin.delete(`varsets/${body.data.id}`).expect(204);
    await reader.get(`varsets/${body.data.id}`).expect(404);
  });

  it('shows all effective variables of a workspace without duplicates: a narrower scope overrides a wider one', async () => {
    const { id } = await workspaces.workspace('acme', 'all');
    const to = { workspaces: { data: [{ type: 'workspaces', id }] } };
    const variable = (key: string, value: string, more: object = {}) => ({
      type: 'vars',
      attributes: { key, value, category: 'terraform', ...more },
    });
    const vars = [variable('hidden', 'set'), variable('shown', 'set'), variable('secret', 's', { sensitive: true })];
    const { body } = await workspaces.admin
      .post(collection, setBody({ name: 'for all' }, { ...to, vars: { data: vars } }))
      .expect(201);
    const strong = { vars: { data: [variable('own', 'priority')] }, ...to };
    await workspaces.admin.post(collection, setBody({ name: 'strong', priority: true }, strong)).expect(201);
    for (const key of ['hidden', 'own']) {
      await workspaces.admin.post(`workspaces/${id}/vars`, varBody({ ...plain, key, value: 'mine' })).expect(201);
    }
    const env = { ...plain, key: 'shown', value: 'env', category: 'env' };
    await workspaces.admin.post(`workspaces/${id}/vars`, varBody(env)).expect(201);
    const shown = await workspaces.admin.get(`workspaces/${id}/all-vars`).expect(200);
    const said = shown.body.data
      .map(({ attributes }: { attributes: Record<string, string> }) =>
        [attributes.category, attributes.key, attributes.value].join(' '),
      )
      // The set of another test applies to every workspace.
      .filter((text: string) => /hidden|own|secret/.test(text));
    expect(said.sort()).toEqual(
      [
        'env shown env',
        'terraform hidden mine',
        'terraform own priority',
        'terraform secret ',
        'terraform shown set',
      ].sort(),
    );
    const { body: effective } = await workspaces.admin.get(`workspaces/${id}/effective-variables`).expect(200);
    const of = (key: string, category = 'terraform') =>
      effective.data.find(
        (one: { attributes: Record<string, string> }) =>
          one.attributes.key === key && one.attributes.category === category,
      ).attributes;
    expect(of('hidden')).toMatchObject({ value: 'mine', origin: 'workspace', priority: false, 'varset-name': null });
    expect(of('hidden').hides).toMatchObject([{ origin: 'workspace-varset', 'varset-name': 'for all' }]);
    expect(of('own')).toMatchObject({ value: 'priority', priority: true, 'varset-name': 'strong' });
    expect(of('own').hides).toMatchObject([{ origin: 'workspace', 'varset-id': null }]);
    expect(of('secret')).toMatchObject({ value: null, sensitive: true, 'varset-id': body.data.id, hides: [] });
    const mine = (await workspaces.admin.get(`workspaces/${id}/vars`).expect(200)).body.data;
    const idOf = (key: string) =>
      mine.find(({ attributes }: { attributes: { key: string } }) => attributes.key === key).id as string;
    const inSet = async (setId: string) => {
      const path = `workspaces/${id}/varsets/${setId}/relationships/vars`;
      const listed = (await workspaces.admin.get(path).expect(200)).body.data;
      for (const one of listed) {
        expect((await workspaces.admin.get(`${path}/${one.id}`).expect(200)).body.data).toEqual(one);
      }
      return Object.fromEntries(
        listed.map(({ attributes, relationships }: Shown) => [
          attributes.key,
          [relationships.overwriter.data?.id, relationships.overwritten.data.map((one: { id: string }) => one.id)],
        ]),
      );
    };
    const sets = (await workspaces.admin.get(`${collection}?q=strong`).expect(200)).body.data;
    expect(await inSet(body.data.id)).toEqual({
      hidden: [idOf('hidden'), []],
      shown: [undefined, []],
      secret: [undefined, []],
    });
    expect(await inSet(sets[0].id)).toEqual({ own: [undefined, [idOf('own')]] });
    await workspaces.admin.get(`workspaces/${id}/varsets/${sets[0].id}/relationships/vars/${idOf('own')}`).expect(404);
    const none = await member(workspaces, 'acme', [await team(workspaces, 'acme', 'nothing')]);
    await none.get(`workspaces/${id}/varsets/${body.data.id}/relationships/vars`).expect(404);
    await none.get(`workspaces/${id}/applicable-varsets`).expect(404);
    const { id: elsewhere } = await workspaces.workspace('acme', 'elsewhere');
    await workspaces.admin.get(`workspaces/${elsewhere}/varsets/${body.data.id}/relationships/vars`).expect(404);
    const owner = await project(workspaces, 'acme', 'owner of sets');
    const parent = ref('projects', owner);
    await workspaces.admin.post(collection, setBody({ name: 'of a project' }, { parent })).expect(201);
    const applicable = async (workspaceId: string) =>
      (await workspaces.admin.get(`workspaces/${workspaceId}/applicable-varsets`).expect(200)).body.data
        .map(({ attributes }: Shown) => attributes.name)
        .filter((name: string) => ['for all', 'strong', 'of a project'].includes(name));
    expect(await applicable(id)).toEqual([]);
    expect(await applicable(elsewhere)).toEqual(['for all', 'strong']);
    const inside = resource('workspaces', { name: 'owned' }, { project: ref('projects', owner) });
    const { body: made } = await workspaces.admin.post('organizations/acme/workspaces', inside).expect(201);
    expect(await applicable(made.data.id)).toEqual(['for all', 'of a project', 'strong']);
    await none.get(`workspaces/${id}/all-vars`).expect(404);
    await none.get(`workspaces/${id}/effective-variables`).expect(404);
    await workspaces.admin.delete(`varsets/${body.data.id}`).expect(204);
  });

  it('applies every variable and owner that an update names', async () => {
    const first = { type: 'vars', attributes: { key: 'first', value: '1', category: 'env' } };
    const { body } = await workspaces.admin
      .post(collection, setBody({ name: 'owned' }, { vars: { data: [first] } }))
      .expect(201);
    const own = body.data.relationships.vars.data;
    const change = (relationships: object) =>
      workspaces.admin.patch(`varsets/${body.data.id}`, setBody({}, relationships));
    await change({ vars: { data: own }, parent: { data: body.data.relationships.parent.data } }).expect(200);
    const foreign = await change({ vars: { data: [{ type: 'vars', id: 'var-1234567812345678' }] } }).expect(422);
    expect(foreign.body.errors[0].source.pointer).toBe('/data/relationships/vars');
    const nothing = await change({ vars: { data: [{ type: 'vars' }] } }).expect(422);
    expect(nothing.body.errors[0].source.pointer).toMatch(/^\/data\/relationships\/vars/);
    const other = await project(workspaces, 'acme', 'Another owner');
    const moved = await change({ parent: ref('projects', other) }).expect(422);
    expect(moved.body.errors[0].source.pointer).toBe('/data/relationships/parent');
  });

  it.each([
    ['no name', {}, "Name can't be blank", 'name'],
    ['a taken name', { name: 'shared' }, 'Name has already been taken', 'name'],
    ['text for a flag', { name: 'x', global: 'yes' }, 'Global must be a boolean', 'global'],
  ])('refuses a set with %s', async (_what, attributes, detail, name) => {
    const { body } = await workspaces.admin.post(collection, setBody(attributes)).expect(422);
    expect(body.errors[0]).toEqual({
      status: '422',
      title: 'invalid attribute',
      detail,
      source: { pointer: `/data/attributes/${name}` },
    });
  });
});

describe('a search for variables', () => {
  const workspaces = startWorkspaces();
  // biome-ignore lint/suspicious/noExplicitAny: an answer
  const keys = ({ body }: { body: any }) => body.data.map((one: any) => one.attributes.key);
  const path = (q: string, more = '') => `organizations/reef/vars?q=${encodeURIComponent(q)}${more}`;

  it('finds those of all workspaces and sets by part of the key, and never by a value', async () => {
    await workspaces.organization('reef');
    const { id } = await workspaces.workspace('reef', 'coral');
    const { id: other } = await workspaces.workspace('reef', 'sand');
    const set = resource('varsets', { name: 'tides', global: false });
    const { body: made } = await workspaces.admin.post('organizations/reef/varsets', set).expect(201);
    const own = { category: 'env', value: 'HIDDEN_IN_VALUE', sensitive: true };
    await workspaces.admin.post(`workspaces/${id}/vars`, varBody({ ...own, key: 'Sea_Level' })).expect(201);
    await workspaces.admin.post(`workspaces/${other}/vars`, varBody({ ...plain, key: 'sea_salt' })).expect(201);
    await workspaces.admin
      .post(`varsets/${made.data.id}/relationships/vars`, varBody({ ...plain, key: 'over_sea' }))
      .expect(201);
    await workspaces.organization('elsewhere');
    const { id: foreign } = await workspaces.workspace('elsewhere', 'web');
    await workspaces.admin.post(`workspaces/${foreign}/vars`, varBody({ ...plain, key: 'sea_far' })).expect(201);
    const found = await workspaces.admin.get(path('SEA', '&include=configurable,varset')).expect(200);
    expect(keys(found)).toEqual(['over_sea', 'Sea_Level', 'sea_salt']);
    expect(found.body.data[1].attributes.value).toBeNull();
    expect(found.body.included.map((one: Shown) => one.attributes.name).sort()).toEqual(['coral', 'sand', 'tides']);
    expect(keys(await workspaces.admin.get(path('hidden')).expect(200))).toEqual([]);
    expect(keys(await workspaces.admin.get(path('eu-1')).expect(200))).toEqual([]);
    expect(keys(await workspaces.admin.get(path('sea%')).expect(200))).toEqual([]);
    const second = await workspaces.admin.get(path('sea', '&page[size]=2&page[number]=2')).expect(200);
    expect(keys(second)).toEqual(['sea_salt']);
    expect(second.body.meta.pagination).toMatchObject({ 'total-count': 3, 'total-pages': 2 });
    const beyond = await workspaces.admin.get(path('sea', '&page[size]=2&page[number]=9')).expect(200);
    expect([keys(beyond), beyond.body.meta.pagination['total-count']]).toEqual([[], 3]);
  });

  it('finds only variables that the caller may read', async () => {
    const { id } = await workspaces.workspace('reef', 'coral-two');
    await workspaces.admin.post(`workspaces/${id}/vars`, varBody({ ...plain, key: 'sea_two' })).expect(201);
    const readers = await team(workspaces, 'reef', 'readers');
    const reader = await member(workspaces, 'reef', [readers]);
    expect(keys(await reader.get(path('sea')).expect(200))).toEqual([]);
    const unread = { runs: 'read', variables: 'none', 'state-versions': 'none', 'sentinel-mocks': 'none' };
    const granted = await grant(workspaces, readers, id, 'custom', unread);
    expect(keys(await reader.get(path('sea')).expect(200))).toEqual([]);
    await workspaces.admin.delete(`team-workspaces/${granted}`).expect(204);
    await grant(workspaces, readers, id, 'read');
    expect(keys(await reader.get(path('sea')).expect(200))).toEqual(['sea_two']);
    const stranger = await workspaces.person('stranger');
    await stranger.get(path('sea')).expect(404);
  });
});
