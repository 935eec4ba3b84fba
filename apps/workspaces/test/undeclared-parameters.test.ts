import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { allRows } from './database-rows';
import { organizationToken } from './members';
import { resource, startWorkspaces } from './start-workspaces';

/** Parameters that clients of this API send somewhere, and unknown names. */
const names = [
  'token',
  'q',
  'name',
  'since',
  'force',
  'filter[names]',
  'filter[email]',
  'filter[status]',
  'filter[from]',
  'filter[to]',
  'filter[organization][name]',
  'filter[workspace][id]',
  'filter[project][id]',
  'filter[allowed_projects][name]',
  'filter[tagged][0][key]',
  'filter[tagged][x][key]',
  'search[name]',
  'search[exclude-tags]',
  'fields[nothing]',
  'constructor',
];

describe('query parameters that an operation does not declare', () => {
  const workspaces = startWorkspaces();
  const operations = resources
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ outside, edition, tokens }) => !outside && edition !== 'hosted' && tokens.includes('user'));
  const declares = ({ query }: Endpoint, name: string) =>
    Object.hasOwn(query, name) || Object.hasOwn(query, name.replace('[0]', '[i]'));
  beforeAll(() => workspaces.organization('acme'));

  it('are refused by name, by every operation, and nothing is done', async () => {
    const token = await organizationToken(workspaces, 'acme');
    const before = await allRows(workspaces.databaseUrl);
    const wrong: string[] = [];
    for (const [index, endpoint] of operations.entries()) {
      const { method, path } = endpoint;
      const there = path.replace(':organization_name', 'acme').replace(/:\w+/g, 'x');
      const word = method.toLowerCase() as 'get' | 'post' | 'patch' | 'put' | 'delete';
      const undeclared = names.filter((name) => !declares(endpoint, name));
      expect(undeclared.length).toBeGreaterThan(names.length / 2);
      // Each operation gets some of the parameters, and each parameter goes to many operations.
      for (const name of undeclared.filter((_, i) => (i + index) % 4 === 0)) {
        const answer = await workspaces.admin[word](`${there}?${encodeURIComponent(name)}=audit-trails`);
        const named = answer.body.errors?.[0]?.source?.parameter;
        // An invalid link is not found, with any parameters.
        if (answer.status !== 400 || named !== name) wrong.push(`${method} ${path}?${name}: ${answer.status}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(await allRows(workspaces.databaseUrl)).toEqual(before);
    await token.get('organizations/acme').expect(200);
  });

  it('are ignored if they mean nothing anywhere', async () => {
    for (const name of ['TagBindings', '_', 'utm_source', '__proto__']) {
      await workspaces.admin.get(`organizations/acme/workspaces?${name}=%7B%7D`).expect(200);
    }
  });

  it('that request an unsupported limit are refused with their position, like in documents', async () => {
    const { admin } = workspaces;
    const { id } = await workspaces.workspace('acme', 'web');
    const pointers = async (asked: ReturnType<typeof admin.post>) =>
      (await asked.expect(422)).body.errors.map((error: { source: { pointer: string } }) => error.source.pointer);
    const pools = 'organizations/acme/agent-pools';
    const users = { workspaces: { data: [{ type: 'workspaces', id }] } };
    const { body: pool } = await admin.post(pools, resource('agent-pools', { name: 'all' })).expect(201);
    const at = ['/data/relationships/workspaces'];
    expect(await pointers(admin.post(pools, resource('agent-pools', { name: 'more' }, users)))).toEqual(at);
    const change = (relationships: object) =>
      admin.patch(`agent-pools/${pool.data.id}`, resource('agent-pools', {}, relationships));
    expect(await pointers(change(users))).toEqual(at);
    await change({ workspaces: { data: [] } }).expect(200);
  });
});
