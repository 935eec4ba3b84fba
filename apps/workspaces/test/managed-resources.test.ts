import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { resource, startWorkspaces } from './start-workspaces';

const managed = (type: string, name: string, provider: string, instances = 1, module?: string) => ({
  mode: 'managed',
  type,
  name,
  provider,
  module,
  instances: Array.from({ length: instances }, (_, i) => ({ index_key: i, attributes: { id: `id-${i}` } })),
});

const state = Buffer.from(
  JSON.stringify({
    version: 4,
    terraform_version: '1.11.4',
    serial: 1,
    lineage: 'l',
    outputs: {},
    resources: [
      managed('null_resource', 'b', 'provider["registry.example/acme/null"]', 3),
      managed('null_resource', 'a', 'provider.null', 1, 'module.network'),
      { ...managed('http', 'seen', 'provider["registry.example/acme/http"]'), mode: 'data' },
    ],
  }),
);

describe('resources of a workspace', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let id = '';
  beforeAll(async () => {
    await workspaces.organization('acme');
    id = (await workspaces.workspace('acme', 'app')).id;
  });

  it('are none before there is a state', async () => {
    const { body } = await admin.get(`workspaces/${id}/resources`).expect(200);
    expect(body.data).toEqual([]);
    expect(body.meta.pagination['total-count']).toBe(0);
  });

  it('are those the current state manages, by address, page by page', async () => {
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    const attributes = {
      serial: 1,
      md5: createHash('md5').update(state).digest('hex'),
      state: state.toString('base64'),
    };
    const { body: made } = await admin
      .post(`workspaces/${id}/state-versions`, resource('state-versions', attributes))
      .expect(201);
    const { body } = await admin.get(`workspaces/${id}/resources`).expect(200);
    expect(body.data.map((item: { attributes: object }) => item.attributes)).toEqual([
      expect.objectContaining({
        address: 'module.network.null_resource.a',
        name: 'a',
        module: 'module.network',
        provider: 'null',
        'provider-type': 'null_resource',
        instances: 1,
        'modified-by-state-version-id': made.data.id,
        'name-index': null,
      }),
      expect.objectContaining({
        address: 'null_resource.b',
        module: 'root',
        provider: 'acme/null',
        instances: 3,
      }),
    ]);
    const second = await admin.get(`workspaces/${id}/resources?page%5Bsize%5D=1&page%5Bnumber%5D=2`).expect(200);
    expect(second.body.data).toEqual([body.data[1]]);
    expect(second.body.meta.pagination['total-count']).toBe(2);
    const beyond = await admin.get(`workspaces/${id}/resources?page%5Bnumber%5D=9`).expect(200);
    expect(beyond.body).toMatchObject({ data: [], meta: { pagination: { 'total-count': 2 } } });
  });

  it('are not there for strangers', async () => {
    const stranger = await workspaces.person('stranger');
    const refused = await stranger.get(`workspaces/${id}/resources`).expect(404);
    const absent = await stranger.get('workspaces/ws-absent/resources').expect(404);
    expect(refused.body).toEqual(absent.body);
  });
});
