import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

type Errors = { status: string; title: string; detail?: string; source?: { pointer?: string; parameter?: string } }[];

const permissions = [
  'can-create-state-versions',
  'can-destroy',
  'can-force-unlock',
  'can-lock',
  'can-manage-run-tasks',
  'can-manage-tags',
  'can-queue-apply',
  'can-queue-destroy',
  'can-queue-run',
  'can-read-settings',
  'can-read-state-versions',
  'can-read-state-outputs',
  'can-read-variable',
  'can-unlock',
  'can-update',
  'can-update-variable',
  'can-read-assessment-result',
  'can-read-assessment-results',
  'can-manage-assessments',
  'can-force-delete',
];

describe.each(['self-hosted', 'hosted'] as const)('workspaces as specified, %s', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });
  const { admin } = workspaces;
  const hosted = edition === 'hosted';
  let oauthTokenId = '';
  const create = (attributes: object, relationships?: object, as: Client = admin) =>
    as.post('organizations/acme/workspaces', resource('workspaces', attributes, relationships));
  const update = (name: string, attributes: object, relationships?: object) =>
    admin.patch(`organizations/acme/workspaces/${name}`, resource('workspaces', attributes, relationships));
  const show = async (name: string) => (await admin.get(`organizations/acme/workspaces/${name}`).expect(200)).body.data;
  const list = async (query: string): Promise<string[]> =>
    (await admin.get(`organizations/acme/workspaces?${query}`).expect(200)).body.data.map(
      (item: { attributes: { name: string } }) => item.attributes.name,
    );

  beforeAll(async () => {
    await workspaces.organization('acme');
    await workspaces.organization('other');
    const client = await admin
      .post(
        'organizations/acme/oauth-clients',
        resource('oauth-clients', {
          'service-provider': 'github',
          'http-url': 'https://github.example',
          'api-url': 'https://api.github.example',
          'oauth-token-string': 'token-of-the-provider',
        }),
      )
      .expect(201);
    oauthTokenId = client.body.data.relationships['oauth-tokens'].data[0].id;
  });

  it('creates a workspace with every default (W5.1, WP.10)', async () => {
    const { body } = await create({ name: 'plain' }).expect(201);
    const { data } = body;
    expect(data.id).toMatch(/^ws-[1-9A-HJ-NP-Za-km-z]{16}$/);
    expect(data).toMatchObject({
      type: 'workspaces',
      links: { self: '/api/v2/organizations/acme/workspaces/plain' },
      attributes: {
        name: 'plain',
        description: null,
        environment: 'default',
        'execution-mode': 'remote',
        operations: true,
        'allow-destroy-plan': true,
        'auto-apply': false,
        'file-triggers-enabled': true,
        'global-remote-state': false,
        'project-remote-state': false,
        'queue-all-runs': false,
        'speculative-enabled': true,
        'auto-destroy-at': null,
        locked: false,
        'trigger-prefixes': [],
        'trigger-patterns': [],
        'tag-names': [],
        'working-directory': null,
        'vcs-repo': null,
        'vcs-repo-identifier': null,
        'source-name': null,
        'source-url': null,
        'resource-count': 0,
        'apply-duration-average': null,
        'plan-duration-average': null,
        'policy-check-failures': null,
        'run-failures': null,
        'workspace-kpis-runs-count': null,
        actions: { 'is-destroyable': expect.any(Boolean) },
        'setting-overwrites': { 'execution-mode': false, 'agent-pool': false },
      },
    });
    expect(data.attributes['infra-version']).toMatch(/^\d+\.\d+\.\d+$/);
    expect(data.attributes['terraform-version']).toBe(data.attributes['infra-version']);
    for (const key of ['created-at', 'updated-at', 'latest-change-at']) {
      expect(data.attributes[key]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
    expect(Object.keys(data.attributes.permissions)).toEqual(expect.arrayContaining(permissions));
    expect('assessments-enabled' in data.attributes).toBe(hosted);
    for (const name of [
      'agent-pool',
      'current-configuration-version',
      'current-run',
      'current-state-version',
      'latest-run',
    ]) {
      expect([name, data.relationships[name].data]).toEqual([name, null]);
    }
    expect(data.relationships).toMatchObject({
      organization: { data: { id: 'acme', type: 'organizations' } },
      project: { data: { type: 'projects' } },
      'remote-state-consumers': {
        links: { related: `/api/v2/workspaces/${data.id}/relationships/remote-state-consumers` },
      },
    });
  });

  it('shows the same workspace by id, by name, in the list and after an empty update (W5.2, W5.3)', async () => {
    const byName = await show('plain');
    const byId = (await admin.get(`workspaces/${byName.id}`).expect(200)).body.data;
    expect(byId).toEqual(byName);
    const listed = (await admin.get('organizations/acme/workspaces?search[name]=plain').expect(200)).body.data[0];
    expect(listed).toEqual(byName);
    const patched = (await admin.patch(`workspaces/${byName.id}`, resource('workspaces', {})).expect(200)).body.data;
    expect(patched.attributes).toEqual(byName.attributes);
  });

  it('accepts every attribute, and an update keeps omitted ones (W5.3)', async () => {
    const given = {
      'allow-destroy-plan': false,
      'auto-apply': true,
      description: 'Ünïcode & "quotes"',
      'execution-mode': 'local',
      'file-triggers-enabled': false,
      'global-remote-state': true,
      'queue-all-runs': true,
      'speculative-enabled': false,
      'infra-version': '~> 1.3',
      'trigger-prefixes': ['modules/', 'shared'],
      'working-directory': 'infra/',
    };
    const made = await create({
      name: 'full',
      'source-name': 'script',
      'source-url': 'https://example.com/x',
      ...given,
    }).expect(201);
    expect(made.body.data.attributes).toMatchObject({ ...given, operations: false, 'source-name': 'script' });
    const before = made.body.data.attributes;
    const { body } = await update('full', { description: null, 'source-name': 'other' }).expect(200);
    const { 'updated-at': _a, ...after } = body.data.attributes;
    const { 'updated-at': _b, ...expected } = before;
    expect(after).toEqual({ ...expected, description: null });
  });

  it('renames a workspace, which changes its address', async () => {
    await create({ name: 'old-name' }).expect(201);
    const { body } = await update('old-name', { name: 'new-name' }).expect(200);
    expect(body.data.links.self).toBe('/api/v2/organizations/acme/workspaces/new-name');
    await admin.get('organizations/acme/workspaces/old-name').expect(404);
    await update('new-name', { name: 'plain' }).expect(422);
  });

  it.each([
    [{}, 'name', "Name can't be blank"],
    [{ name: 'a b' }, 'name', 'Name'],
    [{ name: 'a.b' }, 'name', 'Name'],
    [{ name: 'ünï' }, 'name', 'Name'],
    [{ name: 'а-cyrillic' }, 'name', 'Name'],
    [{ name: "x'; DELETE FROM workspace" }, 'name', 'Name'],
    [{ name: 7 }, 'name', 'Name'],
    [{ name: 'bad', 'auto-apply': 'true' }, 'auto-apply', 'Auto apply'],
    [{ name: 'bad', 'queue-all-runs': 1 }, 'queue-all-runs', 'Queue all runs'],
    [{ name: 'bad', description: 7 }, 'description', 'Description'],
    [{ name: 'bad', 'execution-mode': 'cloud' }, 'execution-mode', 'Execution mode'],
    [{ name: 'bad', 'trigger-prefixes': 'a' }, 'trigger-prefixes', 'Trigger prefixes'],
    [{ name: 'bad', 'infra-version': 'newest' }, 'infra-version', 'version'],
    [{ name: 'bad', 'infra-version': '> 99.0' }, 'infra-version', 'version'],
    [{ name: 'bad', 'auto-destroy-at': 'soon' }, 'auto-destroy-at', 'Auto destroy at'],
    [
      { name: 'bad', 'auto-destroy-activity-duration': '14' },
      'auto-destroy-activity-duration',
      'Auto destroy activity duration has an incorrect format',
    ],
  ])('refuses %j, naming %s (W8.5)', async (attributes, attribute, detail) => {
    const { body } = await create(attributes).expect(422);
    const [error] = body.errors as Errors;
    expect(error?.source?.pointer).toBe(`/data/attributes/${attribute}`);
    expect(error?.detail).toContain(detail);
    await admin.get('organizations/acme/workspaces/bad').expect(404);
  });

  it.each([
    [{ operations: true, 'execution-mode': 'remote' }],
    [{ 'agent-pool-id': 'apool-1234567812345678' }],
    [{ 'agent-pool-id': 'apool-1234567812345678', 'execution-mode': 'local' }],
    [{ 'execution-mode': 'agent' }],
    [{ 'execution-mode': 'agent', 'agent-pool-id': 'apool-1234567812345678' }],
    [{ 'trigger-prefixes': ['a'], 'trigger-patterns': ['b'] }],
    [{ 'setting-overwrites': { 'execution-mode': true } }],
    [{ 'vcs-repo': { identifier: 'a/b' } }],
    [{ 'vcs-repo': { 'oauth-token-id': 'ot-1234567812345678' } }],
    [{ 'vcs-repo': { identifier: 'a/b', 'oauth-token-id': 'ot-1234567812345678' } }],
    [{ 'vcs-repo': { identifier: 'a/b', 'vcshost-app-installation-id': 'ghain-1' } }],
    [{ 'source-url': 'javascript:alert(1)' }],
  ])('refuses %j, which contradicts itself', async (attributes) => {
    await create({ name: 'bad', ...attributes }).expect(422);
    await admin.get('organizations/acme/workspaces/bad').expect(404);
  });

  it('reads operations as an execution mode (W2.4, W2.5)', async () => {
    const { body } = await create({ name: 'operations', operations: false }).expect(201);
    expect(body.data.attributes).toMatchObject({ 'execution-mode': 'local', operations: false });
    const back = await update('operations', { operations: true }).expect(200);
    expect(back.body.data.attributes).toMatchObject({ 'execution-mode': 'remote', operations: true });
  });

  it('follows its organization’s mode until it has its own (WV.14)', async () => {
    await workspaces.organization('moody');
    const made = await admin.post('organizations/moody/workspaces', resource('workspaces', { name: 'w' })).expect(201);
    const mode = async () =>
      (await admin.get(`workspaces/${made.body.data.id}`)).body.data.attributes['execution-mode'];
    await admin
      .patch('organizations/moody', resource('organizations', { 'default-execution-mode': 'local' }))
      .expect(200);
    expect(await mode()).toBe('local');
    const own = await admin
      .patch(`workspaces/${made.body.data.id}`, resource('workspaces', { 'execution-mode': 'remote' }))
      .expect(200);
    expect(own.body.data.attributes['setting-overwrites']).toEqual({ 'execution-mode': true, 'agent-pool': true });
    expect(await mode()).toBe('remote');
    await admin
      .patch(
        `workspaces/${made.body.data.id}`,
        resource('workspaces', { 'setting-overwrites': { 'execution-mode': false } }),
      )
      .expect(200);
    expect(await mode()).toBe('local');
  });

  it('uses a pool in agent mode only, and drops it afterwards', async () => {
    const pool = await admin.post('organizations/acme/agent-pools', resource('agent-pools', { name: 'p' })).expect(201);
    const id = pool.body.data.id;
    const { body } = await create({ name: 'agents', 'execution-mode': 'agent', 'agent-pool-id': id }).expect(201);
    expect(body.data.relationships['agent-pool'].data).toEqual({ id, type: 'agent-pools' });
    const back = await update('agents', { 'execution-mode': 'remote', 'agent-pool-id': '' }).expect(200);
    expect(back.body.data.relationships['agent-pool'].data).toBeNull();
  });

  it('keeps assessments-enabled in the hosted edition only, and ignores it elsewhere', async () => {
    const { body } = await create({ name: 'assessed', 'assessments-enabled': true }).expect(201);
    expect(body.data.attributes['assessments-enabled']).toBe(hosted ? true : undefined);
    await create({ name: 'odd', 'assessments-enabled': 'zz' }).expect(hosted ? 422 : 201);
    const attributes = { name: `odd-${edition}`, email: 'o@example.com', 'assessments-enforced': 'x' };
    await admin.post('organizations', resource('organizations', attributes)).expect(hosted ? 422 : 201);
  });

  it.each([
    ['0.15.3', false],
    ['0.15.4', true],
    ['0.11.0', false],
    ['~> 0.14.0', false],
    ['~> 1.1', true],
    ['latest', true],
  ])('shows assessments-enabled with version %s as %j', async (version, expected) => {
    const name = `assessed-${version.replace(/\W+/g, '-')}`;
    const { body } = await create({ name, 'assessments-enabled': true, 'infra-version': version }).expect(201);
    expect(body.data.attributes['assessments-enabled']).toBe(hosted ? expected : undefined);
    const local = await update(name, { 'execution-mode': 'local' }).expect(200);
    expect(local.body.data.attributes['assessments-enabled']).toBe(hosted ? false : undefined);
    const remote = await update(name, { 'execution-mode': 'remote', 'infra-version': '0.11.0' }).expect(200);
    expect(remote.body.data.attributes['assessments-enabled']).toBe(hosted ? false : undefined);
    const again = await update(name, { 'infra-version': '1.0.0' }).expect(200);
    expect(again.body.data.attributes['assessments-enabled']).toBe(hosted ? true : undefined);
  });

  it('connects a repository, changes it by key and removes it (W6.18, W6.22, W6.24, WP.4)', async () => {
    const vcs = { identifier: 'acme/infra', 'oauth-token-id': oauthTokenId, branch: '' };
    const { body } = await create({ name: 'repo', 'vcs-repo': vcs }).expect(201);
    expect(body.data.attributes['vcs-repo']).toMatchObject({
      identifier: 'acme/infra',
      'display-identifier': 'acme/infra',
      'oauth-token-id': oauthTokenId,
      'ingress-submodules': false,
      'service-provider': 'github',
      'repository-http-url': 'https://github.example/acme/infra',
    });
    expect(body.data.attributes['vcs-repo-identifier']).toBe('acme/infra');
    const changed = await update('repo', { 'vcs-repo': { branch: 'main', 'ingress-submodules': true } }).expect(200);
    expect(changed.body.data.attributes['vcs-repo']).toMatchObject({
      branch: 'main',
      'ingress-submodules': true,
      identifier: 'acme/infra',
    });
    const default_ = await update('repo', { 'vcs-repo': { branch: '' } }).expect(200);
    expect(default_.body.data.attributes['vcs-repo'].branch ?? '').toBe('');
    const tags = await update('repo', {
      'file-triggers-enabled': false,
      'vcs-repo': { 'tags-regex': '^v\\d+$' },
    }).expect(200);
    expect(tags.body.data.attributes['vcs-repo']['tags-regex']).toBe('^v\\d+$');
    await update('repo', { 'vcs-repo': { 'tags-regex': '(' } }).expect(422);
    await update('repo', { 'file-triggers-enabled': true }).expect(422);
    await update('repo', {
      'vcs-repo': { 'oauth-token-id': oauthTokenId, 'vcshost-app-installation-id': 'ghain-1' },
    }).expect(422);
    const gone = await update('repo', { 'vcs-repo': null }).expect(200);
    expect(gone.body.data.attributes).toMatchObject({ 'vcs-repo': null, 'vcs-repo-identifier': null });
    await update('repo', { 'vcs-repo': { identifier: 'acme/infra' } }).expect(422);
    await update('repo', { 'vcs-repo': { identifier: 'acme/infra', 'oauth-token-id': oauthTokenId } }).expect(200);
  });

  it('refuses an unknown app installation, and keeps the connection (W6.23)', async () => {
    const vcs = { identifier: 'acme/infra', 'oauth-token-id': oauthTokenId };
    await create({ name: 'app', 'vcs-repo': vcs }).expect(201);
    const { body } = await update('app', {
      'vcs-repo': { identifier: 'acme/infra', 'vcshost-app-installation-id': 'ghain-1234567812345678' },
    }).expect(422);
    expect(body.errors[0].source.pointer).toBe('/data/attributes/vcs-repo/vcshost-app-installation-id');
    expect((await show('app')).attributes['vcs-repo']).toMatchObject(vcs);
  });

  it.each([
    [{ 'vcs-repo': { identifier: 'noslash' } }, 'vcs-repo/identifier'],
    [{ 'vcs-repo': { identifier: 'a/b/_git/c' } }, 'vcs-repo/identifier'],
    [{ 'vcs-repo': { identifier: 'a/b/c' } }, 'vcs-repo/identifier'],
    [{ 'working-directory': '/../x' }, 'working-directory'],
    [{ 'working-directory': '../x' }, 'working-directory'],
    [{ 'working-directory': 'a/../../x' }, 'working-directory'],
  ])('refuses %j (W6.20)', async (attributes, pointer) => {
    const name = pointer.replace(/\W/g, '-');
    const vcs =
      'vcs-repo' in attributes ? { 'vcs-repo': { 'oauth-token-id': oauthTokenId, ...attributes['vcs-repo'] } } : {};
    const { body } = await create({ name, ...attributes, ...vcs }).expect(422);
    expect(body.errors[0].source.pointer).toBe(`/data/attributes/${pointer}`);
  });

  it.each(['x', 5, []])('refuses relationships that are %j', async (relationships) => {
    const body = { data: { type: 'workspaces', attributes: { name: 'related' }, relationships } };
    const { body: refused } = await admin.post('organizations/acme/workspaces', body).expect(422);
    expect(refused.errors[0].source.pointer).toBe('/data/relationships');
  });

  it('refuses a change that names another workspace', async () => {
    const { id } = await show('plain');
    const change = (data: object) => admin.patch(`workspaces/${id}`, { data: { type: 'workspaces', ...data } });
    const { body } = await change({ id: 'ws-1234567812345678' }).expect(422);
    expect(body.errors[0].source.pointer).toBe('/data/id');
    await change({ id: 5 }).expect(422);
    await change({ id }).expect(200);
    await change({ id: 'plain' }).expect(200);
  });

  it('joins a project, and moves to another (WV.22)', async () => {
    const made = await admin
      .post('organizations/acme/projects', resource('projects', { name: 'First project' }))
      .expect(201);
    const project = made.body.data.id;
    const { body } = await create({ name: 'in-project' }, { project: ref('projects', project) }).expect(201);
    expect(body.data.relationships.project.data.id).toBe(project);
    const same = await update('in-project', {}, { project: ref('projects', project) }).expect(200);
    expect(same.body.data.relationships.project.data.id).toBe(project);
    const blank = await update('in-project', {}, { project: { data: { type: 'projects', id: '' } } }).expect(200);
    expect(blank.body.data.relationships.project.data.id).toBe(project);
    const home = (await show('plain')).relationships.project.data.id;
    const moved = await update('in-project', {}, { project: ref('projects', home) }).expect(200);
    expect(moved.body.data.relationships.project.data.id).toBe(home);
    await create({ name: 'lost' }, { project: ref('projects', 'prj-1234567812345678') }).expect((response) => {
      expect([404, 422]).toContain(response.status);
    });
  });

  it('accepts a name once in twenty simultaneous requests', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'race' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(422)]);
    const refused = answers.find(({ status }) => status === 422);
    expect((refused!.body.errors as Errors)[0]).toMatchObject({
      title: 'invalid attribute',
      detail: 'Name has already been taken',
      source: { pointer: '/data/attributes/name' },
    });
  });

  describe('lists', () => {
    beforeAll(async () => {
      for (const [name, tags] of [
        ['tagged-a', ['red', 'hot']],
        ['tagged-b', ['red']],
        ['tagged-c', ['blue']],
      ] as const) {
        const relationships = { tags: { data: tags.map((tag) => ({ type: 'tags', attributes: { name: tag } })) } };
        await create({ name }, relationships).expect(201);
      }
    });

    it('twenty per page, with links and totals (W5.4, W9.1, WP.36)', async () => {
      const { body } = await admin.get('organizations/acme/workspaces').expect(200);
      expect(body.meta.pagination).toMatchObject({ 'current-page': 1, 'page-size': 20 });
      const total = body.meta.pagination['total-count'];
      const small = await admin.get('organizations/acme/workspaces?page%5Bsize%5D=5&page%5Bnumber%5D=2').expect(200);
      expect(small.body.data).toHaveLength(5);
      expect(small.body.meta.pagination).toMatchObject({ 'total-count': total, 'prev-page': 1, 'next-page': 3 });
      const beyond = await admin.get('organizations/acme/workspaces?page[number]=999&page[size]=1000').expect(200);
      expect(beyond.body.data).toEqual([]);
      expect(beyond.body.meta.pagination).toMatchObject({ 'page-size': 100, 'total-count': total });
    });

    it('by name and wildcard (WP.36)', async () => {
      expect(await list('search[name]=TAGGED')).toEqual(['tagged-a', 'tagged-b', 'tagged-c']);
      expect(await list('search[wildcard-name]=*-b')).toEqual(['tagged-b']);
      expect(await list('search[wildcard-name]=tagged-*')).toHaveLength(3);
      expect(await list('search[wildcard-name]=tagged')).toEqual([]);
      expect(await list('search[name]=%25')).toEqual([]);
    });

    it('by required and excluded tags (WV.26, WP.36)', async () => {
      expect(await list('search[tags]=red')).toEqual(['tagged-a', 'tagged-b']);
      expect(await list('search[tags]=red%2Chot')).toEqual(['tagged-a']);
      expect(await list('search[tags]=red&search[exclude-tags]=hot')).toEqual(['tagged-b']);
      expect(await list('search[name]=tagged&search[exclude_tags]=hot,blue')).toEqual(['tagged-b']);
      expect(await list('search[tags]=absent')).toEqual([]);
    });

    it('in order (WV.19, WP.38)', async () => {
      expect(await list('search[name]=tagged&sort=-name')).toEqual(['tagged-c', 'tagged-b', 'tagged-a']);
      expect(await list('search[name]=tagged&sort=-latest-change-at')).toEqual(['tagged-c', 'tagged-b', 'tagged-a']);
      expect(await list('search[name]=tagged&sort=current-run.created-at')).toHaveLength(3);
      const { body } = await admin.get('organizations/acme/workspaces?sort=colour').expect(400);
      expect((body.errors as Errors)[0]?.source?.parameter).toBe('sort');
    });

    it('by project, with the requested includes', async () => {
      const project = (await show('plain')).relationships.project.data.id;
      expect(await list(`filter[project][id]=${project}&search[name]=tagged`)).toHaveLength(3);
      expect(await list('filter[project][id]=prj-1234567812345678')).toEqual([]);
      const { body } = await admin
        .get('organizations/acme/workspaces?search[name]=tagged&include=organization,project')
        .expect(200);
      expect(body.included.map((item: { type: string }) => item.type).sort()).toEqual(['organizations', 'projects']);
      expect(body.included.find((item: { type: string }) => item.type === 'organizations').attributes.email).toBe(
        'acme@example.com',
      );
      await admin.get('organizations/acme/workspaces?include=nonsense').expect(400);
    });

    it('only what the caller may see', async () => {
      const stranger = await workspaces.person('stranger');
      await stranger.get('organizations/acme/workspaces').expect(404);
      await admin.get('organizations/absent/workspaces').expect(404);
    });
  });

  describe('locks', () => {
    const act = (id: string, action: string, as: Client = admin, body?: unknown) =>
      as.post(`workspaces/${id}/actions/${action}`, body);

    it('once, with reason and holder, in all body forms clients send (W2.8)', async () => {
      const { id } = await show('plain');
      const { body } = await act(id, 'lock', admin, { reason: 'busy' }).expect(200);
      expect(body.data.attributes).toMatchObject({ locked: true, 'locked-reason': 'busy' });
      expect(body.data.relationships['locked-by'].data.type).toBe('users');
      const again = await act(id, 'lock').expect(409);
      expect((again.body.errors as Errors)[0]?.detail).toBe(
        'Unable to lock workspace. The workspace is already locked.',
      );
      const open = await act(id, 'unlock').expect(200);
      expect(open.body.data.attributes.locked).toBe(false);
      const idle = await act(id, 'unlock').expect(409);
      expect((idle.body.errors as Errors)[0]?.detail).toBe(
        'Unable to unlock workspace. The workspace is already unlocked.',
      );
      await act(id, 'lock', admin, { data: { type: '', attributes: { reason: 'x' } } }).expect(200);
      await act(id, 'force-unlock').expect(200);
      await act(id, 'force-unlock').expect(409);
    });

    it('for only one of twenty simultaneous requests', async () => {
      const { id } = await show('plain');
      const answers = await Promise.all(Array.from({ length: 20 }, () => act(id, 'lock')));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
      await act(id, 'unlock').expect(200);
    });
  });

  it('deletes safely only unlocked workspaces, and otherwise at once (WV.23)', async () => {
    const one = (await create({ name: 'doomed-1' }).expect(201)).body.data;
    await admin.post(`workspaces/${one.id}/actions/lock`, {}).expect(200);
    const { body } = await admin.post(`workspaces/${one.id}/actions/safe-delete`).expect(409);
    expect((body.errors as Errors)[0]?.detail).toContain('locked');
    await admin.post(`workspaces/${one.id}/actions/unlock`).expect(200);
    await admin.post(`workspaces/${one.id}/actions/safe-delete`).expect(204);
    await admin.get(`workspaces/${one.id}`).expect(404);
    await create({ name: 'doomed-2' }).expect(201);
    await admin.delete('organizations/acme/workspaces/doomed-2').expect(204);
    await admin.get('organizations/acme/workspaces/doomed-2').expect(404);
  });
});

describe('SSH keys as specified', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_CHECK_SSH_KEYS: 'on' } });
  const { admin } = workspaces;
  const path = 'organizations/keys/ssh-keys';
  let value = '';
  beforeAll(async () => {
    const { generateKeyPairSync } = await import('node:crypto');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    value = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    await workspaces.organization('keys');
  });

  it('are created, shown and listed without their text (W7.1, W7.2, W7.3, WV.29)', async () => {
    const { body, text } = await admin.post(path, resource('ssh-keys', { name: 'deploy', value })).expect(201);
    expect(body.data).toMatchObject({
      id: expect.stringMatching(/^sshkey-[1-9A-HJ-NP-Za-km-z]{16}$/),
      type: 'ssh-keys',
      attributes: { name: 'deploy' },
      links: { self: `/api/v2/ssh-keys/${body.data.id}` },
    });
    const shown = await admin.get(`ssh-keys/${body.data.id}`).expect(200);
    expect(shown.body.data).toEqual(body.data);
    const whole = await admin.get(path).expect(200);
    expect(whole.body.data).toEqual([body.data]);
    expect(whole.body.meta?.pagination).toBeUndefined();
    const paged = await admin.get(`${path}?page[number]=1`).expect(200);
    expect(paged.body.meta.pagination['page-size']).toBe(20);
    for (const answer of [text, shown.text, whole.text]) expect(answer).not.toContain(value.split('\n')[1]);
  });

  it.each([
    [{ value: 'x' }, 'name'],
    [{ name: 'a' }, 'value'],
    [{ name: 'a', value: 'no key' }, 'value'],
    [{ name: 7, value: 'x' }, 'name'],
  ])('refuse %j (W8.5)', async (attributes, field) => {
    const { body } = await admin.post(path, resource('ssh-keys', attributes)).expect(422);
    const pointers = (body.errors as Errors).map((error) => error.source?.pointer);
    expect(pointers).toContain(`/data/attributes/${field}`);
  });

  it('are not for organization tokens, nor for strangers (WA.2, WA.3)', async () => {
    const made = await admin
      .post('organizations/keys/authentication-token', resource('authentication-tokens'))
      .expect(201);
    const own = workspaces.as(made.body.data.attributes.token);
    await own.get(path).expect(404);
    await own.post(path, resource('ssh-keys', { name: 'x', value })).expect(404);
    const stranger = await workspaces.person('stranger');
    await stranger.get(path).expect(404);
  });
});
