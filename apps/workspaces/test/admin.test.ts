import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

describe('site administration', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let user: Client & { id: string };

  beforeAll(async () => {
    user = await workspaces.person('ordinary');
    await workspaces.organization('producer');
    await workspaces.organization('consumer');
    await workspaces.organization('theirs', {}, user);
    await admin
      .post('admin/data-retention-policy', { data: { type: 'data-retention-policy-dont-deletes' } })
      .expect(200);
  });

  it.each([
    'admin/organizations',
    'admin/organizations/producer',
    'admin/users',
    'admin/workspaces',
    'admin/infra-versions',
    'admin/terraform-versions',
    'admin/general-settings',
    'admin/cost-estimation-settings',
    'admin/data-retention-policy',
  ])('hides %s from all other callers', async (path) => {
    await admin.get(path).expect(200);
    const { text } = await user.get(path).expect(404);
    expect(text).toBe('{"errors":[{"status":"404","title":"not found"}]}');
  });

  it('lists every organization with its owners', async () => {
    const { body } = await admin.get('admin/organizations?q=theirs&include=owners').expect(200);
    expect(body.meta.pagination['total-count']).toBe(1);
    expect(body.data[0]).toMatchObject({
      id: 'theirs',
      attributes: { 'notification-email': 'theirs@example.com', 'is-disabled': false, 'workspace-limit': null },
    });
    expect(body.included).toEqual([expect.objectContaining({ type: 'users', id: user.id })]);
  });

  it('blocks all callers from an organization that is suspended', async () => {
    const change = (value: boolean) =>
      admin.patch('admin/organizations/theirs', resource('organizations', { 'is-disabled': value }));
    await change(true).expect(200);
    await user.post('organizations/theirs/workspaces', resource('workspaces', { name: 'w' })).expect(404);
    await change(false).expect(200);
    await user.post('organizations/theirs/workspaces', resource('workspaces', { name: 'w' })).expect(201);
  });

  it('limits the workspaces of an organization exactly, even if many are created at once', async () => {
    await workspaces.organization('narrow');
    await admin.patch('admin/organizations/narrow', resource('organizations', { 'workspace-limit': 3 })).expect(200);
    await workspaces.workspace('narrow', 'first');
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        admin.post('organizations/narrow/workspaces', resource('workspaces', { name: `w-${i}` })),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 422, 422, 422, 422]);
  });

  it('shares modules with chosen organizations, which see the producer', async () => {
    const path = 'admin/organizations/producer/relationships/module-consumers';
    await admin.patch('admin/organizations/producer', resource('organizations', { 'global-module-sharing': true }));
    await admin.patch(path, { data: [ref('organizations', 'consumer').data] }).expect(204);
    const { body } = await admin.get(path).expect(200);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(['consumer']);
    const { body: shown } = await admin.get('admin/organizations/producer').expect(200);
    expect(shown.data.attributes['global-module-sharing']).toBe(false);
    const producers = await admin.get('organizations/consumer/relationships/module-producers').expect(200);
    expect(producers.body.data).toEqual([
      {
        id: 'producer',
        type: 'organizations',
        attributes: { name: 'producer', 'external-id': expect.stringMatching(/^org-/) },
        links: { self: '/api/v2/organizations/producer' },
      },
    ]);
    expect(producers.body.meta.pagination['page-size']).toBe(20);
    await admin.patch(path, { data: [ref('organizations', 'unknown').data] }).expect(404);
  });

  it('suspends people, makes them administrators, and keeps the last administrator', async () => {
    const person = await workspaces.person('changeable');
    const act = (verb: string, id = person.id) => admin.post(`admin/users/${id}/actions/${verb}`);
    expect((await act('suspend').expect(200)).body.data.attributes['is-suspended']).toBe(true);
    await person.get('account/details').expect(401);
    await act('unsuspend').expect(200);
    await person.get('account/details').expect(200);
    expect((await act('grant_admin').expect(200)).body.data.attributes['is-admin']).toBe(true);
    await person.get('admin/users').expect(200);
    await act('revoke_admin').expect(200);
    await person.get('admin/users').expect(404);
    const { body: me } = await admin.get('account/details').expect(200);
    for (const verb of ['suspend', 'revoke_admin']) {
      await act(verb, me.data.id).expect(403);
    }
    await admin.delete(`admin/users/${me.data.id}`).expect(403);
    await admin.delete(`admin/users/${person.id}`).expect(204);
    await person.get('account/details').expect(401);
  });

  it('keeps an administrator when the last two revoke each other at once', async () => {
    const { body: me } = await admin.get('account/details').expect(200);
    const { pool } = workspaces.service;
    for (let round = 0; round < 10; round++) {
      const other = await workspaces.person(`peer-${round}`);
      await admin.post(`admin/users/${other.id}/actions/grant_admin`).expect(200);
      await Promise.all([
        admin.post(`admin/users/${other.id}/actions/revoke_admin`),
        other.post(`admin/users/${me.data.id}/actions/revoke_admin`),
      ]);
      const { rows } = await pool.query('SELECT id FROM user_account WHERE site_admin');
      await pool.query('UPDATE user_account SET site_admin = (id = $1)', [me.data.id]);
      expect(rows).toHaveLength(1);
    }
  });

  it('finds people by part of a name or address, by role and by suspension', async () => {
    const { body } = await admin.get('admin/users?q=ORDIN').expect(200);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([user.id]);
    const admins = await admin.get('admin/users?filter[admin]=true').expect(200);
    expect(admins.body.data.every((one: { attributes: object }) => 'is-admin' in one.attributes)).toBe(true);
    expect((await admin.get('admin/users?filter[suspended]=true').expect(200)).body.data).toEqual([]);
  });

  it('offers its own tool versions, under both names, and keeps those in use', async () => {
    const body = resource('infra-versions', { version: '1.77.0', url: 'https://example.com/t.zip', sha: 'ab' });
    const { body: made } = await admin.post('admin/infra-versions', body).expect(201);
    expect(made.data).toMatchObject({ type: 'infra-versions', attributes: { version: '1.77.0', enabled: true } });
    const first = { url: 'https://example.com/t.zip', sha: 'ab', os: 'linux', arch: 'amd64' };
    expect(made.data.attributes).toMatchObject({ 'deprecated-reason': null, archs: [first] });
    const change = async (attributes: object) =>
      (await admin.patch(`admin/infra-versions/${made.data.id}`, resource('infra-versions', attributes)).expect(200))
        .body.data.attributes;
    expect(await change({ sha: 'cd', 'deprecated-reason': '' })).toMatchObject({
      sha: 'cd',
      'deprecated-reason': null,
      archs: [{ ...first, sha: 'cd' }],
    });
    const arm = { ...first, arch: 'arm64', sha: 'ef' };
    expect(await change({ archs: [arm, { ...first, url: 'https://example.com/u.zip' }] })).toMatchObject({
      url: 'https://example.com/u.zip',
      sha: 'ab',
    });
    expect((await change({ sha: '12' })).archs).toEqual([{ ...first, url: 'https://example.com/u.zip', sha: '12' }]);
    const shipped = (await admin.get('admin/infra-versions?filter[version]=1.11.4').expect(200)).body.data;
    const url = expect.stringMatching(/\/1\.11\.4\/.*_linux_amd64\.zip$/);
    const archs = [{ url, sha: null, os: 'linux', arch: 'amd64' }];
    expect(shipped).toMatchObject([{ attributes: { url, archs } }]);
    const other = await admin.get(`admin/terraform-versions/${made.data.id}`).expect(200);
    expect(other.body.data.type).toBe('terraform-versions');
    const workspace = await workspaces.workspace('producer', 'modern');
    const { body: shown } = await admin.get(`workspaces/${workspace.id}`).expect(200);
    expect(shown.data.attributes['infra-version']).toBe('1.77.0');
    await admin.post('admin/infra-versions', body).expect(422);
    await admin.delete(`admin/infra-versions/${made.data.id}`).expect(422);
    await admin.delete(`workspaces/${workspace.id}`).expect(204);
    await admin.delete(`admin/infra-versions/${made.data.id}`).expect(204);
    await admin.get(`admin/infra-versions/${made.data.id}`).expect(404);
  });

  it.each(['opa', 'sentinel'])(
    'lists versions of %s separately, and policy sets cannot choose a disabled one',
    async (kind) => {
      const path = `admin/${kind}-versions`;
      const type = `${kind}-versions`;
      const attributes = { version: '1.77.3', url: 'https://example.com/t.zip', sha: 'ab' };
      const { body } = await admin.post(path, resource(type, attributes)).expect(201);
      expect(body.data).toMatchObject({
        type,
        attributes: { ...attributes, enabled: true, official: false, usage: 0 },
      });
      const listed = async (query: string, at = path) =>
        (await admin.get(`${at}?${query}`).expect(200)).body.data.map((one: { id: string }) => one.id);
      expect(await listed('filter[version]=1.77.3')).toEqual([body.data.id]);
      expect(await listed('search[version]=77.3', 'admin/infra-versions')).toEqual([]);
      await admin.get(`admin/infra-versions/${body.data.id}`).expect(404);
      await admin.post(path, resource(type, attributes)).expect(422);
      await user.get(path).expect(404);
      await user.post(path, resource(type, attributes)).expect(404);
      const set = (name: string) =>
        admin.post('organizations/producer/policy-sets', resource('policy-sets', { ...chosen, name, kind }));
      const chosen = { 'policy-tool-version': '1.77.3', 'agent-enabled': true };
      const made = (await set(`${kind}-first`).expect(201)).body.data.id;
      expect((await admin.get(`${path}/${body.data.id}`).expect(200)).body.data.attributes.usage).toBe(1);
      await admin.patch(`${path}/${body.data.id}`, resource(type, { enabled: false })).expect(200);
      const { body: refused } = await set(`${kind}-second`).expect(422);
      expect(refused.errors[0].source.pointer).toBe('/data/attributes/policy-tool-version');
      const change = (given: object) => admin.patch(`policy-sets/${made}`, resource('policy-sets', given));
      // Policy sets that use the disabled version keep it; it cannot be chosen again.
      await change({ ...chosen, description: 'x' }).expect(200);
      await change({ 'policy-tool-version': 'latest' }).expect(200);
      await change(chosen).expect(422);
      await admin.delete(`${path}/${body.data.id}`).expect(204);
      await change(chosen).expect(200);
    },
  );

  it('shows that no text messages are sent, and accepts no other setting', async () => {
    const path = 'admin/twilio-settings';
    const off = { enabled: false, 'account-sid': '', 'from-number': '' };
    expect((await admin.get(path).expect(200)).body.data).toMatchObject({ id: 'twilio', attributes: off });
    await admin.patch(path, resource('twilio-settings', { enabled: false })).expect(200);
    for (const wrong of [{ enabled: true }, { 'account-sid': 'x' }, { 'auth-token': 'x' }, { 'from-number': '+1' }]) {
      await admin.patch(path, resource('twilio-settings', wrong)).expect(422);
    }
    await admin.post(`${path}/verify`, resource('twilio-settings', { 'test-number': '+1' })).expect(422);
    await user.get(path).expect(404);
  });

  it('deletes any workspace', async () => {
    const { id } = await workspaces.workspace('producer', 'doomed');
    const { body } = await admin.get('admin/workspaces?q=doomed&include=organization').expect(200);
    expect(body.data).toHaveLength(1);
    expect(body.included[0]).toMatchObject({ type: 'organizations', id: 'producer' });
    await admin.delete(`admin/workspaces/${id}`).expect(204);
    await admin.get(`workspaces/${id}`).expect(404);
  });

  it('lets a setting decide who may create organizations', async () => {
    const settings = (value: boolean) =>
      admin.patch(
        'admin/general-settings',
        resource('general-settings', { 'limit-user-organization-creation': value }),
      );
    const { body } = await settings(true).expect(200);
    expect(body.data).toMatchObject({ id: 'general', attributes: { 'limit-user-organization-creation': true } });
    const wish = resource('organizations', { name: 'wish', email: 'w@example.com' });
    await user.post('organizations', wish).expect(404);
    await settings(false).expect(200);
    await user.post('organizations', wish).expect(201);
  });

  it('limits the organizations of a person who creates many at once', async () => {
    const change = (attributes: object) =>
      admin.patch('admin/general-settings', resource('general-settings', attributes)).expect(200);
    await change({ 'limit-organizations-per-user': true, 'default-organizations-per-user-ceiling': 1 });
    const person = await workspaces.person('collector');
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        person.post('organizations', resource('organizations', { name: `many-${at}`, email: 'a@example.com' })),
      ),
    );
    await change({ 'limit-organizations-per-user': false });
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  });

  it('limits requests to the configured number while the limit is on', async () => {
    const change = (attributes: object) =>
      admin.patch('admin/general-settings', resource('general-settings', attributes)).expect(200);
    const limit = async () => (await user.get('account/details').expect(200)).headers['x-ratelimit-limit'];
    const before = (await admin.get('admin/general-settings').expect(200)).body.data.attributes;
    const kept = {
      'api-rate-limit': before['api-rate-limit'],
      'api-rate-limiting-enabled': before['api-rate-limiting-enabled'],
    };
    await change({ 'api-rate-limiting-enabled': true, 'api-rate-limit': 73 });
    expect(await limit()).toBe('73');
    const { body } = await change({ 'api-rate-limiting-enabled': false });
    expect(body.data.attributes).toMatchObject({ 'api-rate-limiting-enabled': false, 'api-rate-limit': 73 });
    expect(await limit()).not.toBe('73');
    await change(kept);
  });

  it.each([
    ['a string for a switch', { 'limit-user-organization-creation': 'yes' }],
    ['a negative rate', { 'api-rate-limit': -1 }],
    ['a broken number', { 'default-workspaces-per-organization-ceiling': 1.5 }],
  ])('refuses %s in the settings', async (_what, attributes) => {
    await admin.patch('admin/general-settings', resource('general-settings', attributes)).expect(422);
  });

  it.each(['', 'terraform-build-worker-', 'build-worker-'])(
    'limits how long runs take under the names that begin with "%s", here and for one organization',
    async (prefix) => {
      const named = (plan: string | null, apply: string | null) => ({
        [`${prefix}plan-timeout`]: plan,
        [`${prefix}apply-timeout`]: apply,
      });
      const all = (plan: string | null, apply: string | null) => ({
        'plan-timeout': plan,
        'build-worker-plan-timeout': plan,
        'terraform-build-worker-plan-timeout': plan,
        'apply-timeout': apply,
        'build-worker-apply-timeout': apply,
        'terraform-build-worker-apply-timeout': apply,
      });
      const site = (attributes: object) =>
        admin.patch('admin/general-settings', resource('general-settings', attributes));
      const theirs = (attributes: object) =>
        admin.patch('admin/organizations/theirs', resource('organizations', attributes));
      const { body: changed } = await site(named('30m', '2h')).expect(200);
      expect(changed.data.attributes).toMatchObject(all('30m', '2h'));
      const { body: one } = await theirs(named('45s', null)).expect(200);
      expect(one.data.attributes).toMatchObject(all('45s', null));
      const { body: back } = await site(named('2h', '24h')).expect(200);
      expect(back.data.attributes).toMatchObject(all('2h', '24h'));
      await theirs(named(null, null)).expect(200);
      for (const text of ['0s', '21d', '9999d', '1h30m', 'soon', '', '-1h']) {
        const { body: refused } = await site(named(text, '24h')).expect(422);
        expect(refused.errors[0].source.pointer).toBe(`/data/attributes/${prefix}plan-timeout`);
        await theirs(named(text, '24h')).expect(422);
      }
      if (prefix !== '') await site({ ...named('1h', '24h'), 'plan-timeout': '2h' }).expect(422);
    },
  );

  it('hides cost estimation of all organizations when the installation does not offer it', async () => {
    await workspaces.organization('thrifty', { 'cost-estimation-enabled': true });
    const enabled = async () =>
      (await admin.get('organizations/thrifty').expect(200)).body.data.attributes['cost-estimation-enabled'];
    expect(await enabled()).toBe(true);
    await admin.patch('admin/cost-estimation-settings', resource('cost-estimation-settings', { enabled: false }));
    expect(await enabled()).toBe(false);
    const { body } = await admin.get('organizations/thrifty/entitlement-set').expect(200);
    expect(body.data.attributes['cost-estimation']).toBe(false);
  });
});

describe('subscriptions of the hosted edition', () => {
  const workspaces = startWorkspaces({
    env: { WORKSPACES_EDITION: 'hosted', WORKSPACES_DEFAULT_FEATURE_SET: 'free' },
  });
  const { admin } = workspaces;

  it('follow the plan an administrator puts an organization on', async () => {
    const person = await workspaces.person('customer');
    await workspaces.organization('paying', {}, person);
    const entitlements = async () =>
      (await person.get('organizations/paying/entitlement-set').expect(200)).body.data.attributes;
    expect(await entitlements()).toMatchObject({ teams: false, agents: false, 'user-limit': 5, 'policy-limit': 5 });
    const { body: before } = await person.get('organizations/paying').expect(200);
    expect(before.data.attributes).toMatchObject({ 'plan-identifier': 'free', 'plan-is-trial': false });
    expect(before.data.attributes.permissions['can-create-team']).toBe(false);
    const { body: sets } = await admin.get('admin/feature-sets?q=Business').expect(200);
    const change = resource(
      'subscription',
      { 'runs-ceiling': 10, 'contract-user-limit': 1000, 'contract-start-at': '2026-01-01T00:00:00Z' },
      { 'feature-set': ref('feature-sets', sets.data[0].id) },
    );
    await person.post('admin/organizations/paying/subscription', change).expect(404);
    await admin.post('admin/organizations/paying/subscription', change).expect(201);
    expect(await entitlements()).toMatchObject({ teams: true, agents: true, sso: true, 'user-limit': null });
    const { body: plan } = await person.get('organizations/paying/subscription').expect(200);
    const assessed = async () =>
      (await person.get(`workspaces/${workspace.id}`).expect(200)).body.data.attributes['assessments-enabled'];
    const workspace = (
      await person
        .post('organizations/paying/workspaces', resource('workspaces', { name: 'w', 'assessments-enabled': true }))
        .expect(201)
    ).body.data;
    expect(await assessed()).toBe(true);
    const free = resource('subscription', {}, { 'feature-set': ref('feature-sets', 'fs-keysteadFree0001') });
    await admin.post('admin/organizations/paying/subscription', free).expect(201);
    expect(await assessed()).toBe(false);
    await admin.post('admin/organizations/paying/subscription', change).expect(201);
    expect(plan.data).toMatchObject({
      type: 'subscriptions',
      attributes: { 'runs-ceiling': 10, 'contract-user-limit': 1000, 'is-public-free-tier': false },
      relationships: { 'feature-set': ref('feature-sets', sets.data[0].id) },
    });
    await person.get(`subscriptions/${plan.data.id}`).expect(200);
    const { body: offered } = await person.get('organizations/paying/feature-sets').expect(200);
    const current = offered.data.filter((set: { attributes: Record<string, unknown> }) => set.attributes['is-current']);
    expect(current).toHaveLength(1);
  });

  it('refuse an unknown plan, and have no site administration', async () => {
    await workspaces.organization('other');
    const change = resource('subscription', {}, { 'feature-set': ref('feature-sets', 'fs-unknown') });
    const { body } = await admin.post('admin/organizations/other/subscription', change).expect(422);
    expect(body.errors[0].source).toEqual({ pointer: '/data/relationships/feature-set' });
    await admin.get('admin/organizations').expect(404);
    await admin.get('admin/general-settings').expect(404);
  });
});
