import { describe, expect, it } from '@jest/globals';
import { project } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

describe('access to the state of a workspace', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;

  it('is for single workspaces, the whole project, or the whole organization', async () => {
    await workspaces.organization('acme');
    const home = await project(workspaces, 'acme', 'home');
    const create = async (name: string, at?: string) => {
      const body = resource('workspaces', { name }, at ? { project: ref('projects', at) } : undefined);
      return (await admin.post('organizations/acme/workspaces', body).expect(201)).body.data.id as string;
    };
    const [source, sibling, elsewhere] = [
      await create('source', home),
      await create('sibling', home),
      await create('far'),
    ];
    const path = `workspaces/${source}/relationships/remote-state-consumers`;
    const readers = async () =>
      (await admin.get(path).expect(200)).body.data.map(({ id }: { id: string }) => id).sort();
    const turn = async (attributes: object) => {
      const { body } = await admin.patch(`workspaces/${source}`, resource('workspaces', attributes)).expect(200);
      return [body.data.attributes['global-remote-state'], body.data.attributes['project-remote-state']];
    };
    const choose = (id: string) => admin.post(path, { data: [{ type: 'workspaces', id }] });

    await choose(elsewhere).expect(204);
    expect(await readers()).toEqual([elsewhere]);
    expect(await turn({ 'project-remote-state': true })).toEqual([false, true]);
    expect(await readers()).toEqual([sibling]);
    await choose(sibling).expect(422);
    // Sharing with the organization and sharing with the project replace each other.
    expect(await turn({ 'global-remote-state': true })).toEqual([true, false]);
    expect(await readers()).toEqual([sibling, elsewhere].sort());
    expect(await turn({ 'project-remote-state': true })).toEqual([false, true]);
    expect(await turn({ description: 'said' })).toEqual([false, true]);
    expect(await turn({ 'project-remote-state': false })).toEqual([false, false]);
    expect(await readers()).toEqual([elsewhere]);

    const both = resource('workspaces', { 'global-remote-state': true, 'project-remote-state': true });
    const { body } = await admin.patch(`workspaces/${source}`, both).expect(422);
    expect(body.errors[0]).toMatchObject({
      title: 'invalid attribute',
      detail: 'Project remote state cannot be enabled when global remote state sharing is enabled',
      source: { pointer: '/data/attributes/project-remote-state' },
    });
    const made = resource('workspaces', { name: 'shared', 'project-remote-state': true });
    const shared = (await admin.post('organizations/acme/workspaces', made).expect(201)).body.data.attributes;
    expect([shared['global-remote-state'], shared['project-remote-state']]).toEqual([false, true]);
  });
});
