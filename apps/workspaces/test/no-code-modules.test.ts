import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { archiveOf, fetchUrl, putUrl } from './configurations';
import { grant, member, organizationToken, team, teamToken } from './members';
import { ObjectStoreStandIn } from './object-store-stand-in';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

const text = (extra = '') => `variable "size" {
  type    = number
  default = 2
}
variable "place" {
  type        = string
  description = "Where"
}
variable "key" {
  default   = "\${not.read}"
  sensitive = true
}
output "id" {
  value = "x"
}
output "secret" {
  value     = "y"
  sensitive = true
}
${extra}`;

describe('no-code modules', () => {
  const store = new ObjectStoreStandIn();
  const env: Record<string, string> = {};
  beforeAll(async () => {
    await store.start();
    Object.assign(env, store.variables);
  });
  const workspaces = startWorkspaces({ env });
  afterAll(() => store.stop());
  const { admin } = workspaces;
  const type = 'no-code-modules';
  let counter = 0;

  beforeAll(async () => {
    await workspaces.organization('acme');
    await workspaces.organization('other');
  });

  /** A module with published versions; returns its id. */
  const published = async (versions: readonly string[] = ['1.0.0'], organization = 'acme', attributes: object = {}) => {
    const name = `quay-${++counter}`;
    const body = resource('registry-modules', { name, provider: 'crane', 'registry-name': 'private', ...attributes });
    const made = (await admin.post(`organizations/${organization}/registry-modules`, body).expect(201)).body.data;
    for (const version of versions) {
      const { body: announced } = await admin
        .post(
          `registry-modules/${organization}/${name}/crane/versions`,
          resource('registry-module-versions', { version }),
        )
        .expect(201);
      await putUrl(workspaces, announced.data.links.upload, await archiveOf([['main.tf', text()]])).expect(200);
    }
    return { id: made.id as string, name };
  };
  const option = (name: string, ...options: string[]) => ({
    type: 'variable-options',
    attributes: { 'variable-name': name, 'variable-type': 'string', options },
  });
  const offer = (
    moduleId: string,
    attributes: object = {},
    options?: object[],
    by: Client = admin,
    organization = 'acme',
  ) =>
    by.post(
      `organizations/${organization}/no-code-modules`,
      resource(type, attributes, {
        'registry-module': ref('registry-modules', moduleId),
        ...(options ? { 'variable-options': { data: options } } : {}),
      }),
    );
  const offered = async (versions?: readonly string[], attributes: object = {}, options?: object[]) => {
    const module = await published(versions);
    return { module, id: (await offer(module.id, attributes, options).expect(201)).body.data.id as string };
  };
  const variable = (key: string, value: string, more: object = {}) => ({
    type: 'vars',
    attributes: { key, value, category: 'terraform', ...more },
  });
  const make = (id: string, attributes: object = {}, vars: object[] = [], by: Client = admin) =>
    by.post(
      `no-code-modules/${id}/workspaces`,
      resource('no-code-module-workspace', { name: `of-${++counter}`, ...attributes }, { vars: { data: vars } }),
    );
  /** The configuration that a workspace uses. */
  const configurationOf = async (workspace: string) => {
    const [newest] = (await admin.get(`workspaces/${workspace}/configuration-versions`).expect(200)).body.data;
    const { headers } = await admin.get(`configuration-versions/${newest.id}/download`).expect(302);
    const { body } = await fetchUrl(workspaces, headers.location!).expect(200);
    const tar = gunzipSync(body);
    expect(tar.subarray(0, 12).toString()).toBe('main.tf.json');
    return JSON.parse(tar.subarray(512).toString().replace(/\0+$/, ''));
  };
  const runsOf = async (workspace: string) => (await admin.get(`workspaces/${workspace}/runs`).expect(200)).body.data;

  it('are created from a module, shown with their options, changed and deleted', async () => {
    const module = await published(['1.0.0', '1.1.0']);
    const { body } = await offer(module.id, { 'version-pin': '1.0.0' }, [option('place', 'north', 'south')]).expect(
      201,
    );
    expect(body.data).toMatchObject({
      id: expect.stringMatching(/^nocode-/),
      attributes: { enabled: true, 'version-pin': '1.0.0', 'follow-latest-version': false },
      relationships: {
        organization: { data: { id: 'acme' } },
        'registry-module': { data: { type: 'registry-modules', id: module.id } },
        'variable-options': { data: [{ type: 'variable-options' }] },
      },
    });
    const { id } = body.data;
    const shown = (await admin.get(`${type}/${id}?include=variable-options`).expect(200)).body;
    expect(shown.included).toMatchObject([
      { type: 'variable-options', attributes: { 'variable-name': 'place', options: ['north', 'south'] } },
    ]);
    expect((await admin.get(`registry-modules/${module.id}`)).body.data.attributes['no-code']).toBe(true);
    const listed = await admin.get(`organizations/acme/registry-modules?include=no-code-modules&q=${module.name}`);
    expect(listed.body.included).toMatchObject([{ type, id }]);
    const changed = await admin.patch(`${type}/${id}`, resource(type, { enabled: false, 'version-pin': 'latest' }));
    expect(changed.body.data.attributes).toMatchObject({ enabled: false, 'version-pin': null });
    expect(changed.body.data.relationships['variable-options'].data).toHaveLength(1);
    expect((await admin.get(`registry-modules/${module.id}`)).body.data.attributes['no-code']).toBe(false);
    const other = { 'registry-module': ref('registry-modules', (await published()).id) };
    await admin.patch(`${type}/${id}`, resource(type, {}, other)).expect(422);
    const replaced = { 'variable-options': { data: [option('size', '1'), option('place', 'west')] } };
    const { body: again } = await admin.patch(`${type}/${id}?include=variable-options`, resource(type, {}, replaced));
    expect(again.included.map((one: { attributes: Record<string, unknown> }) => one.attributes.options)).toEqual([
      ['1'],
      ['west'],
    ]);
    await admin.delete(`${type}/${id}`).expect(204);
    await admin.get(`${type}/${id}`).expect(404);
    const { body: trail } = await admin.get(`organizations/acme/audit-events?filter[target]=${module.id}`).expect(200);
    const actions = trail.data.map((event: { attributes: { action: string } }) => event.attributes.action);
    expect(actions.slice(0, 4)).toEqual(
      ['delete', 'update', 'update', 'create'].map((verb) => `registry-module.no-code-${verb}`),
    );
  });

  it('leave no workspace behind if its run cannot be created', async () => {
    const { id } = await offered();
    const { pool } = workspaces.service;
    const left = async () => {
      const { rows } = await pool.query(`SELECT (SELECT count(*) FROM workspace) AS workspaces,
        (SELECT count(*) FROM variable) AS variables, (SELECT count(*) FROM configuration_version) AS configurations`);
      return { ...rows[0], objects: store.objects.size };
    };
    const before = await left();
    await pool.query(`CREATE FUNCTION no_run() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no run''; END'`);
    await pool.query('CREATE TRIGGER no_run BEFORE INSERT ON run FOR EACH ROW EXECUTE FUNCTION no_run()');
    try {
      await make(id, {}, [variable('place', 'north')]).expect(500);
    } finally {
      await pool.query('DROP FUNCTION no_run CASCADE');
    }
    expect(await left()).toEqual(before);
    await make(id, {}, [variable('place', 'north')]).expect(201);
  });

  it('are refused for an unknown version, a second time, and for invalid options', async () => {
    const module = await published();
    const refusal = async (...given: Parameters<typeof offer>) =>
      (await offer(...given).expect(422)).body.errors[0].source.pointer;
    expect(await refusal(module.id, { 'version-pin': '2.0.0' })).toBe('/data/attributes/version-pin');
    const wrong: object[][] = [
      [option('a', 'x'), option('a', 'y')],
      [option('', 'x')],
      [{ type: 'variable-options', attributes: { 'variable-name': 'a', options: 'x' } }],
      Array.from({ length: 101 }, (_, i) => option(`v${i}`)),
      [option('a', ...Array.from({ length: 101 }, (_, i) => `${i}`))],
    ];
    for (const options of wrong) {
      expect(await refusal(module.id, {}, options)).toMatch(/^\/data\/relationships\/variable-options/);
    }
    await offer(module.id).expect(201);
    expect(await refusal(module.id)).toBe('/data/relationships/registry-module');
    const elsewhere = await published(['1.0.0'], 'other');
    expect(await refusal(elsewhere.id)).toBe('/data/relationships/registry-module');
    expect(await refusal('mod-none')).toBe('/data/relationships/registry-module');
  });

  it('can also be turned on and off by the attribute of the module', async () => {
    const module = await published(['1.0.0'], 'acme', { 'no-code': true });
    const path = `organizations/acme/registry-modules/private/acme/${module.name}/crane`;
    const shown = async () => (await admin.get(path).expect(200)).body.data.attributes['no-code'];
    expect(await shown()).toBe(true);
    for (const on of [false, true]) {
      await admin.patch(path, resource('registry-modules', { 'no-code': on })).expect(200);
      expect(await shown()).toBe(on);
    }
  });

  it('show the inputs of a version, with the allowed values', async () => {
    const { id } = await offered(['1.0.0'], {}, [option('place', 'north')]);
    const set = resource(
      'varsets',
      { name: `all-${counter}`, global: true },
      {
        vars: { data: [variable('size', '3')] },
      },
    );
    await admin.post('organizations/acme/varsets', set).expect(201);
    const { body } = await admin.get(`${type}/${id}/versions/1.0.0/module-variables`).expect(200);
    expect(body.data.map(({ attributes }: { attributes: object }) => attributes)).toEqual([
      { name: 'key', type: '', description: '', required: false, sensitive: true, options: [], 'has-global': false },
      {
        name: 'place',
        type: 'string',
        description: 'Where',
        required: true,
        sensitive: false,
        options: ['north'],
        'has-global': false,
      },
      {
        name: 'size',
        type: 'number',
        description: '',
        required: false,
        sensitive: false,
        options: [],
        'has-global': true,
      },
    ]);
    await admin.get(`${type}/${id}/versions/9.9.9/module-variables`).expect(404);
  });

  it('create workspaces whose configuration calls the module, with their variables and a run', async () => {
    const { id, module } = await offered(['1.0.0', '1.1.0'], { 'version-pin': '1.0.0' }, [option('place', 'north')]);
    const source = { 'source-name': 'portal', 'source-url': 'https://portal.example.com' };
    const { body } = await make(id, source, [variable('place', 'north'), variable('key', 'k', { sensitive: true })]);
    expect(body.data.attributes).toMatchObject({ ...source, 'source-module-id': id });
    const workspace = body.data.id;
    const host = new URL(workspaces.service.env.publicUrl).host;
    expect(await configurationOf(workspace)).toEqual({
      variable: {
        size: { type: 'number', default: 2 },
        place: { type: 'string' },
        key: { default: '${not.read}', sensitive: true },
      },
      module: {
        this: {
          source: `${host}/acme/${module.name}/crane`,
          version: '1.0.0',
          size: '${var.size}',
          place: '${var.place}',
          key: '${var.key}',
        },
      },
      output: {
        id: { value: '${module.this.id}', sensitive: false },
        secret: { value: '${module.this.secret}', sensitive: true },
      },
    });
    const vars = (await admin.get(`workspaces/${workspace}/vars`).expect(200)).body.data;
    expect(
      vars.map(({ attributes }: { attributes: Record<string, unknown> }) => [attributes.key, attributes.value]),
    ).toEqual([
      ['place', 'north'],
      ['key', null],
    ]);
    const [run] = await runsOf(workspace);
    expect(run.attributes).toMatchObject({ message: `Made from the module ${module.name}`, status: 'pending' });
  });

  it('create nothing if they are off, have no published version, or a value is not allowed', async () => {
    const before = (await admin.get('organizations/acme/workspaces').expect(200)).body.meta.pagination['total-count'];
    const { id } = await offered(['1.0.0'], {}, [option('place', 'north')]);
    await make(id, {}, [variable('place', 'west')]).expect(422);
    await make(id, {}, [{ type: 'vars', attributes: { key: 'x y', value: '', category: 'terraform' } }]).expect(422);
    await make(id, { name: 'no such/name' }).expect(422);
    const off = await offered(['1.0.0'], { enabled: false });
    await make(off.id).expect(422);
    const empty = await offered([]);
    await make(empty.id).expect(422);
    expect((await admin.get('organizations/acme/workspaces').expect(200)).body.meta.pagination['total-count']).toBe(
      before,
    );
  });

  it('upgrade a workspace to their current version, with other values', async () => {
    const { id, module } = await offered(['1.0.0', '1.1.0'], { 'version-pin': '1.0.0' }, [
      option('place', 'north', 'south'),
    ]);
    const { body } = await make(id, {}, [variable('place', 'north')]).expect(201);
    const workspace = body.data.id;
    await admin.patch(`${type}/${id}`, resource(type, { 'version-pin': '1.1.0' })).expect(200);
    const path = `${type}/${id}/workspaces/${workspace}/upgrade`;
    const upgrade = (vars: object[] = [], by: Client = admin) =>
      by.post(path, resource('no-code-module-workspace', {}, { vars: { data: vars } }));
    await upgrade([variable('place', 'west')]).expect(422);
    const { body: upgraded } = await upgrade([variable('place', 'south')]).expect(200);
    expect(upgraded.data).toMatchObject({ type: 'workspace-upgrade', attributes: { status: 'pending' } });
    expect(upgraded.data.attributes['plan-url']).toContain(upgraded.data.relationships.run.data.id);
    expect((await configurationOf(workspace)).module.this).toMatchObject({ version: '1.1.0' });
    const values = async (): Promise<string[]> =>
      (await admin.get(`workspaces/${workspace}/vars`).expect(200)).body.data.map(
        ({ attributes }: { attributes: { value: string } }) => attributes.value,
      );
    expect(await values()).toEqual(['south']);
    // An upgrade that cannot be planned changes nothing.
    const mode = (name: string) =>
      admin.patch(`workspaces/${workspace}`, resource('workspaces', { 'execution-mode': name })).expect(200);
    const { prisma } = workspaces.service.db;
    const configurations = () => prisma.configurationVersion.count({ where: { workspaceId: workspace } });
    const before = await configurations();
    await mode('local');
    await upgrade([variable('place', 'north')]).expect(422);
    expect([await values(), await configurations()]).toEqual([['south'], before]);
    await mode('remote');
    const plans = await team(workspaces, 'acme', `planners-${counter}`);
    await grant(workspaces, plans, workspace, 'plan');
    const planner = await teamToken(workspaces, plans);
    await upgrade([variable('place', 'north')], planner).expect(404);
    await upgrade([], planner).expect(200);
    const other = await offered();
    await admin.post(`${type}/${other.id}/workspaces/${workspace}/upgrade`).expect(404);
    expect(module.name).toBeTruthy();
  });

  it('are for callers who manage modules; members see them, and create workspaces only with the right to', async () => {
    const { id, module } = await offered();
    const plain = await member(workspaces, 'acme');
    const stranger = await workspaces.person(`stranger-${counter}`);
    const robot = await organizationToken(workspaces, 'acme');
    await plain.get(`${type}/${id}`).expect(200);
    await plain.get(`${type}/${id}/versions/1.0.0/module-variables`).expect(200);
    for (const client of [plain, stranger, robot]) {
      await client.patch(`${type}/${id}`, resource(type, { enabled: false })).expect(404);
      await client.delete(`${type}/${id}`).expect(404);
    }
    await offer((await published()).id, {}, undefined, plain).expect(404);
    await make(id, {}, [], plain).expect(404);
    await stranger.get(`${type}/${id}`).expect(404);
    await make(id, {}, [], stranger).expect(404);
    // The organization's own token creates workspaces and runs nothing.
    const { body } = await make(id, {}, [], robot).expect(201);
    expect(await runsOf(body.data.id)).toEqual([]);
    expect((await configurationOf(body.data.id)).module.this.source).toContain(module.name);
  });

  it('create one workspace with a name for simultaneous requests', async () => {
    const { id } = await offered();
    const answers = await Promise.all(Array.from({ length: 4 }, () => make(id, { name: 'the-only-one' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422]);
    const found = await admin.get('organizations/acme/workspaces/the-only-one').expect(200);
    expect(await runsOf(found.body.data.id)).toHaveLength(1);
  });
});
