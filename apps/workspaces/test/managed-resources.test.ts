import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { resource, startWorkspaces } from './start-workspaces';

const managed = (type: string, name: string, provider: string, keys: unknown[] = [undefined], module?: string) => ({
  mode: 'managed',
  type,
  name,
  provider,
  module,
  instances: keys.map((index_key) => ({ index_key, attributes: { id: 'one', index_key: 'of the resource itself' } })),
});
const left = managed('null_resource', 'left', 'provider.null', [0]);

const state = Buffer.from(
  JSON.stringify({
    version: 4,
    terraform_version: '1.11.4',
    serial: 1,
    lineage: 'l',
    outputs: {},
    resources: [
      managed('null_resource', 'b', 'provider["registry.example/acme/null"]', [0, 2, 10]),
      managed('null_resource', 'a', 'provider.null', [undefined], 'module.network'),
      managed('null_resource', 'c', 'provider.null', ['x"%{y}'], 'module.n["a.module.b"].module.subnets[0]'),
      managed('null_resource', 'none', 'provider.null', []),
      { ...left, instances: [{ ...left.instances[0], deposed: '8f0c1f6a' }, ...left.instances] },
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

  it('are empty before there is a state', async () => {
    const { body } = await admin.get(`workspaces/${id}/resources`).expect(200);
    expect(body.data).toEqual([]);
    expect(body.meta.pagination['total-count']).toBe(0);
  });

  it('are the instances that the current state manages, by address and index, page by page', async () => {
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
    const attributesOf = ({ attributes }: { attributes: { address: string; module: string; 'name-index': string } }) =>
      attributes;
    const listed = body.data.map(attributesOf);
    expect(listed.map((one: ReturnType<typeof attributesOf>) => [one.address, one.module, one['name-index']])).toEqual([
      ['n["a.module.b"].subnets[0].null_resource.c["x\\"%%{y}"]', 'n["a.module.b"].subnets[0]', 'x"%{y}'],
      ['network.null_resource.a', 'network', null],
      ['null_resource.b[0]', 'root', '0'],
      ['null_resource.b[2]', 'root', '2'],
      ['null_resource.b[10]', 'root', '10'],
      ['null_resource.left[0]', 'root', '0'],
    ]);
    expect(listed[2]).toEqual({
      address: 'null_resource.b[0]',
      name: 'b',
      module: 'root',
      provider: 'acme/null',
      'provider-type': 'null_resource',
      'created-at': expect.any(String),
      'updated-at': expect.any(String),
      'modified-by-state-version-id': made.data.id,
      'name-index': '0',
    });
    expect(listed[1].provider).toBe('null');
    expect(new Set(body.data.map(({ id }: { id: string }) => id)).size).toBe(6);
    const second = await admin.get(`workspaces/${id}/resources?page%5Bsize%5D=1&page%5Bnumber%5D=2`).expect(200);
    expect(second.body.data).toEqual([body.data[1]]);
    expect(second.body.meta.pagination['total-count']).toBe(6);
    const beyond = await admin.get(`workspaces/${id}/resources?page%5Bnumber%5D=9`).expect(200);
    expect(beyond.body).toMatchObject({ data: [], meta: { pagination: { 'total-count': 6 } } });
  });

  it('are shown in the state version without indexes, one for each kind', async () => {
    const { body } = await admin.get(`workspaces/${id}/current-state-version`).expect(200);
    expect(body.data.attributes.resources[0]).toEqual({
      name: 'b',
      type: 'null_resource',
      count: 3,
      module: 'root',
      provider: 'provider["registry.example/acme/null"]',
    });
  });

  it('are invisible to strangers', async () => {
    const stranger = await workspaces.person('stranger');
    const refused = await stranger.get(`workspaces/${id}/resources`).expect(404);
    const absent = await stranger.get('workspaces/ws-absent/resources').expect(404);
    expect(refused.body).toEqual(absent.body);
  });

  it('are all listed and counted beyond ten thousand; if some are missing, the answer says how many', async () => {
    const { id: large } = await workspaces.workspace('acme', 'large');
    const many = Array.from({ length: 12_050 }, (_, index) => managed('null_resource', `n${index}`, 'provider.null'));
    const bytes = Buffer.from(JSON.stringify({ ...JSON.parse(state.toString()), resources: many }));
    const md5 = createHash('md5').update(bytes).digest('hex');
    await admin.post(`workspaces/${large}/actions/lock`, {}).expect(200);
    const body = resource('state-versions', { serial: 1, md5, state: bytes.toString('base64') });
    await admin.post(`workspaces/${large}/state-versions`, body).expect(201);
    const last = await admin.get(`workspaces/${large}/resources?page[size]=50&page[number]=241`).expect(200);
    expect(last.body.data).toHaveLength(50);
    expect(last.body.meta.pagination['total-count']).toBe(12_050);
    expect(last.body.meta).not.toHaveProperty('not-listed');
    await workspaces.service.pool.query('UPDATE workspace SET resource_count = 12051 WHERE id = $1', [large]);
    expect((await admin.get(`workspaces/${large}/resources`).expect(200)).body.meta['not-listed']).toBe(1);
  });
});
