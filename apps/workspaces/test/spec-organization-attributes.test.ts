import { beforeAll, describe, expect, it } from '@jest/globals';
import { member } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

type Errors = { status: string; detail?: string; source?: { pointer?: string } }[];

const never = ['can-manage-sso', 'can-manage-custom-providers'];
const ofOwners = [
  'can-update',
  'can-destroy',
  'can-access-via-teams',
  'can-create-team',
  'can-create-workspace',
  'can-manage-users',
  'can-manage-subscription',
  'can-update-oauth',
  'can-update-ssh-keys',
  'can-update-api-token',
  'can-start-trial',
  'can-update-agent-pools',
  'can-manage-tags',
  'can-manage-varsets',
  'can-read-varsets',
  'can-create-project',
  'can-create-module',
  'can-manage-public-modules',
  'can-create-provider',
  'can-manage-public-providers',
  'can-manage-run-tasks',
  'can-update-polengine',
];

describe.each(['self-hosted', 'hosted'] as const)('attributes of organizations as specified, %s', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });
  const hosted = edition === 'hosted';
  const { admin: owner } = workspaces;
  const create = (attributes: object) => owner.post('organizations', resource('organizations', attributes));
  const update = (name: string, attributes: object) =>
    owner.patch(`organizations/${name}`, resource('organizations', attributes));
  const attributesOf = async (name: string, as = owner) =>
    (await as.get(`organizations/${name}`).expect(200)).body.data.attributes;

  /** Two values for every attribute of an organization, with nothing in common. */
  const one = {
    name: 'one',
    email: 'one@example.com',
    'session-timeout': 60,
    'session-remember': 90,
    'collaborator-auth-policy': 'two_factor_mandatory',
    'cost-estimation-enabled': true,
    'aggregated-commit-status-enabled': false,
    'send-passing-statuses-for-untriggered-speculative-plans': hosted,
    'owners-team-saml-role-id': 'role-of-one',
    'assessments-enforced': true,
    'allow-force-delete-workspaces': true,
    'default-execution-mode': 'local',
  };
  const other = {
    name: 'other',
    email: 'other@example.org',
    'session-timeout': 61,
    'session-remember': null,
    'collaborator-auth-policy': 'password',
    'cost-estimation-enabled': false,
    'aggregated-commit-status-enabled': true,
    'send-passing-statuses-for-untriggered-speculative-plans': false,
    'owners-team-saml-role-id': null,
    'assessments-enforced': false,
    'allow-force-delete-workspaces': false,
    'default-execution-mode': 'remote',
  };
  /** The part of it that this edition shows. */
  const shown = ({ 'assessments-enforced': enforced, ...rest }: typeof one | typeof other) =>
    hosted ? { ...rest, 'assessments-enforced': enforced } : rest;

  beforeAll(async () => {
    // An owner who requires a second factor of others must have one.
    const { id: userId } = (await owner.get('account/details').expect(200)).body.data;
    const factor = { userId, secret: Buffer.alloc(0), verifiedAt: new Date() };
    await workspaces.service.db.prisma.twoFactor.create({ data: factor });
  });

  it('are stored as sent, on create and on update (W1.1, W1.2, W1.5-W1.7, W1.11-W1.14, W1.17, W1.19, W1.20, W4.1-W4.12, WV.8)', async () => {
    const { body } = await create(one).expect(201);
    expect(body.data.attributes).toMatchObject(shown(one));
    expect(await attributesOf('one')).toEqual(body.data.attributes);
    expect('assessments-enforced' in body.data.attributes).toBe(hosted);
    const changed = await update('one', other).expect(200);
    expect(changed.body.data.attributes).toMatchObject(shown(other));
    expect(await attributesOf('other')).toEqual(changed.body.data.attributes);
    await update('other', one).expect(200);
    expect(await attributesOf('one')).toMatchObject(shown(one));
  });

  it('have their default if omitted (W4.3-W4.12)', async () => {
    const { body } = await create({ name: 'plain', email: 'plain@example.com' }).expect(201);
    const { 'session-timeout': _timeout, ...rest } = shown(other);
    expect(body.data.attributes).toMatchObject({
      ...rest,
      name: 'plain',
      email: 'plain@example.com',
      'session-timeout': null,
    });
  });

  it('include a name, an id and a time for each (W1.3, W1.4)', async () => {
    for (const name of ['first', 'second']) await create({ name, email: 'a@example.com' }).expect(201);
    const [first, second] = [await attributesOf('first'), await attributesOf('second')];
    const rows = await workspaces.service.db.prisma.organization.findMany({
      where: { name: { in: ['first', 'second'] } },
    });
    for (const shown of [first, second]) {
      const row = rows.find(({ name }) => name === shown.name)!;
      expect(row.id).toMatch(/^org-[1-9A-HJ-NP-Za-km-z]{16}$/);
      expect([shown['external-id'], shown['created-at']]).toEqual([row.id, row.createdAt.toISOString()]);
    }
  });

  it('show the plan (W1.8-W1.10)', async () => {
    for (const name of ['on-trial', 'trial-ended']) await create({ name, email: 'a@example.com' }).expect(201);
    const set = ref('feature-sets', 'fs-keysteadTrial001');
    const ends = { 'on-trial': '2999-01-01T00:00:00.000Z', 'trial-ended': '2020-01-01T00:00:00.000Z' };
    for (const [name, end] of Object.entries(ends)) {
      const body = resource('subscription', { 'end-at': end }, { 'feature-set': set });
      await owner.post(`admin/organizations/${name}/subscription`, body).expect(hosted ? 201 : 404);
    }
    await create({ name: 'unplanned', email: 'a@example.com' }).expect(201);
    const listed = (await owner.get('organizations').expect(200)).body.data;
    const planOf = (name: string) => {
      const { attributes } = listed.find(({ id }: { id: string }) => id === name);
      const keys = ['plan-expired', 'plan-is-trial', 'plan-is-enterprise', 'plan-expires-at', 'plan-identifier'];
      return keys.map((key) => attributes[key]);
    };
    const enterprise = [false, false, true, null, 'enterprise'];
    expect(planOf('on-trial')).toEqual(hosted ? [false, true, false, ends['on-trial'], 'trial'] : enterprise);
    expect(planOf('trial-ended')).toEqual(hosted ? [true, true, false, ends['trial-ended'], 'trial'] : enterprise);
    expect(planOf('unplanned')).toEqual(hosted ? [false, false, false, null, 'business'] : enterprise);
  });

  it('follow the installation and the members (W1.11, W1.15, W1.16, W1.18, W4.6)', async () => {
    await create({ name: 'around', email: 'a@example.com', 'cost-estimation-enabled': true }).expect(201);
    const before = await attributesOf('around');
    expect(before).toMatchObject({ 'fair-run-queuing-enabled': true, 'saml-enabled': false });
    expect(before['two-factor-conformant']).toBe(hosted ? true : undefined);
    await member(workspaces, 'around');
    expect((await attributesOf('around'))['two-factor-conformant']).toBe(hosted ? false : undefined);
    if (hosted) return;
    await owner
      .patch('admin/general-settings', resource('general-settings', { 'fair-run-queuing-enabled': false }))
      .expect(200);
    await owner
      .patch('admin/cost-estimation-settings', resource('cost-estimation-settings', { enabled: false }))
      .expect(200);
    expect(await attributesOf('around')).toMatchObject({
      'fair-run-queuing-enabled': false,
      'cost-estimation-enabled': false,
    });
  });

  it('show the permissions of the caller (W1.21)', async () => {
    await create({ name: 'rights', email: 'a@example.com' }).expect(201);
    const bare = await member(workspaces, 'rights');
    const all = (names: string[], value: boolean) => Object.fromEntries(names.map((name) => [name, value]));
    expect((await attributesOf('rights')).permissions).toMatchObject({
      ...all(ofOwners, true),
      ...all(never, false),
      'can-traverse': true,
      'can-read-run-tasks': true,
    });
    expect((await attributesOf('rights', bare)).permissions).toMatchObject({
      ...all([...ofOwners, ...never], false),
      'can-traverse': true,
      'can-read-run-tasks': true,
    });
  });

  it.each([
    ['name', '(W4.1)'],
    ['email', '(W4.2)'],
    ['session-timeout', '(W4.3)'],
    ['session-remember', '(W4.4)'],
    ['collaborator-auth-policy', '(W4.5)'],
    ['cost-estimation-enabled', '(W4.6)'],
    ['send-passing-statuses-for-untriggered-speculative-plans', '(W4.7)'],
    ['aggregated-commit-status-enabled', '(W4.8)'],
    ['owners-team-saml-role-id', '(W4.9)'],
    ['assessments-enforced', '(W4.10)'],
    ['allow-force-delete-workspaces', '(W4.11)'],
    ['default-execution-mode', '(W4.12)'],
  ])('refuse a wrong %s, on create and on update %s', async (key) => {
    if (key === 'assessments-enforced' && !hosted) return;
    await create({ name: 'target', email: 'a@example.com' });
    const before = await attributesOf('target');
    for (const value of [{}, key === 'name' || key === 'email' ? null : 'x'.repeat(300)]) {
      const wrong = { name: 'never', email: 'a@example.com', [key]: value };
      const answers = [await create(wrong), await update('target', { [key]: value })];
      for (const { status, body } of answers) {
        expect([status, (body.errors as Errors)?.[0]?.source?.pointer]).toEqual([422, `/data/attributes/${key}`]);
      }
    }
    await owner.get('organizations/never').expect(404);
    expect(await attributesOf('target')).toEqual(before);
  });

  it('accept a default pool in agent mode only (W4.13)', async () => {
    await create({ name: 'pools', email: 'a@example.com' }).expect(201);
    const made = await owner
      .post('organizations/pools/agent-pools', resource('agent-pools', { name: 'p' }))
      .expect(201);
    const pool = { 'default-execution-mode': 'agent', 'default-agent-pool-id': made.body.data.id };
    const { body } = await update('pools', pool).expect(200);
    expect(body.data.relationships['default-agent-pool'].data).toEqual({ id: made.body.data.id, type: 'agent-pools' });
    const detail = async (attributes: object) =>
      (await create({ name: 'never', email: 'a@example.com', ...attributes }).expect(422)).body.errors[0];
    // A pool belongs to an organization, so a new one cannot have any yet.
    expect((await detail(pool)).detail).toContain('was not found');
    expect((await detail({ 'default-execution-mode': 'agent' })).detail).toContain('must be specified');
    for (const answer of [
      create({ name: 'never', email: 'a@example.com', 'default-agent-pool-id': 7 }),
      update('pools', { 'default-agent-pool-id': 7 }),
    ]) {
      const { body: refused } = await answer.expect(422);
      expect(refused.errors[0]).toMatchObject({ source: { pointer: '/data/attributes/default-agent-pool-id' } });
      expect(refused.errors[0].detail).toContain('must be a string');
    }
  });
});
