import { expect, it } from '@jest/globals';
import { resource, startWorkspaces } from './start-workspaces';

const workspaces = startWorkspaces();

it('the service refuses instants that the database cannot store', async () => {
  const { admin } = workspaces;
  await workspaces.organization('acme');
  const { id } = await workspaces.workspace('acme', 'network');
  const pools = 'organizations/acme/agent-pools';
  const { body } = await admin.post(pools, resource('agent-pools', { name: 'own' })).expect(201);
  const at = '0000-01-01T00:00:00Z';
  for (const path of [
    `agent-pools/${body.data.id}/agents?filter[last-ping-since]=${at}`,
    `admin/runs?filter[from]=${at}`,
    `organizations/acme/audit-events?filter[since]=${at}`,
    `organizations/acme/explorer?type=workspaces&filter[0][workspace_updated_at][is_before][0]=${at}`,
  ]) {
    const { status } = await admin.get(path);
    expect({ path, status }).toEqual({ path, status: 400 });
  }
  await admin.patch(`workspaces/${id}`, resource('workspaces', { 'auto-destroy-at': at })).expect(422);
});
