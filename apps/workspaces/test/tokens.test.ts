import { describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { member, organizationToken, team, teamToken, tokenFor } from './members';
import { PASSWORD, resource, startWorkspaces } from './start-workspaces';

const tokenBody = (attributes: object = {}) => resource('authentication-tokens', attributes);

describe('tokens', () => {
  let nowMs = Date.now();
  const workspaces = startWorkspaces({ now: () => nowMs });

  it('answers 401 to a missing, unknown or malformed token, and nothing else', async () => {
    for (const client of [workspaces.anyone, workspaces.as('nonsense'), workspaces.as('a.kswsv1.b')]) {
      const { body } = await client.get('account/details').expect(401);
      expect(body).toEqual({ errors: [{ status: '401', title: 'unauthorized' }] });
    }
  });

  it('shows the text of a token once, and keeps only its keyed hash', async () => {
    const ann = await workspaces.person('ann');
    const path = `users/${ann.id}/authentication-tokens`;
    const made = await ann.post(path, tokenBody({ description: 'laptop' })).expect(201);
    const { token } = made.body.data.attributes;
    expect(token).toMatch(/^[0-9A-Za-z]{14}\.kswsv1\.[0-9A-Za-z]{64}$/);
    expect(made.body.data).toMatchObject({
      type: 'authentication-tokens',
      attributes: { description: 'laptop', 'last-used-at': null },
      relationships: { 'created-by': { data: { type: 'users', id: ann.id } } },
    });
    const shown = await ann.get(`authentication-tokens/${made.body.data.id}`).expect(200);
    expect(shown.body.data.attributes.token).toBeNull();
    const stored = await withClient(workspaces.databaseUrl, async (client) => {
      const { rows } = await client.query('SELECT row_to_json(t)::text AS text FROM token t');
      return rows.map(({ text }) => text).join('\n');
    });
    // A reader of the database must not be able to use the token.
    expect(stored).not.toContain(token.split('.')[2]);
    await workspaces.as(token).get('account/details').expect(200);
  });

  it('ends a token at once, and shows no one the tokens of others', async () => {
    const [ben, eve] = [await workspaces.person('ben'), await workspaces.person('eve')];
    const path = `users/${ben.id}/authentication-tokens`;
    const { body } = await ben.post(path, tokenBody()).expect(201);
    const client = workspaces.as(body.data.attributes.token);
    await client.get('account/details').expect(200);
    await eve.get(path).expect(404);
    await eve.post(path, tokenBody()).expect(404);
    await eve.get(`authentication-tokens/${body.data.id}`).expect(404);
    await eve.delete(`authentication-tokens/${body.data.id}`).expect(404);
    expect((await ben.get(path).expect(200)).body.data).toHaveLength(2);
    await ben.delete(`authentication-tokens/${body.data.id}`).expect(204);
    await client.get('account/details').expect(401);
    await ben.get(`authentication-tokens/${body.data.id}`).expect(404);
  });

  it('refuses a token from the moment it expires', async () => {
    const { id } = await workspaces.person('short');
    const client = await tokenFor(workspaces, id, new Date(nowMs + 60_000));
    await client.get('account/details').expect(200);
    nowMs += 60_000;
    await client.get('account/details').expect(401);
    const past = tokenBody({ 'expired-at': new Date(nowMs - 1).toISOString() });
    const person = await workspaces.person('past');
    const { body } = await person.post(`users/${person.id}/authentication-tokens`, past).expect(422);
    expect(body.errors[0]).toMatchObject({ source: { pointer: '/data/attributes/expired-at' } });
    for (const value of ['tomorrow', 7, '2026-13-45T00:00:00Z']) {
      await person.post(`users/${person.id}/authentication-tokens`, tokenBody({ 'expired-at': value })).expect(422);
    }
  });

  it('records the use of a token on first use, then at most once a minute', async () => {
    const person = await workspaces.person('used');
    const { body } = await person.post(`users/${person.id}/authentication-tokens`, tokenBody()).expect(201);
    const [client, path] = [workspaces.as(body.data.attributes.token), `authentication-tokens/${body.data.id}`];
    const usedAt = async () => (await person.get(path).expect(200)).body.data.attributes['last-used-at'];
    expect(await usedAt()).toBeNull();
    await client.get('account/details').expect(200);
    const first = await usedAt();
    expect(first).toBe(new Date(nowMs).toISOString());
    nowMs += 59_000;
    await client.get('account/details').expect(200);
    expect(await usedAt()).toBe(first);
    nowMs += 1_000;
    await client.get('account/details').expect(200);
    expect(await usedAt()).toBe(new Date(nowMs).toISOString());
  });

  it('replaces the token of an organization and of a team when another is created', async () => {
    await workspaces.organization('acme');
    const teamId = await team(workspaces, 'acme', 'ops');
    for (const path of ['organizations/acme/authentication-token', `teams/${teamId}/authentication-token`]) {
      await workspaces.admin.get(path).expect(404);
      await workspaces.admin.delete(path).expect(404);
      const first = await workspaces.admin.post(path).expect(201);
      const second = await workspaces.admin.post(path, tokenBody({})).expect(201);
      await workspaces.as(first.body.data.attributes.token).get('account/details').expect(401);
      const client = workspaces.as(second.body.data.attributes.token);
      await client.get('account/details').expect(200);
      const shown = await workspaces.admin.get(path).expect(200);
      expect(shown.body.data).toMatchObject({ id: second.body.data.id, attributes: { token: null } });
      await workspaces.admin.delete(path).expect(204);
      await client.get('account/details').expect(401);
    }
  });

  it('leaves one token if twenty are created for a team at once', async () => {
    const teamId = await team(workspaces, 'acme', 'busy');
    const path = `teams/${teamId}/authentication-token`;
    const made = await Promise.all(Array.from({ length: 20 }, () => workspaces.admin.post(path)));
    expect(made.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const alive = await Promise.all(
      made.map(({ body }) => workspaces.as(body.data.attributes.token).get('account/details')),
    );
    expect(alive.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('shows a service account to the token of a team or an organization', async () => {
    const teamId = await team(workspaces, 'acme', 'bots');
    const bots = await teamToken(workspaces, teamId);
    const { body } = await bots.get('account/details').expect(200);
    expect(body.data).toMatchObject({
      type: 'users',
      attributes: { 'is-service-account': true, username: expect.stringMatching(/^api-team_/) },
      relationships: { 'authenticated-resource': { data: { type: 'teams', id: teamId } } },
    });
    await workspaces.admin.get(`users/${body.data.id}`).expect(200);
    const organization = await organizationToken(workspaces, 'acme');
    const account = await organization.get('account/details').expect(200);
    expect(account.body.data.relationships['authenticated-resource'].data).toEqual({
      type: 'organizations',
      id: 'acme',
    });
    for (const client of [bots, organization]) {
      await client.patch('account/update', resource('users', { username: 'x' })).expect(404);
      await client.post('organizations', resource('organizations', { name: 'n', email: 'a@b.co' })).expect(404);
    }
  });

  it('lets members manage the token of their team only while the team allows it', async () => {
    const teamId = await team(workspaces, 'acme', 'crew');
    const crew = await member(workspaces, 'acme', [teamId]);
    await crew.post(`teams/${teamId}/authentication-token`).expect(201);
    await workspaces.admin
      .patch(`teams/${teamId}`, resource('teams', { 'allow-member-token-management': false }))
      .expect(200);
    await crew.get(`teams/${teamId}/authentication-token`).expect(404);
    await crew.post('organizations/acme/authentication-token').expect(404);
    const listed = await crew.get('organizations/acme/team-tokens').expect(200);
    expect(listed.body.data).toEqual([]);
  });

  it('does not let callers who manage teams get the token of a team with more rights', async () => {
    const open = { visibility: 'organization' };
    const strong = await team(workspaces, 'acme', 'strong', ['manage-workspaces'], open);
    const weak = await team(workspaces, 'acme', 'weak', [], open);
    const managers = await team(workspaces, 'acme', 'managers', ['manage-teams'], open);
    const manager = await member(workspaces, 'acme', [managers]);
    await teamToken(workspaces, strong);
    await manager.post(`teams/${strong}/authentication-token`).expect(404);
    await manager.post(`teams/${weak}/authentication-token`).expect(201);
    const { body } = await manager.get('organizations/acme/team-tokens').expect(200);
    const ids = body.data.map(
      (token: { relationships: { team: { data: { id: string } } } }) => token.relationships.team.data.id,
    );
    expect(ids).toEqual([weak]);
  });

  it('ends several tokens of teams at once, or none if the caller does not manage all of these teams', async () => {
    const path = 'organizations/acme/team-tokens';
    const [one, other] = [await team(workspaces, 'acme', 'one'), await team(workspaces, 'acme', 'other')];
    const made = async (id: string) => (await workspaces.admin.post(`teams/${id}/authentication-token`)).body.data;
    const [mine, theirs] = [await made(one), await made(other)];
    const references = (...ids: string[]) => ({ data: ids.map((id) => ({ type: 'authentication-tokens', id })) });
    const ann = await workspaces.person('some other');
    const ofPerson = (await ann.post(`users/${ann.id}/authentication-tokens`, tokenBody())).body.data;
    for (const foreign of [ofPerson.id, 'at-1234567812345678']) {
      const { body } = await workspaces.admin.delete(path, references(mine.id, foreign)).expect(422);
      expect(body.errors.map(({ source }: { source: object }) => source)).toEqual([{ pointer: '/data/1/id' }]);
    }
    const powerless = await member(workspaces, 'acme');
    await powerless.delete(path, references(mine.id)).expect(422);
    await workspaces.admin.delete(path).expect(422);
    await workspaces.as(mine.attributes.token).get('account/details').expect(200);
    await workspaces.admin.delete(path, references(mine.id, theirs.id)).expect(204);
    for (const { attributes } of [mine, theirs]) {
      await workspaces.as(attributes.token).get('account/details').expect(401);
    }
  });

  it('lists the tokens of teams, sorted and searched', async () => {
    const all = await workspaces.admin.get('organizations/acme/team-tokens?sort=-team-name').expect(200);
    const names = async (query: string) => {
      const { body } = await workspaces.admin.get(`organizations/acme/team-tokens?${query}`).expect(200);
      return body.data.map(
        (token: { relationships: { team: { data: { id: string } } } }) => token.relationships.team.data.id,
      );
    };
    expect(all.body.data.length).toBeGreaterThan(1);
    expect((await names('sort=team-name')).reverse()).toEqual(await names('sort=-team-name'));
    expect(await names('q=BUS')).toHaveLength(1);
    await workspaces.admin.get('organizations/acme/team-tokens?sort=colour').expect(400);
  });

  it('blocks the tokens of a suspended person, and accepts them again when the suspension ends', async () => {
    const person = await workspaces.person('suspended');
    const { prisma } = workspaces.service.db;
    await prisma.user.update({ where: { id: person.id }, data: { suspendedAt: new Date() } });
    await person.get('account/details').expect(401);
    const signIn = resource('sessions', { username: 'suspended', password: PASSWORD });
    await workspaces.anyone.post('session', signIn).expect(401);
    await prisma.user.update({ where: { id: person.id }, data: { suspendedAt: null } });
    await person.get('account/details').expect(200);
  });

  it('accepts no idempotency key if a secret would have to be shown twice', async () => {
    const person = await workspaces.person('careful');
    const path = `users/${person.id}/authentication-tokens`;
    await person.post(path, tokenBody()).set('Idempotency-Key', 'k1').expect(400);
  });
});
