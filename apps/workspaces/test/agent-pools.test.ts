import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { configured, startRun } from './configurations';
import { member, project, team } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

describe('access to an agent pool', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const pools = 'organizations/acme/agent-pools';
  let counter = 0;
  let first = '';
  let second = '';
  const inFirst = () => makeWorkspace(first);

  beforeAll(() => workspaces.organization('acme'));
  beforeEach(async () => {
    counter++;
    first = await project(workspaces, 'acme', `First ${counter}`);
    second = await project(workspaces, 'acme', `Second ${counter}`);
  });

  let made = 0;
  const makeWorkspace = async (projectId: string, attributes: object = {}) => {
    const body = resource('workspaces', { name: `w${++made}`, ...attributes }, { project: ref('projects', projectId) });
    return (await admin.post('organizations/acme/workspaces', body).expect(201)).body.data as {
      id: string;
      attributes: { name: string };
    };
  };
  const many = (type: string, ...ids: string[]) => ({ data: ids.map((id) => ({ type, id })) });
  const makePool = async (attributes: object, relationships: object = {}) => {
    const body = resource('agent-pools', { name: `pool-${++made}`, ...attributes }, relationships);
    return (await admin.post(pools, body).expect(201)).body.data;
  };
  const use = (workspaceId: string, pool: string) =>
    admin.patch(
      `workspaces/${workspaceId}`,
      resource('workspaces', { 'execution-mode': 'agent', 'agent-pool-id': pool }),
    );
  const change = (pool: string, attributes: object, relationships: object = {}) =>
    admin.patch(`agent-pools/${pool}`, resource('agent-pools', attributes, relationships));

  it('is open to every workspace of the organization that is not excluded', async () => {
    const [one, other] = [await inFirst(), await inFirst()];
    const pool = await makePool({}, { 'excluded-workspaces': many('workspaces', other.id) });
    expect(pool.attributes['organization-scoped']).toBe(true);
    expect(pool.relationships['excluded-workspaces']).toEqual(many('workspaces', other.id));
    await use(one.id, pool.id).expect(200);
    const { body } = await use(other.id, pool.id).expect(422);
    expect(body.errors[0].detail).toBe('Agent pool workspace does not have access to use this agent pool');
    const taken = await change(pool.id, {}, { 'excluded-workspaces': many('workspaces', one.id) }).expect(422);
    expect(taken.body.errors[0].source.pointer).toBe('/data/relationships/excluded-workspaces');
    const none = await change(pool.id, {}, { 'excluded-workspaces': { data: [] } }).expect(200);
    expect(none.body.data.relationships['excluded-workspaces'].data).toEqual([]);
    await use(other.id, pool.id).expect(200);
  });

  it('is open to every workspace of an allowed project, also after a move, except excluded ones', async () => {
    const [one, other, outside] = [await inFirst(), await inFirst(), await makeWorkspace(second)];
    const pool = await makePool(
      { 'organization-scoped': false },
      { 'allowed-projects': many('projects', first), 'excluded-workspaces': many('workspaces', other.id) },
    );
    expect(pool.relationships['allowed-projects']).toEqual(many('projects', first));
    await use(one.id, pool.id).expect(200);
    await use(other.id, pool.id).expect(422);
    await use(outside.id, pool.id).expect(422);
    const shown = await admin.get(`agent-pools/${pool.id}`).expect(200);
    expect(shown.body.data.relationships).toMatchObject({
      workspaces: many('workspaces', one.id),
      'allowed-projects': many('projects', first),
      'excluded-workspaces': many('workspaces', other.id),
    });
    // A change that would take the pool away from its users is refused, and changes nothing.
    const away = await change(pool.id, {}, { 'allowed-projects': { data: [] } }).expect(422);
    expect(away.body.errors[0].source.pointer).toBe('/data/relationships/allowed-projects');
    const moved = resource('workspaces', {}, { project: ref('projects', second) });
    await admin.patch(`workspaces/${one.id}`, moved).expect(422);
    await admin.post(`projects/${second}/relationships/workspaces`, many('workspaces', one.id)).expect(422);
    await change(pool.id, {}, { 'allowed-projects': many('projects', first, second) }).expect(200);
    await admin.patch(`workspaces/${one.id}`, moved).expect(200);
    await use(outside.id, pool.id).expect(200);
  });

  it('can be searched by the names of workspaces and projects', async () => {
    const [one, other, outside] = [await inFirst(), await inFirst(), await makeWorkspace(second)];
    const projects = { 'allowed-projects': many('projects', first) };
    const excluded = { 'excluded-workspaces': many('workspaces', other.id) };
    const limited = { 'organization-scoped': false };
    const ofProject = await makePool(limited, { ...projects, ...excluded });
    const ofOne = await makePool(limited, { 'allowed-workspaces': many('workspaces', outside.id) });
    const found = async (filter: string, name: string) => {
      const { body } = await admin.get(`${pools}?page[size]=100&filter[${filter}][name]=${name}`).expect(200);
      const ids = body.data.map(({ id }: { id: string }) => id);
      return [ofProject.id, ofOne.id].map((id) => ids.includes(id));
    };
    expect(await found('allowed_projects', `First ${counter}`)).toEqual([true, false]);
    expect(await found('allowed_projects', `Second ${counter}`)).toEqual([false, false]);
    expect(await found('allowed_workspaces', one.attributes.name)).toEqual([true, false]);
    expect(await found('allowed_workspaces', other.attributes.name)).toEqual([false, false]);
    expect(await found('allowed_workspaces', outside.attributes.name)).toEqual([false, true]);
  });

  it('is checked before a project or the organization makes it the default, and when a run begins', async () => {
    const pool = await makePool({ 'organization-scoped': false });
    const agent = { 'default-execution-mode': 'agent', 'default-agent-pool-id': pool.id };
    const onProject = () => admin.patch(`projects/${first}`, resource('projects', agent));
    await onProject().expect(422);
    const body = resource('organizations', agent);
    const refused = await admin.patch('organizations/acme', body).expect(422);
    expect(refused.body.errors[0].detail).toContain('is not open to the whole organization');
    await change(pool.id, {}, { 'allowed-projects': many('projects', first) }).expect(200);
    await onProject().expect(200);
    await change(pool.id, {}, { 'allowed-projects': { data: [] } }).expect(422);
    // A workspace that only inherits the pool may be excluded: then the workspace has no runs.
    const one = await inFirst();
    await configured(workspaces, one.id);
    await startRun(admin, one.id).expect(201);
    await change(pool.id, {}, { 'excluded-workspaces': many('workspaces', one.id) }).expect(200);
    const stopped = await startRun(admin, one.id).expect(422);
    expect(stopped.body.errors[0].detail).toContain('may not use its agent pool');
  });

  it('can be requested only in its own organization, and is shown to members only with workspaces they see', async () => {
    await workspaces.organization(`elsewhere-${counter}`);
    const foreign = await project(workspaces, `elsewhere-${counter}`, 'Foreign');
    const pool = await makePool({}, { 'allowed-projects': many('projects', first) });
    for (const [name, type, id] of [
      ['allowed-projects', 'projects', foreign],
      ['excluded-workspaces', 'workspaces', 'ws-1234567812345678'],
      ['allowed-workspaces', 'workspaces', 'ws-1234567812345678'],
    ] as const) {
      const { body } = await change(pool.id, {}, { [name]: many(type, id) }).expect(422);
      expect(body.errors[0].source.pointer).toBe(`/data/relationships/${name}`);
    }
    const outsider = await member(workspaces, 'acme');
    await outsider.get(`agent-pools/${pool.id}`).expect(404);
    const reader = await member(workspaces, 'acme', [
      await team(workspaces, 'acme', `readers-${counter}`, ['read-projects']),
    ]);
    const read = await reader.get(`agent-pools/${pool.id}`).expect(200);
    expect(read.body.data.relationships['allowed-projects'].data).toHaveLength(1);
  });
});
