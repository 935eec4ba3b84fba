import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { resource, startWorkspaces } from './start-workspaces';

type Shown = { id: string; type: string; attributes: object; relationships?: object };

describe('fields that a read selects', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let id = '';
  beforeAll(async () => {
    await workspaces.organization('acme');
    id = (await workspaces.workspace('acme', 'app')).id;
    await workspaces.workspace('acme', 'other');
    const variable = resource('vars', { key: 'size', value: 'big', category: 'env' });
    await admin.post(`workspaces/${id}/vars`, variable).expect(201);
  });
  const namesOf = ({ attributes, relationships = {} }: Shown) => [
    ...Object.keys(attributes),
    ...Object.keys(relationships),
  ];

  it.each(['fields[workspaces]=name,project,resource-count', 'fields[workspace]=name,project,resource_count'])(
    'are the only fields shown of their type: %s',
    async (fields) => {
      const wanted = ['name', 'project', 'resource-count'];
      // The whole resource is cached before and after: neither answer uses the text of the other.
      const whole = (await admin.get(`workspaces/${id}`).expect(200)).body.data;
      const { body, headers } = await admin.get(`workspaces/${id}?${fields}`).expect(200);
      expect(namesOf(body.data).sort()).toEqual(wanted);
      expect(body.data).toMatchObject({ id, type: 'workspaces', links: whole.links, attributes: { name: 'app' } });
      expect(headers.etag).toEqual(expect.any(String));
      expect((await admin.get(`workspaces/${id}`).expect(200)).body.data).toEqual(whole);
      const listed = await admin.get(`organizations/acme/workspaces?${fields}&page[size]=1`).expect(200);
      expect(namesOf(listed.body.data[0]).sort()).toEqual(wanted);
      expect(listed.body.meta.pagination['total-count']).toBe(2);
      expect(
        (await admin.get(listed.body.links.next.replace(/^.*\/api\/v2\//, '')).expect(200)).body.data
          .map(namesOf)[0]
          .sort(),
      ).toEqual(wanted);
    },
  );

  it('may be selected by a parameter each, and are left out if the name is unknown', async () => {
    const url = 'organizations/acme/workspaces?sort=name&fields[workspace][]=name';
    const { body } = await admin.get(`${url}&fields[workspace][]=locked&fields[workspace][]=nothing`).expect(200);
    expect(body.data.map(namesOf).map((names: string[]) => names.sort())).toEqual([
      ['locked', 'name'],
      ['locked', 'name'],
    ]);
    expect(namesOf((await admin.get(`workspaces/${id}?fields[workspaces]=`).expect(200)).body.data)).toEqual([]);
  });

  it('are chosen by type, also for included resources', async () => {
    const url = `workspaces/${id}?include=organization,vars&fields[workspaces]=name&fields[vars]=key`;
    const { body } = await admin.get(url).expect(200);
    expect(namesOf(body.data)).toEqual(['name']);
    const included = Object.fromEntries(body.included.map((one: Shown) => [one.type, namesOf(one)]));
    expect(included.vars).toEqual(['key']);
    expect(included.organizations).toContain('email');
  });

  it('are accepted by every read of resources, and refused by name for other types and by all changes', async () => {
    const operations = resources
      .flatMap(({ endpoints }) => endpoints)
      .filter(({ outside, edition, tokens }) => !outside && edition !== 'hosted' && tokens.includes('user'));
    const wrong: string[] = [];
    const ask = async ({ method, path }: Endpoint, name: string) => {
      const there = path.replace(':organization_name', 'acme').replace(/:\w+/g, 'x');
      const word = method.toLowerCase() as 'get' | 'post' | 'patch' | 'put' | 'delete';
      const { status, body } = await admin[word](`${there}?${name}=x`);
      return status === 400 && body.errors[0].source?.parameter === name;
    };
    for (const endpoint of operations) {
      const { method, path, serializer, query } = endpoint;
      const own = `fields[${serializer?.type || 'workspaces'}]`;
      const takes = own in query || (method === 'GET' && serializer !== undefined && serializer.type !== '');
      if ((await ask(endpoint, own)) === takes) wrong.push(`${method} ${path}?${own}`);
    }
    expect(operations.length).toBeGreaterThan(300);
    expect(wrong).toEqual([]);
    await admin.get('organizations/acme/workspaces?fields[worksapces]=name').expect(400);
  });
});
