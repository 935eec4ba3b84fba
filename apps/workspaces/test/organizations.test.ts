import { describe, expect, it } from '@jest/globals';
import { resource, startWorkspaces } from './start-workspaces';

describe('organizations', () => {
  const workspaces = startWorkspaces();

  it('creates an organization with its defaults and its entitlement set', async () => {
    const body = resource('organizations', { name: 'first', email: 'first@example.com' });
    const { body: document } = await workspaces.admin.post('organizations', body).expect(201);
    expect(document.data).toMatchObject({
      id: 'first',
      type: 'organizations',
      links: { self: '/api/v2/organizations/first' },
      attributes: {
        'session-timeout': 20160,
        'session-remember': 20160,
        'collaborator-auth-policy': 'password',
        'aggregated-commit-status-enabled': true,
        'default-execution-mode': 'remote',
      },
    });
    expect(document.included).toEqual([
      expect.objectContaining({ type: 'entitlement-sets', id: document.data.attributes['external-id'] }),
    ]);
  });
});
