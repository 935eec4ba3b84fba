import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { grant, grantProject, type Member, member, project, team } from './members';
import { PASSWORD, ref, resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(120_000);

describe('an invitation whose membership got more rights from others', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const path = 'organizations/acme/organization-memberships';
  const open = { visibility: 'organization' };
  let eve: Member;
  let [owners, weak, count] = ['', '', 0];
  const invite = (who: Pick<Member, 'post'>, email: string, teamIds: string[] = []) =>
    who.post(
      path,
      resource(
        'organization-memberships',
        { email },
        { teams: { data: teamIds.map((id) => ({ type: 'teams', id })) } },
      ),
    );
  const linkIn = ({ body }: { body: { meta: { 'invite-url': string } } }) =>
    new URL(body.meta['invite-url']).pathname.replace('/app/', '/api/v2/');
  const accepts = (link: string) =>
    workspaces.anyone.post(link, resource('one-time-links', { username: `guest-${++count}`, password: PASSWORD }));
  const intoTeam = (teamId: string, id: string) =>
    admin.post(`teams/${teamId}/relationships/organization-memberships`, {
      data: [{ type: 'organization-memberships', id }],
    });
  const refusals = async (membershipId: string) =>
    (
      await workspaces.service.pool.query(
        `SELECT after FROM audit_event WHERE action = 'membership.accept-refuse' AND target_id = $1`,
        [membershipId],
      )
    ).rows;

  beforeAll(async () => {
    await workspaces.organization('acme');
    eve = await member(workspaces, 'acme', [await team(workspaces, 'acme', 'hr', ['manage-membership'])]);
    const { body } = await admin.get('organizations/acme/teams').expect(200);
    owners = body.data.find((one: { attributes: { name: string } }) => one.attributes.name === 'owners').id;
  });

  /** Rights of a waiting membership that the inviter could not give. */
  const given: Record<string, (membershipId: string, userId: string) => Promise<unknown>> = {
    'the owners team': (id) => intoTeam(owners, id).expect(204),
    'the owners team, by the id of the user': (_, id) =>
      admin.post(`teams/${owners}/relationships/users`, { data: [{ type: 'users', id }] }).expect(204),
    'a team with a right': async (id) =>
      intoTeam(await team(workspaces, 'acme', `able-${count}`, ['manage-workspaces'], open), id).expect(204),
    'a secret team': async (id) => intoTeam(await team(workspaces, 'acme', `secret-${count}`), id).expect(204),
    'a right of a team of the invitation': () =>
      admin
        .patch(`teams/${weak}`, resource('teams', { 'organization-access': { 'manage-policies': true } }))
        .expect(200),
    'a project of a team of the invitation': async () =>
      grantProject(workspaces, weak, await project(workspaces, 'acme', `core-${count}`), 'read'),
    'a workspace of a team of the invitation': async () =>
      grant(workspaces, weak, (await workspaces.workspace('acme', `web-${count}`)).id, 'admin'),
  };

  it.each(Object.keys(given))('is refused, to the inviter and to all, if it has %s', async (what) => {
    weak = await team(workspaces, 'acme', `weak-${++count}`, [], open);
    const email = `boss-${count}@corp.example`;
    const made = await invite(eve, email, [weak]).expect(201);
    const { id, relationships } = made.body.data;
    await given[what]!(id, relationships.user.data.id);
    await eve.post(linkIn(made)).expect(403);
    await accepts(linkIn(made)).expect(403);
    expect(await refusals(id)).toHaveLength(2);
    // A person who may grant all of them invites again: only the new link works, and grants everything.
    await invite(eve, email).expect(422);
    const again = await invite(admin, email).expect(201);
    expect(again.body.data.id).toBe(id);
    await accepts(linkIn(made)).expect(404);
    await accepts(linkIn(again)).expect(200);
    const { body } = await admin.get(`organization-memberships/${id}`).expect(200);
    expect(body.data.attributes.status).toBe('active');
    expect(body.data.relationships.teams.data.length).toBeGreaterThan(0);
  });

  it('is accepted if it has no more rights than the inviter may give', async () => {
    const other = await team(workspaces, 'acme', 'other', [], open);
    const made = await invite(eve, 'guest@corp.example').expect(201);
    await intoTeam(other, made.body.data.id).expect(204);
    await accepts(linkIn(made)).expect(200);
    const { body } = await admin.get(`organization-memberships/${made.body.data.id}`).expect(200);
    expect(body.data.relationships.teams.data).toEqual([ref('teams', other).data]);
  });

  it('is not taken over by a person who may not give all its rights', async () => {
    const strong = await team(workspaces, 'acme', 'strong', ['manage-workspaces'], open);
    const made = await invite(admin, 'chief@corp.example', [strong]).expect(201);
    const refused = await invite(eve, 'chief@corp.example').expect(422);
    expect(refused.body.errors[0].detail).toBe('User has already been invited');
    await accepts(linkIn(made)).expect(200);
  });
});
