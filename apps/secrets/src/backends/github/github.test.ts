import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { GithubStandIn, type StandInTeam } from '../../../test/stand-ins/github';
import { startSecrets } from '../../../test/start-secrets';

describe('login by a token of GitHub', () => {
  const clock = manualClock(Date.now());
  const hub = new GithubStandIn();
  beforeAll(() => hub.start());
  afterAll(() => hub.stop());
  const secrets = startSecrets({ clock });
  const ops: StandInTeam = { name: 'Site Operators', slug: 'site-operators', organization: 42 };
  const foreign: StandInTeam = { name: 'Admins', slug: 'admins', organization: 99 };

  const configure = (fields: object = {}) =>
    secrets.root.write('auth/github/config', { organization: 'acme', base_url: hub.address, ...fields });
  const login = (token: string) => secrets.anonymous.write('auth/github/login', { token });
  beforeAll(async () => {
    await secrets.root.write('sys/auth/github', { type: 'github' }).expect(204);
    await login('x').expect(400, /configuration has not been set/);
    await secrets.root.read('auth/github/config').expect(404);
    await configure({ token_ttl: '20m' }).expect(204);
  });
  beforeEach(() => {
    // Ends the pause after unanswered calls of another test.
    clock.advance(60_000);
    hub.instead = undefined;
    hub.members.clear();
    hub.members.set('ada-token', { login: 'Ada', organizations: [1, 42], teams: [ops, foreign] });
  });

  it('looks up the id of the organization once, and stores its configuration', async () => {
    const { body } = await secrets.root.read('auth/github/config').expect(200);
    expect(body.data).toMatchObject({
      organization: 'acme',
      organization_id: 42,
      base_url: `${hub.address}/`,
      token_ttl: 1200,
    });
    const callsBefore = hub.calls.length;
    await configure({ token_ttl: '20m' }).expect(204);
    expect(hub.calls.length).toBe(callsBefore);
    hub.organizations.set('other', 43);
    await configure({ organization: 'other' }).expect(204);
    expect((await secrets.root.read('auth/github/config')).body.data.organization_id).toBe(43);
    const elsewhere = await configure({ base_url: 'http://code.invalid', organization_id: 44 }).expect(200);
    expect(elsewhere.body.warnings).toEqual(['base_url is not https: tokens are sent in the clear']);
    await configure({ organization: 'acme', organization_id: 42 }).expect(204);
  });

  it.each([
    [{ organization: '' }, 'organization is a required parameter'],
    [{ organization_id: -1 }, 'organization_id cannot be negative'],
    [{ base_url: 'ftp://a' }, 'base_url must be an https address'],
    [{ base_url: 'https://a:b@c' }, 'base_url must be an https address'],
    [{ organization: 'nobodys', organization_id: 0 }, 'you must manually set it in the config: GitHub answered 404'],
    [{ token_type: 'batch', token_period: '1h' }, "cannot be 'batch'"],
  ])('refuses the configuration %j', async (fields, text) => {
    const { body } = await configure(fields).expect(400);
    expect(body.errors[0]).toContain(text);
    expect((await secrets.root.read('auth/github/config')).body.data).toMatchObject({ organization: 'acme' });
  });

  it('keeps policies of teams and users, and shows them', async () => {
    await secrets.root.write('auth/github/map/teams/Dev', { value: 'dev-a, dev-b' }).expect(204);
    const { body } = await secrets.root.read('auth/github/map/teams/dEV').expect(200);
    expect(body.data).toEqual({ key: 'dev', value: 'dev-a,dev-b' });
    expect((await secrets.root.list('auth/github/map/teams').expect(200)).body.data.keys).toEqual(['dev']);
    await secrets.root.delete('auth/github/map/teams/dev').expect(204);
    expect((await secrets.root.read('auth/github/map/teams/dev').expect(200)).body.data).toBeNull();
    await secrets.root.list('auth/github/map/users').expect(404);
  });

  it('gives members the policies of their teams, of themselves and of all members', async () => {
    const at = 'auth/github/map';
    await secrets.root.write(`${at}/teams/site-operators`, { value: 'by-slug' }).expect(204);
    await secrets.root.write(`${at}/teams/site operators`, { value: 'by-name' }).expect(204);
    await secrets.root.write(`${at}/teams/admins`, { value: 'root-like' }).expect(204);
    await secrets.root.write(`${at}/users/ada`, { value: 'herself' }).expect(204);
    await secrets.root.write(`${at}/users/default`, { value: 'everyone' }).expect(204);
    const { body } = await login('ada-token').expect(200);
    expect(body.auth).toMatchObject({
      token_policies: ['by-name', 'by-slug', 'default', 'everyone', 'herself'],
      metadata: { username: 'Ada', org: 'acme' },
      lease_duration: 1200,
    });
    expect(hub.agents.at(-1)).toBe('keystead');
    const lookup = await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(200);
    expect(lookup.body.data.display_name).toBe('github-Ada');
    expect(JSON.stringify(lookup.body)).not.toContain('ada-token');
    const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases[0]).toMatchObject({ name: 'Ada' });
  });

  it('refuses people outside the organization or without a token', async () => {
    hub.members.set('eve-token', { login: 'eve', organizations: [99], teams: [{ ...ops, organization: 99 }] });
    await login('eve-token').expect(400, /user is not part of required org/);
    await login('unknown').expect(403);
    await login('').expect(400, /missing token/);
    await login('two\nlines').expect(403);
    await login('x'.repeat(600)).expect(403);
    hub.instead = ['/user/orgs', 403, { message: 'Resource not accessible by personal access token' }];
    await login('ada-token').expect(403, /read:org/);
  });

  it('reads all pages of a person in 250 teams', async () => {
    const many = Array.from({ length: 250 }, (_, n) => ({ name: `t${n}`, slug: `t${n}`, organization: 42 }));
    hub.members.set('busy', { login: 'busy', organizations: [...Array(150).keys()], teams: many });
    await secrets.root.write('auth/github/map/teams/t249', { value: 'last' }).expect(204);
    const { body } = await login('busy').expect(200);
    expect(body.auth.token_policies).toContain('last');
  });

  it('reports that GitHub is down, and accepts logins again afterwards', async () => {
    for (const instead of [
      ['/user', 503, {}],
      ['/user', 429, {}],
      ['/user', 403, { message: 'API rate limit exceeded' }],
      ['/user/teams', 200, { message: 'no list' }],
      ['/user', 200, { id: 1 }],
    ] as const) {
      hub.instead = [...instead];
      await login('ada-token').expect(502, /GitHub/);
    }
    hub.instead = undefined;
    await login('ada-token').expect(200);
  });

  it('checks again at renewal: groups follow, and people who left or have other policies are refused', async () => {
    const { body: mounts } = await secrets.root.read('sys/auth');
    const group = await secrets.root.write('identity/group', { name: 'ops', type: 'external', policies: 'of-group' });
    const canonical_id = group.body.data.id;
    const mount_accessor = mounts.data['github/'].accessor;
    await secrets.root
      .write('identity/group-alias', { name: 'site-operators', canonical_id, mount_accessor })
      .expect(200);
    await secrets.root.delete('auth/github/map/teams/site-operators');
    await secrets.root.delete('auth/github/map/teams/site operators');
    const { body } = await login('ada-token').expect(200);
    const ada = secrets.as(body.auth.client_token);
    const identity = async () =>
      (await ada.read('auth/token/lookup-self').expect(200)).body.data.identity_policies ?? [];
    expect(await identity()).toEqual(['of-group']);
    const member = hub.members.get('ada-token')!;
    member.teams = [];
    await ada.write('auth/token/renew-self').expect(200);
    expect(await identity()).toEqual([]);
    await secrets.root.write('auth/github/map/users/ada', { value: 'others' }).expect(204);
    await ada.write('auth/token/renew-self').expect(400, /policies do not match/);
    await secrets.root.write('auth/github/map/users/ada', { value: 'herself' }).expect(204);
    hub.instead = ['/user', 500, {}];
    await ada.write('auth/token/renew-self').expect(502);
    hub.instead = undefined;
    member.login = 'renamed';
    await ada.write('auth/token/renew-self').expect(400, /another user/);
    member.login = 'Ada';
    member.organizations = [1];
    await ada.write('auth/token/renew-self').expect(400, /not part of required org/);
    hub.members.clear();
    await ada.write('auth/token/renew-self').expect(403);
  });
});
