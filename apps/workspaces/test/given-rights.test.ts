import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { resources } from '../src/resources/registry';
import { grant, grantProject, type Member, member, project, team } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(120_000);

describe('a caller who grants rights to others', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let [workspaceId, projectId] = ['', ''];
  let count = 0;
  beforeAll(async () => {
    await workspaces.organization('acme');
    workspaceId = (await workspaces.workspace('acme', 'vault')).id;
    projectId = await project(workspaces, 'acme', 'core');
  });

  /** A right of a team that none of the givers has. */
  const powers: Readonly<Record<string, (teamId: string) => Promise<unknown>>> = {
    'a right in the organization': (id) =>
      admin
        .patch(`teams/${id}`, resource('teams', { 'organization-access': { 'manage-vcs-settings': true } }))
        .expect(200),
    'a grant on a workspace': (id) => grant(workspaces, id, workspaceId, 'read'),
    'a grant on a project': (id) => grantProject(workspaces, id, projectId, 'maintain'),
  };

  interface Giving {
    /** The endpoint, as it is declared. */
    readonly endpoint: string;
    give(by: Member, teamId: string, target: Member): Promise<{ status: number }>;
  }
  const givings: readonly Giving[] = [
    {
      endpoint: 'POST /teams/:team_id/relationships/users',
      give: (by, id, { username }) =>
        by.post(`teams/${id}/relationships/users`, { data: [{ type: 'users', id: username }] }),
    },
    {
      endpoint: 'POST /teams/:team_id/relationships/organization-memberships',
      give: (by, id, { membershipId }) =>
        by.post(`teams/${id}/relationships/organization-memberships`, {
          data: [{ type: 'organization-memberships', id: membershipId }],
        }),
    },
    {
      endpoint: 'POST /organizations/:organization_name/organization-memberships',
      give: (by, id, { username }) => {
        const teams = { data: [{ type: 'teams', id }] };
        const body = resource('organization-memberships', { email: `${username}-${id}@b.co`.toLowerCase() }, { teams });
        return by.post('organizations/acme/organization-memberships', body);
      },
    },
    {
      endpoint: 'POST /teams/:team_id/authentication-token',
      give: (by, id) => by.post(`teams/${id}/authentication-token`),
    },
    {
      endpoint: 'POST /teams/:team_id/authentication-tokens',
      give: (by, id) =>
        by.post(
          `teams/${id}/authentication-tokens`,
          resource('authentication-tokens', { description: `of ${by.username}` }),
        ),
    },
    {
      // The address would receive notifications about what the team may read.
      endpoint: 'POST /teams/:team_id/notification-configurations',
      give: (by, id) =>
        by.post(
          `teams/${id}/notification-configurations`,
          resource('notification-configurations', {
            name: `of ${by.username}`,
            'destination-type': 'email',
            triggers: ['change_request:created'],
          }),
        ),
    },
    {
      endpoint: 'PATCH /teams/:team_id',
      give: (by, id) => by.patch(`teams/${id}`, resource('teams', { 'sso-team-id': `group-of-${by.username}` })),
    },
  ];

  it('is tested with every endpoint that adds people to teams or acts for a team', () => {
    const all = resources
      .flatMap(({ endpoints }) => endpoints)
      .filter(({ method, path }) => ['POST', 'PATCH', 'PUT'].includes(method) && /^\/teams\/|-memberships$/.test(path))
      .map(({ method, path }) => `${method} ${path}`);
    expect(givings.map(({ endpoint }) => endpoint).sort()).toEqual([...new Set(all)].sort());
  });

  const refusalsOf = async ({ id }: Member) =>
    (
      await workspaces.service.pool.query(
        `SELECT after ->> 'path' AS path FROM audit_event
          WHERE action = 'request.refuse' AND actor_id = $1 AND organization_id IS NOT NULL`,
        [id],
      )
    ).rows;

  const cases = givings.flatMap((giving) => Object.keys(powers).map((power) => [giving.endpoint, power] as const));
  it.each(cases)('%s needs %s if the team has it', async (endpoint, power) => {
    const { give } = givings.find((one) => one.endpoint === endpoint)!;
    const open = { visibility: 'organization' };
    const strong = await team(workspaces, 'acme', `strong ${++count}`, [], open);
    await powers[power]!(strong);
    const givers = await team(workspaces, 'acme', `givers ${count}`, ['manage-teams', 'manage-membership'], open);
    const giver = await member(workspaces, 'acme', [givers]);
    const target = await member(workspaces, 'acme');
    const before = await admin.get(`teams/${strong}`).expect(200);
    expect([403, 404]).toContain((await give(giver, strong, target)).status);
    expect(await refusalsOf(giver)).toEqual([{ path: endpoint.replace(/^\w+ /, '') }]);
    expect((await admin.get(`teams/${strong}`).expect(200)).body).toEqual(before.body);
    const listed = await giver.get('organizations/acme/team-tokens').expect(200);
    expect(listed.body.data).toEqual([]);
    await powers[power]!(givers);
    expect([200, 201, 204]).toContain((await give(giver, strong, target)).status);
  });

  it('grants no more rights on a project than the caller has there', async () => {
    const managers = await team(workspaces, 'acme', 'team managers', [], { visibility: 'organization' });
    await grantProject(workspaces, managers, projectId, 'custom', {
      'project-access': { settings: 'read', teams: 'manage', 'variable-sets': 'none' },
      'workspace-access': { runs: 'plan', 'state-versions': 'none', variables: 'none' },
    });
    const manager = await member(workspaces, 'acme', [managers]);
    const others = await team(workspaces, 'acme', 'others', [], { visibility: 'organization' });
    const relationships = { team: ref('teams', others), project: ref('projects', projectId) };
    const asked = (settings: object) => resource('team-projects', settings, relationships);
    const custom = (runs: string) => ({ access: 'custom', 'workspace-access': { runs } });
    for (const more of [{ access: 'admin' }, { access: 'maintain' }, custom('apply')])
      expect([403, 404]).toContain((await manager.post('team-projects', asked(more))).status);
    expect(await refusalsOf(manager)).toEqual(Array(3).fill({ path: '/team-projects' }));
    const { body } = await manager.post('team-projects', asked(custom('plan'))).expect(201);
    const change = (settings: object) =>
      manager.patch(`team-projects/${body.data.id}`, resource('team-projects', settings));
    expect([403, 404]).toContain((await change(custom('apply'))).status);
    await change(custom('read')).expect(200);
    const own = await manager.get(`team-projects?filter[project][id]=${projectId}`).expect(200);
    const id = own.body.data.find(
      (one: { relationships: { team: { data: { id: string } } } }) => one.relationships.team.data.id === managers,
    ).id;
    expect([403, 404]).toContain(
      (await manager.patch(`team-projects/${id}`, resource('team-projects', { access: 'admin' }))).status,
    );
  });
});
