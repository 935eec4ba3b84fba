import { describe, expect, it } from '@jest/globals';
import { type Client, resource, startWorkspaces } from './start-workspaces';

type Errors = { status: string; title: string; detail?: string; source?: { pointer?: string; parameter?: string } }[];

const permissions = [
  'can-update',
  'can-destroy',
  'can-access-via-teams',
  'can-create-module',
  'can-create-team',
  'can-create-workspace',
  'can-manage-users',
  'can-manage-subscription',
  'can-manage-sso',
  'can-update-oauth',
  'can-update-polengine',
  'can-update-ssh-keys',
  'can-update-api-token',
  'can-traverse',
  'can-start-trial',
  'can-update-agent-pools',
  'can-manage-tags',
  'can-manage-varsets',
  'can-read-varsets',
  'can-manage-public-providers',
  'can-create-provider',
  'can-manage-public-modules',
  'can-manage-custom-providers',
  'can-manage-run-tasks',
  'can-read-run-tasks',
  'can-create-project',
];
const entitlements = [
  'cost-estimation',
  'configuration-designer',
  'module-tests-generation',
  'operations',
  'private-module-registry',
  'policy-enforcement',
  'polengine',
  'run-tasks',
  'state-storage',
  'teams',
  'vcs-integrations',
  'usage-reporting',
  'self-serve-billing',
  'audit-logging',
  'agents',
  'sso',
];
const limits = [
  'run-task-limit',
  'run-task-workspace-limit',
  'run-task-mandatory-enforcement-limit',
  'policy-set-limit',
  'policy-limit',
  'policy-mandatory-enforcement-limit',
  'versioned-policy-set-limit',
];

describe.each(['self-hosted', 'hosted'] as const)('organizations as specified, %s', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });
  const { admin } = workspaces;
  const hosted = edition === 'hosted';
  const create = (attributes: object, as: Client = admin) =>
    as.post('organizations', resource('organizations', attributes));
  const update = (name: string, attributes: object) =>
    admin.patch(`organizations/${name}`, resource('organizations', attributes));
  const named = (name: string, more: object = {}) => create({ name, email: `${name}@example.com`, ...more });
  const attributesOf = async (name: string) =>
    (await admin.get(`organizations/${name}`).expect(200)).body.data.attributes;

  it('creates an organization with every default (W3.3, W8.2, W9.4, WV.8, WP.4)', async () => {
    const { body } = await named('whole').expect(201);
    const { data } = body;
    expect(data).toMatchObject({ id: 'whole', type: 'organizations', links: { self: '/api/v2/organizations/whole' } });
    expect(data.attributes).toMatchObject({
      name: 'whole',
      email: 'whole@example.com',
      'session-timeout': null,
      'session-remember': null,
      'collaborator-auth-policy': 'password',
      'cost-estimation-enabled': false,
      'send-passing-statuses-for-untriggered-speculative-plans': false,
      'aggregated-commit-status-enabled': true,
      'allow-force-delete-workspaces': false,
      'owners-team-saml-role-id': null,
      'default-execution-mode': 'remote',
      'saml-enabled': false,
      'plan-expires-at': null,
    });
    expect(data.attributes['external-id']).toMatch(/^org-[1-9A-HJ-NP-Za-km-z]{16}$/);
    expect(data.attributes['created-at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    for (const key of ['plan-expired', 'plan-is-trial', 'plan-is-enterprise', 'fair-run-queuing-enabled']) {
      expect([key, typeof data.attributes[key]]).toEqual([key, 'boolean']);
    }
    expect(Object.keys(data.attributes.permissions)).toEqual(expect.arrayContaining(permissions));
    expect(new Set(Object.values(data.attributes.permissions).map((value) => typeof value))).toEqual(
      new Set(['boolean']),
    );
    for (const key of ['two-factor-conformant', 'assessments-enforced']) {
      expect([key, key in data.attributes]).toEqual([key, hosted]);
    }
    expect(body.included).toEqual([
      expect.objectContaining({ type: 'entitlement-sets', id: data.attributes['external-id'] }),
    ]);
  });

  it('relates an organization to its resources', async () => {
    const { body } = await admin.get('organizations/whole').expect(200);
    const { relationships, attributes } = body.data;
    expect(relationships['default-agent-pool']).toMatchObject({ data: null });
    expect(relationships['entitlement-set']).toMatchObject({
      data: { id: attributes['external-id'], type: 'entitlement-sets' },
      links: { related: expect.stringContaining('/entitlement-set') },
    });
    for (const name of ['oauth-tokens', 'authentication-token', ...(hosted ? ['subscription'] : [])]) {
      expect(relationships[name].links.related).toContain('/api/v2/organizations/whole/');
    }
    if (!hosted) expect(relationships.subscription).toEqual({ data: null });
    expect('data-retention-policy' in relationships).toBe(!hosted);
  });

  it('links only to existing paths', async () => {
    const at = 'organizations/whole';
    await admin.post(`${at}/authentication-token`).expect(201);
    const { body: made } = await admin.post(`${at}/workspaces`, resource('workspaces', { name: 'linked' })).expect(201);
    const project = `projects/${made.data.relationships.project.data.id}`;
    const answers = await Promise.all([at, project].map((path) => admin.get(path).expect(200)));
    const documents = [made, ...answers.map(({ body }) => body)];
    const links = documents.flatMap(({ data }) => [
      data.links.self,
      ...Object.values(data.relationships as Record<string, { links?: { related?: string } }>).flatMap(
        ({ links }) => links?.related ?? [],
      ),
    ]);
    expect(links.length).toBeGreaterThan(10);
    const dead: string[] = [];
    for (const link of links) {
      const { status } = await admin.get(link);
      // Outputs exist as soon as a state exists.
      if (status !== 200 && !link.endsWith('/current-state-version-outputs')) dead.push(`${status} ${link}`);
    }
    expect(dead).toEqual([]);
  });

  it('shows an organization, with the entitlement set if requested (W3.2, W8.1)', async () => {
    const { body } = await admin.get('organizations/whole?include=entitlement_set').expect(200);
    expect(body.included[0]).toMatchObject({ type: 'entitlement-sets' });
    const bad = await admin.get('organizations/whole?include=nonsense').expect(400);
    expect((bad.body.errors as Errors)[0]).toMatchObject({
      status: '400',
      detail: expect.stringContaining('Invalid include parameter'),
    });
  });

  it('keeps attributes that an update omits (W3.4)', async () => {
    await named('kept', { 'session-timeout': 3600, 'default-execution-mode': 'local' }).expect(201);
    const before = await attributesOf('kept');
    await update('kept', {}).expect(200);
    expect(await attributesOf('kept')).toEqual(before);
    await update('kept', { 'session-remember': 90, 'allow-force-delete-workspaces': true }).expect(200);
    expect(await attributesOf('kept')).toEqual({
      ...before,
      'session-remember': 90,
      'allow-force-delete-workspaces': true,
    });
  });

  it('answers null for session limits that were set to null', async () => {
    const { body } = await update('kept', { 'session-timeout': null, 'session-remember': null }).expect(200);
    expect(body.data.attributes).toMatchObject({ 'session-timeout': null, 'session-remember': null });
  });

  it('renames an organization; the old name is then unknown', async () => {
    await named('before').expect(201);
    const { body } = await update('before', { name: 'after' }).expect(200);
    expect(body.data).toMatchObject({ id: 'after', links: { self: '/api/v2/organizations/after' } });
    await admin.get('organizations/before').expect(404);
  });

  it.each([
    ['name', { email: 'a@example.com' }, "Name can't be blank"],
    ['name', { name: '', email: 'a@example.com' }, "Name can't be blank"],
    ['name', { name: 'a b', email: 'a@example.com' }, 'Name'],
    ['name', { name: 'ünïcode', email: 'a@example.com' }, 'Name'],
    ['name', { name: "a';DROP TABLE organization;--", email: 'a@example.com' }, 'Name'],
    ['name', { name: 7, email: 'a@example.com' }, 'Name'],
    ['email', { name: 'fresh' }, "Email can't be blank"],
    ['email', { name: 'fresh', email: 'text' }, 'Email is invalid'],
    ['session-timeout', { name: 'fresh', email: 'a@example.com', 'session-timeout': 0 }, 'Session timeout'],
    ['session-timeout', { name: 'fresh', email: 'a@example.com', 'session-timeout': '60' }, 'Session timeout'],
    ['session-remember', { name: 'fresh', email: 'a@example.com', 'session-remember': 1.5 }, 'Session remember'],
    [
      'collaborator-auth-policy',
      { name: 'fresh', email: 'a@example.com', 'collaborator-auth-policy': 'none' },
      'Collaborator auth policy',
    ],
    [
      'cost-estimation-enabled',
      { name: 'fresh', email: 'a@example.com', 'cost-estimation-enabled': 'yes' },
      'Cost estimation enabled',
    ],
    [
      'default-execution-mode',
      { name: 'fresh', email: 'a@example.com', 'default-execution-mode': true },
      'Default execution mode',
    ],
    [
      'default-execution-mode',
      { name: 'fresh', email: 'a@example.com', 'default-execution-mode': 'cloud' },
      'Default execution mode',
    ],
  ])('refuses an invalid %s in %j (W8.5)', async (attribute, attributes, detail) => {
    const { body } = await create(attributes).expect(422);
    const errors = body.errors as Errors;
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ status: '422', source: { pointer: `/data/attributes/${attribute}` } });
    expect(errors[0]?.detail).toContain(detail);
    await admin.get('organizations/fresh').expect(404);
  });

  it('names every failing attribute', async () => {
    const { body } = await create({ email: 'text', 'session-timeout': 'x' }).expect(422);
    const pointers = (body.errors as Errors).map((error) => error.source?.pointer);
    expect(pointers.sort()).toEqual([
      '/data/attributes/email',
      '/data/attributes/name',
      '/data/attributes/session-timeout',
    ]);
  });

  it('refuses both commit status settings together', async () => {
    const both = {
      'aggregated-commit-status-enabled': true,
      'send-passing-statuses-for-untriggered-speculative-plans': true,
    };
    await named('statuses', both).expect(422);
    await named('statuses', { ...both, 'aggregated-commit-status-enabled': false }).expect(hosted ? 201 : 422);
  });

  it.each([
    [
      { 'default-agent-pool-id': 'apool-1234567812345678' },
      "must not be specified unless using 'agent' execution mode",
    ],
    [{ 'default-execution-mode': 'agent' }, "must be specified when using 'agent' execution mode"],
    [{ 'default-execution-mode': 'agent', 'default-agent-pool-id': 'apool-nope' }, ''],
  ])('refuses %j', async (attributes, detail) => {
    const { body } = await update('whole', attributes).expect(422);
    expect((body.errors as Errors)[0]?.detail).toContain(detail);
  });

  it('uses agents by default once the organization has a pool', async () => {
    const pool = await admin
      .post('organizations/whole/agent-pools', resource('agent-pools', { name: 'p' }))
      .expect(201);
    const id = pool.body.data.id;
    const { body } = await update('whole', { 'default-execution-mode': 'agent', 'default-agent-pool-id': id }).expect(
      200,
    );
    expect(body.data.attributes['default-execution-mode']).toBe('agent');
    expect(body.data.relationships['default-agent-pool'].data).toEqual({ id, type: 'agent-pools' });
    const back = await update('whole', { 'default-execution-mode': 'remote' }).expect(200);
    expect(back.body.data.relationships['default-agent-pool'].data).toBeNull();
  });

  it('requires the right type and a document (W8.5)', async () => {
    await admin.post('organizations', resource('workspaces', { name: 'x', email: 'x@example.com' })).expect(422);
    await admin.post('organizations', {}).expect(422);
    await admin.post('organizations', { data: [] }).expect(422);
  });

  it('gives a name only once', async () => {
    await named('once').expect(201);
    const { body } = await named('ONCE').expect(422);
    expect((body.errors as Errors)[0]).toMatchObject({
      title: 'invalid attribute',
      detail: 'Name has already been taken',
    });
  });

  it('accepts a name only once in twenty simultaneous requests', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => named('race')));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(422)]);
  });

  describe('lists', () => {
    const names = async (query: string) =>
      (await admin.get(`organizations${query}`).expect(200)).body.data.map((item: { id: string }) => item.id);

    it('everything without pagination if no page is requested (W3.1, W9.2, WV.29)', async () => {
      const { body } = await admin.get('organizations').expect(200);
      expect(body.data.length).toBeGreaterThan(3);
      expect(body.links).toBeUndefined();
      expect(body.meta?.pagination).toBeUndefined();
      for (const item of body.data) expect(typeof item.attributes['plan-identifier']).toBe('string');
    });

    it('by page, twenty by default (W9.1, WV.29)', async () => {
      const { body } = await admin.get('organizations?page%5Bnumber%5D=1').expect(200);
      expect(body.meta.pagination).toMatchObject({ 'current-page': 1, 'page-size': 20, 'prev-page': null });
      const small = await admin.get('organizations?page[size]=2&page[number]=2').expect(200);
      expect(small.body.data).toHaveLength(2);
      const total = small.body.meta.pagination['total-count'];
      expect(small.body.meta.pagination).toEqual({
        'current-page': 2,
        'page-size': 2,
        'prev-page': 1,
        'next-page': Math.ceil(total / 2) > 2 ? 3 : null,
        'total-pages': Math.ceil(total / 2),
        'total-count': total,
      });
      expect(small.body.links.prev).toContain('page%5Bnumber%5D=1');
      const beyond = await admin.get('organizations?page[number]=999&page[size]=100').expect(200);
      expect(beyond.body.data).toEqual([]);
      expect(beyond.body.meta.pagination).toMatchObject({ 'current-page': 999, 'total-count': total });
    });

    it.each(['page[number]=0', 'page[size]=-1', 'page[size]=x', 'page[number]=1.5'])('refused by %s', async (query) => {
      const { body } = await admin.get(`organizations?${query}`).expect(400);
      expect((body.errors as Errors)[0]?.source?.parameter).toBe(query.split('=')[0]);
    });

    it('search results, with q before the other two (WP.29)', async () => {
      await create({ name: 'needle-one', email: 'pin@haystack.example' }).expect(201);
      await create({ name: 'needle-two', email: 'two@elsewhere.example' }).expect(201);
      expect(await names('?q=NEEDLE')).toEqual(['needle-one', 'needle-two']);
      expect(await names('?q=haystack')).toEqual(['needle-one']);
      expect(await names('?q[name]=needle&q[email]=elsewhere')).toEqual(['needle-two']);
      expect(await names('?q[name]=needle-one')).toEqual(['needle-one']);
      expect(await names('?q=haystack&q[name]=two')).toEqual(['needle-one']);
      expect(await names('?q=100%25_')).toEqual([]);
    });

    it('only the caller’s own', async () => {
      const stranger = await workspaces.person('stranger');
      const { body } = await stranger.get('organizations').expect(200);
      expect(body.data).toEqual([]);
      await stranger.get('organizations/whole').expect(404);
    });
  });

  it('shows the entitlement set (W3.6, W9.5, WP.13, WP.14, WP.15, WP.16)', async () => {
    const { body } = await admin.get('organizations/whole/entitlement-set').expect(200);
    const external = (await attributesOf('whole'))['external-id'];
    expect(body.data).toMatchObject({
      id: external,
      type: 'entitlement-sets',
      links: { self: `/api/v2/entitlement-sets/${external}` },
    });
    for (const key of entitlements) expect([key, typeof body.data.attributes[key]]).toEqual([key, 'boolean']);
    for (const key of limits) {
      const value = body.data.attributes[key];
      expect([key, value === null || Number.isInteger(value)]).toEqual([key, true]);
    }
    expect('user-limit' in body.data.attributes).toBe(true);
    await admin.get('organizations/absent/entitlement-set').expect(404);
  });

  it('lists module producers in the self-hosted edition only (W3.7, WP.3)', async () => {
    await named('producing').expect(201);
    const path = 'organizations/producing/relationships/module-producers';
    const answer = await admin.get(path).expect(hosted ? 404 : 200);
    if (hosted) return;
    expect(answer.body.data).toEqual([]);
    expect(answer.body.meta.pagination).toMatchObject({ 'current-page': 1, 'page-size': 20 });
    const second = await admin.get(`${path}?page[number]=2&page[size]=5`).expect(200);
    expect(second.body.meta.pagination).toMatchObject({ 'current-page': 2, 'page-size': 5 });
  });

  it('keeps a data retention policy in the self-hosted edition only (W3.8-W3.10, WV.7)', async () => {
    await named('keeping').expect(201);
    const path = 'organizations/keeping/relationships/data-retention-policy';
    const policy = resource('data-retention-policy-delete-olders', { 'delete-older-than-n-days': 33 });
    if (hosted) {
      await admin.get(path).expect(404);
      await admin.post(path, policy).expect(404);
      await admin.delete(path).expect(404);
      return;
    }
    expect((await admin.get(path).expect(200)).body.data).toBeNull();
    const { body } = await admin.post(path, policy).expect(200);
    expect(body.data).toMatchObject({
      id: expect.stringMatching(/^drp-/),
      type: 'data-retention-policy-delete-olders',
      attributes: { 'delete-older-than-n-days': 33 },
    });
    const shown = await admin.get('organizations/keeping').expect(200);
    expect(shown.body.data.relationships['data-retention-policy'].data).toEqual({
      id: body.data.id,
      type: body.data.type,
    });
    await admin.post(path, resource('data-retention-policy-dont-deletes')).expect(200);
    expect((await admin.get(path).expect(200)).body.data.type).toBe('data-retention-policy-dont-deletes');
    await admin
      .post(path, resource('data-retention-policy-delete-olders', { 'delete-older-than-n-days': 0 }))
      .expect(422);
    await admin.delete(path).expect(204);
    expect((await admin.get(path).expect(200)).body.data).toBeNull();
  });

  it('deletes an organization, and its owners may use the name again (W3.5, W8.3)', async () => {
    await named('short-lived').expect(201);
    const { body, headers } = await admin.delete('organizations/short-lived').expect(204);
    expect(body).toEqual({});
    expect(headers['content-type']).toBeUndefined();
    await admin.get('organizations/short-lived').expect(404);
    await named('short-lived').expect(201);
  });

  it('answers 404 both for absent organizations and for those of others (W8.4)', async () => {
    await named('unseen').expect(201);
    const stranger = await workspaces.person('outsider');
    const absent = await stranger.get('organizations/absent').expect(404);
    const foreign = await stranger.get('organizations/unseen').expect(404);
    expect(absent.text).toBe(foreign.text);
    expect(absent.body).toEqual({ errors: [{ status: '404', title: 'not found' }] });
    await stranger.patch('organizations/unseen', resource('organizations', {})).expect(404);
    await stranger.delete('organizations/unseen').expect(404);
  });

  it('needs a bearer token (WA.1)', async () => {
    const { body } = await workspaces.anyone.get('organizations').expect(401);
    expect(body).toEqual({ errors: [{ status: '401', title: 'unauthorized' }] });
    await workspaces.as('nonsense').get('organizations').expect(401);
  });

  it('is created by user tokens only (WA.2, WA.4)', async () => {
    await named('tokens').expect(201);
    const made = await admin
      .post('organizations/tokens/authentication-token', resource('authentication-tokens'))
      .expect(201);
    const own = workspaces.as(made.body.data.attributes.token);
    await create({ name: 'by-token', email: 'a@example.com' }, own).expect(404);
    await own.get('organizations/tokens').expect(200);
    await own.patch('organizations/tokens', resource('organizations', { email: 'b@example.com' })).expect(404);
  });
});
