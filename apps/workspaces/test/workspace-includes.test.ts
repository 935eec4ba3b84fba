import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { resource, startWorkspaces } from './start-workspaces';

const state = Buffer.from(
  JSON.stringify({
    version: 4,
    serial: 1,
    lineage: 'l',
    outputs: { name: { value: 'web', type: 'string' } },
    resources: [],
  }),
);

/**
 * The relationships that can be included with a workspace, and the resulting types; none if there is nothing to show.
 */
const includes: [include: string, type: string | undefined][] = [
  ['organization', 'organizations'],
  ['project', 'projects'],
  ['locked_by', 'users'],
  ['agent_pool', 'agent-pools'],
  ['vars', 'vars'],
  ['effective_tag_bindings', 'effective-tag-bindings'],
  ['current_state_version', 'state-versions'],
  ['current_state_version.outputs', 'state-version-outputs'],
  ['outputs', 'workspace-outputs'],
  ['readme', undefined],
  ['current_run', undefined],
  ['current_run.plan', undefined],
  ['current_run.configuration_version', undefined],
  ['current_run.configuration_version.ingress_attributes', undefined],
  ['current_configuration_version', undefined],
  ['current_configuration_version.ingress_attributes', undefined],
  ['latest_run', undefined],
];

describe('an answer about a workspace', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let id = '';
  beforeAll(async () => {
    await workspaces.organization('acme');
    const { body: pool } = await admin
      .post('organizations/acme/agent-pools', resource('agent-pools', { name: 'pool' }))
      .expect(201);
    const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.data.id };
    id = (await workspaces.workspace('acme', 'app', attributes)).id;
    await workspaces.workspace('acme', 'bare');
    await admin
      .post(`workspaces/${id}/vars`, resource('vars', { key: 'size', value: 'big', category: 'env' }))
      .expect(201);
    await admin
      .patch(`workspaces/${id}/tag-bindings`, {
        data: [{ type: 'tag-bindings', attributes: { key: 'team', value: 'web' } }],
      })
      .expect(200);
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    const md5 = createHash('md5').update(state).digest('hex');
    await admin
      .post(
        `workspaces/${id}/state-versions`,
        resource('state-versions', { serial: 1, md5, state: state.toString('base64') }),
      )
      .expect(201);
  });

  it.each(includes)('includes %s if requested: shown, and in the list', async (include, type) => {
    const shown = await admin.get(`workspaces/${id}?include=${include}`).expect(200);
    const listed = await admin.get(`organizations/acme/workspaces?include=${include}`).expect(200);
    const types = (body: { included: { type: string }[] }) => [...new Set(body.included.map((one) => one.type))];
    if (type === undefined) {
      expect([types(shown.body), types(listed.body)]).toEqual([[], []]);
    } else {
      expect(types(shown.body)).toContain(type);
      expect(types(listed.body)).toContain(type);
    }
    expect(listed.body.data).toHaveLength(2);
  });

  it('names each key-value tag if it is included, and only then', async () => {
    const link = { related: `/api/v2/workspaces/${id}/effective-tag-bindings` };
    const plain = await admin.get(`workspaces/${id}`).expect(200);
    expect(plain.body.data.relationships['effective-tag-bindings']).toEqual({ links: link });
    const { body } = await admin.get(`workspaces/${id}?include=effective_tag_bindings`).expect(200);
    const { type, id: bindingId, attributes } = body.included[0];
    expect(attributes).toMatchObject({ key: 'team', value: 'web' });
    expect(body.data.relationships['effective-tag-bindings']).toEqual({ links: link, data: [{ id: bindingId, type }] });
  });

  it('includes everything at once, each resource once', async () => {
    const all = includes.map(([include]) => include).join(',');
    const { body } = await admin.get(`organizations/acme/workspaces?include=${all}`).expect(200);
    const names = body.included.map((one: { type: string; id: string }) => `${one.type} ${one.id}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each([
    ['name', ['app', 'bare']],
    ['-name', ['bare', 'app']],
    ['latest-change-at', ['bare', 'app']],
    ['-latest-change-at', ['app', 'bare']],
    ['current-run.created-at,-name', ['bare', 'app']],
    ['-current-run.created-at,name', ['app', 'bare']],
  ])('changes only its order with sort %s', async (sort, expected) => {
    const { body } = await admin.get(`organizations/acme/workspaces?sort=${sort}`).expect(200);
    expect(body.data.map((one: { attributes: { name: string } }) => one.attributes.name)).toEqual(expected);
  });

  it.each(['include=owner', 'include=vars,nothing', 'sort=colour', 'sort=name,name,name,name'])(
    'is a refusal that names the parameter for %s',
    async (query) => {
      const { body } = await admin.get(`organizations/acme/workspaces?${query}`).expect(400);
      expect(body.errors[0].source).toEqual({ parameter: query.split('=')[0] });
    },
  );
});
