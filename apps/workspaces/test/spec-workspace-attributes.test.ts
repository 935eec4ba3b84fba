import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { grant, member, team } from './members';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

const ofReaders = [
  'can-read-settings',
  'can-read-state-versions',
  'can-read-state-outputs',
  'can-read-variable',
  'can-read-assessment-result',
  'can-read-assessment-results',
];
const ofAdministrators = [
  'can-create-state-versions',
  'can-destroy',
  'can-force-unlock',
  'can-lock',
  'can-manage-tags',
  'can-queue-apply',
  'can-queue-destroy',
  'can-queue-run',
  'can-unlock',
  'can-update',
  'can-update-variable',
  'can-force-delete',
  'can-manage-run-tasks',
  'can-manage-assessments',
];

describe.each(['self-hosted', 'hosted'] as const)('attributes of workspaces as specified, %s', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });
  const { admin } = workspaces;
  const hosted = edition === 'hosted';
  const path = 'organizations/acme/workspaces';
  const create = (attributes: object, as: Client = admin) => as.post(path, resource('workspaces', attributes));
  const made = async (attributes: object) => (await create(attributes).expect(201)).body.data;
  const update = (id: string, attributes: object) =>
    admin.patch(`workspaces/${id}`, resource('workspaces', attributes));
  const show = async (id: string, as: Client = admin) => (await as.get(`workspaces/${id}`).expect(200)).body.data;
  const connection = async (provider: string, url: string): Promise<string> => {
    const attributes = {
      'service-provider': provider,
      'http-url': url,
      'api-url': `${url}/api`,
      'oauth-token-string': 'token-of-the-provider',
    };
    const { body } = await admin.post('organizations/acme/oauth-clients', resource('oauth-clients', attributes));
    return body.data.relationships['oauth-tokens'].data[0].id;
  };

  beforeAll(async () => {
    await workspaces.organization('acme');
  });

  /** Two values for every attribute of a workspace, with nothing in common. */
  const one = {
    name: 'one',
    description: 'The first',
    'execution-mode': 'local',
    'allow-destroy-plan': false,
    'auto-apply': true,
    'file-triggers-enabled': false,
    'global-remote-state': true,
    'queue-all-runs': true,
    'speculative-enabled': false,
    'structured-run-output-enabled': false,
    'auto-destroy-at': '2999-01-01T00:00:00.000Z',
    'infra-version': '~> 1.3',
    'trigger-prefixes': ['modules/', 'shared'],
    'trigger-patterns': [],
    'working-directory': 'infra/one',
  };
  const other = {
    name: 'other',
    description: null,
    'execution-mode': 'remote',
    'allow-destroy-plan': true,
    'auto-apply': false,
    'file-triggers-enabled': true,
    'global-remote-state': false,
    'queue-all-runs': false,
    'speculative-enabled': true,
    'structured-run-output-enabled': true,
    'auto-destroy-at': null,
    'infra-version': '1.5.7',
    'trigger-prefixes': [],
    'trigger-patterns': ['/**/*.tf'],
    'working-directory': null,
  };

  it('are stored as sent, on create and on update (W2.1, W2.2, W2.4-W2.7, W2.9-W2.11, W6.1, W6.3, W6.5-W6.9, W6.11, W6.14-W6.17, W6.25)', async () => {
    const { id, attributes } = await made(one);
    expect(attributes).toMatchObject({ ...one, operations: false });
    expect((await show(id)).attributes).toEqual(attributes);
    const changed = (await update(id, other).expect(200)).body.data;
    expect(changed.attributes).toMatchObject({ ...other, operations: true });
    expect((await show(id)).attributes).toEqual(changed.attributes);
    const second = await made({ ...other, name: 'another' });
    expect(second.attributes).toMatchObject({ ...other, name: 'another', operations: true });
    await update(second.id, { ...one, name: 'third' }).expect(200);
    expect((await show(second.id)).attributes).toMatchObject({ ...one, name: 'third', operations: false });
  });

  it('have their default if omitted (W2.3, W6.3, W6.5-W6.9, W6.11, W6.14, W6.16, W6.17)', async () => {
    const { attributes } = await made({ name: 'plain' });
    const { name: _name, 'infra-version': _version, 'trigger-patterns': _patterns, ...defaults } = other;
    expect(attributes).toMatchObject({ ...defaults, 'trigger-patterns': [], environment: 'default', operations: true });
  });

  it('accept operations as an execution mode (W6.10)', async () => {
    const mode = ({ attributes }: { attributes: Record<string, unknown> }) => attributes['execution-mode'];
    const local = await made({ name: 'without-operations', operations: false });
    expect([mode(local), mode(await made({ name: 'unsaid' }))]).toEqual(['local', 'remote']);
    expect(mode((await update(local.id, { operations: true }).expect(200)).body.data)).toBe('remote');
    expect(mode((await update(local.id, { operations: false }).expect(200)).body.data)).toBe('local');
  });

  it('have a pool in agent mode (W6.2)', async () => {
    const pools = [];
    for (const name of ['p', 'q']) {
      pools.push((await admin.post('organizations/acme/agent-pools', resource('agent-pools', { name }))).body.data.id);
    }
    const [p, q] = pools;
    const { id, relationships } = await made({ name: 'pooled', 'execution-mode': 'agent', 'agent-pool-id': p });
    expect(relationships['agent-pool'].data).toEqual({ id: p, type: 'agent-pools' });
    await update(id, { 'agent-pool-id': q }).expect(200);
    expect((await show(id)).relationships['agent-pool'].data).toEqual({ id: q, type: 'agent-pools' });
  });

  it('keep assessments-enabled in the hosted edition (W2.6, W6.4, WP.17)', async () => {
    const { id, attributes } = await made({ name: 'assessed', 'assessments-enabled': true });
    const enabled = async () => (await show(id)).attributes['assessments-enabled'];
    expect(attributes['assessments-enabled']).toBe(hosted ? true : undefined);
    await update(id, { 'assessments-enabled': false }).expect(200);
    expect(await enabled()).toBe(hosted ? false : undefined);
    await update(id, { 'assessments-enabled': true }).expect(200);
    expect(await enabled()).toBe(hosted ? true : undefined);
    const unsaid = (await made({ name: 'unassessed' })).attributes['assessments-enabled'];
    expect(unsaid).toBe(hosted ? false : undefined);
  });

  it('name their source once, on create (W2.14, W6.12, W6.13)', async () => {
    const source = { 'source-name': 'a script', 'source-url': 'https://example.com/x' };
    const { id, attributes } = await made({ name: 'sourced', ...source });
    expect(attributes).toMatchObject({ ...source, source: 'tfe-api' });
    await update(id, { 'source-name': 'another', 'source-url': 'https://example.com/y' }).expect(200);
    expect((await show(id)).attributes).toMatchObject(source);
    expect((await made({ name: 'unsourced' })).attributes).toMatchObject({ 'source-name': null, 'source-url': null });
  });

  it('include a name, a version, tags and times for each (W2.9, W2.10, W2.15)', async () => {
    const tagged = { tags: { data: ['red', 'hot'].map((name) => ({ type: 'tags', attributes: { name } })) } };
    const { body } = await admin.post(path, resource('workspaces', { name: 'tagged' }, tagged)).expect(201);
    expect(body.data.attributes['tag-names']).toEqual(['red', 'hot']);
    const later = await made({ name: 'later' });
    expect(later.attributes['tag-names']).toEqual([]);
    await update(later.id, { description: 'changed' }).expect(200);
    const row = (await workspaces.service.db.prisma.workspace.findUniqueOrThrow({ where: { id: later.id } }))!;
    const shown = (await show(later.id)).attributes;
    const times = { 'created-at': row.createdAt, 'updated-at': row.updatedAt, 'latest-change-at': row.latestChangeAt };
    for (const [key, time] of Object.entries(times)) expect([key, shown[key]]).toEqual([key, time.toISOString()]);
    expect(shown['last-assessment-result-at']).toBeNull();
    for (const key of Object.keys(times)) expect(shown[key]).not.toBe(body.data.attributes[key]);
  });

  it('describe the repository and its connection (W2.12, W2.13, W6.18-W6.22, W6.24)', async () => {
    const github = await connection('github', 'https://github.example');
    const gitlab = await connection('gitlab_hosted', 'https://gitlab.example');
    const repo = { identifier: 'acme/infra', 'oauth-token-id': github, branch: 'main', 'ingress-submodules': true };
    const shown = (given: typeof repo, more: object) => ({
      'vcs-repo': { ...given, 'display-identifier': given.identifier, 'webhook-url': null, ...more },
      'vcs-repo-identifier': given.identifier,
    });
    const { id, attributes } = await made({ name: 'repository', 'vcs-repo': { ...repo, 'tags-regex': '^v' } });
    expect(attributes).toMatchObject(
      shown(repo, {
        'repository-http-url': 'https://github.example/acme/infra',
        'service-provider': 'github',
        'tags-regex': '^v',
      }),
    );
    const second = {
      identifier: 'acme/app',
      'oauth-token-id': gitlab,
      branch: 'next',
      'ingress-submodules': false,
    };
    const { body } = await update(id, { 'vcs-repo': { ...second, 'tags-regex': '^w' } }).expect(200);
    expect(body.data.attributes).toMatchObject(
      shown(second, {
        'repository-http-url': 'https://gitlab.example/acme/app',
        'service-provider': 'gitlab_hosted',
        'tags-regex': '^w',
      }),
    );
    const gone = (await update(id, { 'vcs-repo': null }).expect(200)).body.data.attributes;
    expect(gone).toMatchObject({ 'vcs-repo': null, 'vcs-repo-identifier': null });
  });

  it('show its state: locked, resources, runs, possible actions (W2.8, W2.16-W2.18, WP.4)', async () => {
    const { id, attributes } = await made({ name: 'busy' });
    const idle = {
      locked: false,
      'resource-count': 0,
      'apply-duration-average': null,
      'plan-duration-average': null,
      'policy-check-failures': null,
      'run-failures': null,
      'workspace-kpis-runs-count': null,
      actions: { 'is-destroyable': true },
    };
    expect(attributes).toMatchObject(idle);
    await workspaces.service.db.prisma.run.createMany({
      data: ['errored', 'applied', 'applied'].map((status, index) => ({
        id: `run-${edition}-${index}`,
        workspaceId: id,
        status,
        planMs: 2000,
        applyMs: 4000,
        finishedAt: new Date(),
      })),
    });
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    const state = Buffer.from(
      JSON.stringify({
        version: 4,
        terraform_version: '1.11.4',
        serial: 1,
        lineage: 'l',
        outputs: {},
        resources: ['a', 'b'].map((name) => ({
          mode: 'managed',
          type: 'null_resource',
          name,
          provider: 'provider.null',
          instances: [{ attributes: {} }],
        })),
      }),
    );
    const md5 = createHash('md5').update(state).digest('hex');
    const version = resource('state-versions', { serial: 1, md5, state: state.toString('base64') });
    await admin.post(`workspaces/${id}/state-versions`, version).expect(201);
    await update(id, { 'allow-destroy-plan': false }).expect(200);
    expect((await show(id)).attributes).toMatchObject({
      locked: true,
      'resource-count': 2,
      'apply-duration-average': 4000,
      'plan-duration-average': 2000,
      'policy-check-failures': 0,
      'run-failures': 1,
      'workspace-kpis-runs-count': 3,
      actions: { 'is-destroyable': false },
    });
  });

  it('show the permissions of the caller (W2.19)', async () => {
    const { id } = await made({ name: 'rights' });
    const readers = await team(workspaces, 'acme', 'readers');
    await grant(workspaces, readers, id, 'read');
    const outputs = await team(workspaces, 'acme', 'outputs');
    const custom = { runs: 'read', variables: 'none', 'state-versions': 'none', 'workspace-locking': false };
    await grant(workspaces, outputs, id, 'custom', custom);
    const all = (names: string[], value: boolean) => Object.fromEntries(names.map((name) => [name, value]));
    const permissions = async (as: Client) => (await show(id, as)).attributes.permissions;
    expect(await permissions(admin)).toEqual(all([...ofReaders, ...ofAdministrators], true));
    const reader = await member(workspaces, 'acme', [readers]);
    expect(await permissions(reader)).toEqual({
      ...all(ofReaders, true),
      ...all(ofAdministrators, false),
    });
    const bare = await member(workspaces, 'acme', [outputs]);
    expect(await permissions(bare)).toMatchObject(
      all(['can-read-state-versions', 'can-read-state-outputs', 'can-read-variable'], false),
    );
  });

  it('join the requested project (W6.26)', async () => {
    const projects = [];
    for (const name of ['First project', 'Second project']) {
      projects.push((await admin.post('organizations/acme/projects', resource('projects', { name }))).body.data.id);
    }
    const [first, second] = projects.map((id) => ({ project: ref('projects', id) }));
    const { body } = await admin.post(path, resource('workspaces', { name: 'placed' }, first)).expect(201);
    expect(body.data.relationships.project.data.id).toBe(projects[0]);
    await admin.patch(`workspaces/${body.data.id}`, resource('workspaces', {}, second)).expect(200);
    expect((await show(body.data.id)).relationships.project.data.id).toBe(projects[1]);
  });

  it.each([
    ['name', '(W6.1)'],
    ['agent-pool-id', '(W6.2)'],
    ['allow-destroy-plan', '(W6.3)'],
    ['assessments-enabled', '(W6.4)'],
    ['auto-apply', '(W6.5)'],
    ['description', '(W6.6)'],
    ['execution-mode', '(W6.7)'],
    ['file-triggers-enabled', '(W6.8)'],
    ['global-remote-state', '(W6.9)'],
    ['operations', '(W6.10)'],
    ['queue-all-runs', '(W6.11)'],
    ['source-name', '(W6.12)'],
    ['source-url', '(W6.13)'],
    ['speculative-enabled', '(W6.14)'],
    ['infra-version', '(W6.15)'],
    ['trigger-patterns', '(W6.16)'],
    ['trigger-prefixes', '(W6.17)'],
    ['vcs-repo', '(W6.18)'],
    ['working-directory', '(W6.25)'],
  ])('refuse a wrong %s %s', async (key) => {
    if (key === 'assessments-enabled' && !hosted) return;
    const { id, attributes } = await made({ name: `target-of-${key}` });
    // An update ignores what only a create reads.
    const isRead = key !== 'source-name' && key !== 'source-url';
    const wrong = { name: 'never', [key]: { wrong: 1 } };
    const list = { name: 'never', [key]: [{}] };
    const answers = [await create(wrong), await create(list)];
    if (isRead) answers.push(await update(id, { [key]: { wrong: 1 } }), await update(id, { [key]: [{}] }));
    const pointers = answers.map(({ status, body }) => [status, body.errors?.[0]?.source?.pointer]);
    const refused = [422, expect.stringMatching(`^/data/attributes/${key}`)];
    expect(pointers).toEqual(answers.map(() => refused));
    await admin.get(`${path}/never`).expect(404);
    expect((await show(id)).attributes).toEqual(attributes);
  });

  it.each(['/infra', '/infra/one/', '//infra', '/', 'infra/one'])(
    'keep a working directory as it is sent: %j',
    async (folder) => {
      const { id } = await made({ name: `folder-${folder.replaceAll('/', '_')}`, 'working-directory': folder });
      expect((await show(id)).attributes['working-directory']).toBe(folder);
      for (const wrong of ['/../x', 'a/../../b'])
        expect((await update(id, { 'working-directory': wrong })).status).toBe(422);
    },
  );
});
