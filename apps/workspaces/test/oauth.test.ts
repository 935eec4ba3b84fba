import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { project } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

describe('VCS connections', () => {
  const workspaces = startWorkspaces();
  const collection = 'organizations/acme/oauth-clients';
  const attributes = {
    name: 'code',
    'service-provider': 'github',
    'http-url': 'https://code.test',
    'api-url': 'https://api.code.test',
    'oauth-token-string': 'canary-token',
  };
  const create = (given: object, relationships?: object) =>
    workspaces.admin.post(collection, resource('oauth-clients', given, relationships));

  it('are created with a token, and show neither token nor secret', async () => {
    await workspaces.organization('acme');
    const { body } = await create({ ...attributes, key: 'k', secret: 'canary-secret' }).expect(201);
    expect(body.data).toMatchObject({
      type: 'oauth-clients',
      id: expect.stringMatching(/^oc-/),
      attributes: {
        name: 'code',
        'service-provider': 'github',
        'service-provider-display-name': 'GitHub',
        'organization-scoped': true,
        secret: null,
        'callback-url': expect.stringMatching(/^https:\/\/workspaces\.test\//),
      },
      relationships: { 'oauth-tokens': { data: [{ type: 'oauth-tokens', id: expect.stringMatching(/^ot-/) }] } },
    });
    expect(JSON.stringify(body)).not.toContain('canary');
    const [token] = body.data.relationships['oauth-tokens'].data;
    const shown = await workspaces.admin.get(`oauth-tokens/${token.id}`).expect(200);
    expect(shown.body.data).toMatchObject({
      attributes: { 'has-ssh-key': false, 'service-provider-user': null },
      relationships: { 'oauth-client': { data: { id: body.data.id } } },
    });
    const listed = await workspaces.admin.get(`${collection}?include=oauth_tokens`).expect(200);
    expect(listed.body.data).toEqual([body.data]);
    expect(listed.body.included).toEqual([shown.body.data]);
    const stored = await withClient(workspaces.databaseUrl, async (client) => {
      const { rows } = await client.query(
        'SELECT row_to_json(c)::text AS text FROM oauth_client c UNION ALL SELECT row_to_json(t)::text FROM oauth_token t',
      );
      return rows.map((row) => row.text).join('\n');
    });
    for (const canary of ['canary-token', 'canary-secret']) {
      expect(stored).not.toContain(canary);
      expect(stored).not.toContain(Buffer.from(canary).toString('hex'));
    }
  });

  it('get an SSH key with a token, and refuse text that is not a key (WP.23)', async () => {
    const listed = await workspaces.admin.get('organizations/acme/oauth-tokens').expect(200);
    const path = `oauth-tokens/${listed.body.data[0].id}`;
    const value = String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const set = await workspaces.admin.patch(path, resource('oauth-tokens', { 'ssh-key': value })).expect(200);
    expect(set.body.data.attributes['has-ssh-key']).toBe(true);
    const bad = await workspaces.admin.patch(path, resource('oauth-tokens', { 'ssh-key': 'no key' })).expect(422);
    expect(bad.body.errors[0].detail).toBe('Ssh key is invalid');
    const unset = await workspaces.admin.patch(path, resource('oauth-tokens', { 'ssh-key': null })).expect(200);
    expect(unset.body.data.attributes['has-ssh-key']).toBe(false);
  });

  it.each([
    ['no provider', { 'service-provider': undefined }, '/data/attributes/service-provider'],
    ['an unknown provider', { 'service-provider': 'sourceforge' }, '/data/attributes/service-provider'],
    ['no token', { 'oauth-token-string': undefined }, '/data/attributes/oauth-token-string'],
    ['an invalid URL', { 'http-url': 'code' }, '/data/attributes/http-url'],
    ['a file URL', { 'api-url': 'file:///etc/passwd' }, '/data/attributes/api-url'],
    ['a private key for another provider', { 'private-key': 'x' }, '/data/attributes/private-key'],
  ])('are refused with %s', async (_what, change, pointer) => {
    const { body } = await create({ ...attributes, ...change }).expect(422);
    expect(body.errors[0].source.pointer).toBe(pointer);
  });

  it('can be limited to some projects of the organization (WV.5)', async () => {
    const id = await project(workspaces, 'acme', 'the project');
    await workspaces.organization('elsewhere');
    const foreign = await project(workspaces, 'elsewhere', 'foreign');
    const limited = { ...attributes, 'organization-scoped': false };
    const { body } = await create(limited, { projects: { data: [{ type: 'projects', id }] } }).expect(201);
    expect(body.data.relationships.projects.data).toEqual([{ type: 'projects', id }]);
    const path = `oauth-clients/${body.data.id}/relationships/projects`;
    await workspaces.admin.delete(path, { data: [{ type: 'projects', id }] }).expect(204);
    await workspaces.admin.post(path, { data: [{ type: 'projects', id: foreign }] }).expect(404);
    await workspaces.admin.post(path, { data: [{ type: 'projects', id }] }).expect(204);
    const shown = await workspaces.admin.get(`oauth-clients/${body.data.id}`).expect(200);
    expect(shown.body.data).toMatchObject({
      attributes: { 'organization-scoped': false },
      relationships: { projects: { data: [{ type: 'projects', id }] } },
    });
    await create(limited, { projects: { data: [ref('projects', foreign).data] } }).expect(422);
  });

  it('of some projects are closed to workspaces of other projects, whether new, changed or moved (WV.5)', async () => {
    const id = await project(workspaces, 'acme', 'of the connection');
    const limited = { ...attributes, 'organization-scoped': false };
    const { body } = await create(limited, { projects: { data: [{ type: 'projects', id }] } }).expect(201);
    const [token] = body.data.relationships['oauth-tokens'].data;
    const vcs = { 'vcs-repo': { identifier: 'org/repo', 'oauth-token-id': token.id } };
    const post = (name: string, attributes: object, projectId?: string) =>
      workspaces.admin.post(
        'organizations/acme/workspaces',
        resource(
          'workspaces',
          { name, ...attributes },
          projectId === undefined ? {} : { project: ref('projects', projectId) },
        ),
      );
    const refused = await post('outside', vcs).expect(422);
    expect(refused.body.errors[0].source.pointer).toBe('/data/attributes/vcs-repo/oauth-token-id');
    const outside = await post('outside', {}).expect(201);
    await workspaces.admin.patch(`workspaces/${outside.body.data.id}`, resource('workspaces', vcs)).expect(422);
    const inside = await post('inside', vcs, id).expect(201);
    const other = await project(workspaces, 'acme', 'another');
    const toOther = { project: ref('projects', other) };
    const at = `workspaces/${inside.body.data.id}`;
    await workspaces.admin.patch(at, resource('workspaces', {}, toOther)).expect(422);
    const moved = { data: [{ type: 'workspaces', id: inside.body.data.id }] };
    await workspaces.admin.post(`projects/${other}/relationships/workspaces`, moved).expect(422);
    await workspaces.admin.patch(at, resource('workspaces', { 'vcs-repo': null }, toOther)).expect(200);
  });

  it('lose their tokens and the links of workspaces when they are removed', async () => {
    const { body } = await create(attributes).expect(201);
    const [token] = body.data.relationships['oauth-tokens'].data;
    const linked = resource('workspaces', {
      name: 'linked',
      'vcs-repo': { identifier: 'org/repo', 'oauth-token-id': token.id },
    });
    const workspace = await workspaces.admin.post('organizations/acme/workspaces', linked).expect(201);
    await workspaces.admin.delete(`oauth-clients/${body.data.id}`).expect(204);
    await workspaces.admin.get(`oauth-tokens/${token.id}`).expect(404);
    await workspaces.admin.get(`workspaces/${workspace.body.data.id}`).expect(200);
  });
});

describe('tokens of agents', () => {
  const workspaces = startWorkspaces();

  it('belong to a pool, need a description, and are not accepted by the API', async () => {
    await workspaces.organization('acme');
    const pool = await workspaces.admin
      .post('organizations/acme/agent-pools', resource('agent-pools', { name: 'pool' }))
      .expect(201);
    const path = `agent-pools/${pool.body.data.id}/authentication-tokens`;
    await workspaces.admin.post(path, resource('authentication-tokens')).expect(422);
    const made = await workspaces.admin.post(path, resource('agent-tokens', { description: 'host 1' })).expect(201);
    await workspaces.as(made.body.data.attributes.token).get('account/details').expect(401);
    const listed = await workspaces.admin.get(path).expect(200);
    // The reason of a failed attempt is useful here.
    const attributes = { ...made.body.data.attributes, token: null, 'last-used-at': expect.any(String) };
    expect(listed.body.data).toEqual([{ ...made.body.data, attributes }]);
    await workspaces.admin.delete(`authentication-tokens/${made.body.data.id}`).expect(204);
    expect((await workspaces.admin.get(path).expect(200)).body.data).toEqual([]);
  });
});
