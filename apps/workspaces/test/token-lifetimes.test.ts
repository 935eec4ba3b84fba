import { beforeAll, describe, expect, it } from '@jest/globals';
import { member, organizationToken, team, teamToken } from './members';
import { type Client, resource, startWorkspaces } from './start-workspaces';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const YEARS = 731 * DAY;

describe('lifetimes of tokens', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const type = 'organization-token-ttl-policies';
  const path = (organization: string) => `organizations/${organization}/token-ttl-policies`;
  const policy = (tokenType: string, ms: number) => ({ 'token-type': tokenType, 'max-ttl-ms': ms });
  const change = (organization: string, ...policies: object[]) =>
    admin.patch(path(organization), resource(type, { 'token-ttl-policies': policies }));
  const enable = (organization: string, on = true) =>
    admin.patch(`organizations/${organization}`, resource('organizations', { 'max-ttl-enabled': on })).expect(200);
  const token = (at: string, attributes: object = {}, by: Client = admin) =>
    by.post(`${at}/authentication-token`, resource('authentication-tokens', attributes));
  const lives = async (at: string, by = admin) => {
    const { attributes } = (await by.get(`${at}/authentication-token`).expect(200)).body.data;
    return attributes['expired-at'] && Date.parse(attributes['expired-at']) - Date.parse(attributes['created-at']);
  };
  const maxima = async (organization: string) =>
    Object.fromEntries(
      (await admin.get(path(organization)).expect(200)).body.data.map(
        ({ attributes }: { attributes: Record<string, unknown> }) => [
          attributes['token-type'],
          attributes['max-ttl-ms'],
        ],
      ),
    );

  // The administrator's own token satisfies every limit here.
  beforeAll(() => workspaces.service.pool.query("UPDATE token SET expires_at = created_at + interval '30 minutes'"));

  it('are two years for every kind until an owner changes some of them; the others stay', async () => {
    await workspaces.organization('acme');
    const all = { organization: YEARS, team: YEARS, user: YEARS, audit_trails: YEARS };
    expect(await maxima('acme')).toEqual(all);
    const { body } = await change('acme', policy('team', DAY), policy('user', HOUR)).expect(200);
    expect(body.data).toHaveLength(4);
    expect(await maxima('acme')).toEqual({ ...all, team: DAY, user: HOUR });
    expect(await maxima((await workspaces.organization('other')).id)).toEqual(all);
  });

  it.each([
    ['nothing', []],
    ['a repeated kind', [policy('team', DAY), policy('team', HOUR)]],
    ['an unknown kind', [policy('agent', DAY)]],
    ['less than an hour', [policy('team', HOUR - 1)]],
    ['more than two years', [policy('team', YEARS + 1)]],
    ['fractions of a millisecond', [policy('team', DAY + 0.5)]],
  ])('refuse %s', async (_, policies) => {
    const before = await maxima('acme');
    await change('acme', ...policies).expect(422);
    expect(await maxima('acme')).toEqual(before);
  });

  it('apply to tokens of the organization, its teams and its trail, and shorten existing ones, once they are enabled', async () => {
    await workspaces.organization('held');
    const id = await team(workspaces, 'held', 'ops');
    const trail = 'organizations/held/authentication-token?token=audit-trails';
    await admin.post(trail, resource('authentication-tokens', { 'expired-at': null })).expect(201);
    await token(`teams/${id}`, { 'expired-at': null }).expect(201);
    await token('organizations/held', { 'expired-at': new Date(Date.now() + HOUR).toISOString() }).expect(201);
    const [elsewhere] = [(await workspaces.organization('untouched')).id];
    await token(`organizations/${elsewhere}`, { 'expired-at': null }).expect(201);
    await change('held', policy('team', DAY), policy('organization', DAY), policy('audit_trails', 2 * DAY)).expect(200);
    expect(await lives(`teams/${id}`)).toBeNull();
    await enable('held');
    expect(await lives(`teams/${id}`)).toBe(DAY);
    expect(await lives('organizations/held')).toBeLessThanOrEqual(HOUR);
    const { attributes } = (await admin.get(trail).expect(200)).body.data;
    expect(Date.parse(attributes['expired-at']) - Date.parse(attributes['created-at'])).toBe(2 * DAY);
    expect(await lives(`organizations/${elsewhere}`)).toBeNull();
    // A lower limit shortens lifetimes at once, a higher one restores nothing.
    await change('held', policy('team', HOUR)).expect(200);
    expect(await lives(`teams/${id}`)).toBe(HOUR);
    await change('held', policy('team', DAY)).expect(200);
    expect(await lives(`teams/${id}`)).toBe(HOUR);
  });

  it('are the default of new tokens, and refuse a longer lifetime and one without an end', async () => {
    const id = await team(workspaces, 'held', 'new');
    for (const at of [`teams/${id}`, 'organizations/held']) {
      await token(at).expect(201);
      expect(await lives(at)).toBe(DAY);
      for (const end of [null, new Date(Date.now() + DAY + HOUR).toISOString()]) {
        const { body } = await token(at, { 'expired-at': end }).expect(422);
        expect(body.errors[0].source.pointer).toBe('/data/attributes/expired-at');
      }
      expect(await lives(at)).toBe(DAY);
      await token(at, { 'expired-at': new Date(Date.now() + HOUR).toISOString() }).expect(201);
    }
    await enable('held', false);
    await token(`teams/${id}`, { 'expired-at': null }).expect(201);
    expect(await lives(`teams/${id}`)).toBeNull();
    await enable('held');
  });

  it('refuse API tokens of people with a longer lifetime, only in this organization, and never change them', async () => {
    const person = await member(workspaces, 'held');
    const make = async (end: string | null) => {
      const body = resource('authentication-tokens', { 'expired-at': end });
      const made = await person.post(`users/${person.id}/authentication-tokens`, body).expect(201);
      return workspaces.as(made.body.data.attributes.token);
    };
    const [long, short] = [
      await make(new Date(Date.now() + 30 * DAY).toISOString()),
      await make(new Date(Date.now() + HOUR).toISOString()),
    ];
    const at = 'organizations/held';
    await long.get(at).expect(200);
    await change('held', policy('user', HOUR)).expect(200);
    const { body } = await long.get(at).expect(401);
    expect(body.errors[0].detail).toMatch(/user API tokens with this lifetime/);
    await short.get(at).expect(200);
    await long.get('account/details').expect(200);
    await enable('held', false);
    await long.get(at).expect(200);
  });

  it('cannot be set so that they lock out the caller', async () => {
    const owner = await workspaces.person('owner');
    await workspaces.organization('careful', {}, owner);
    const body = resource('authentication-tokens', { 'expired-at': null });
    const made = await owner.post(`users/${owner.id}/authentication-tokens`, body).expect(201);
    const endless = workspaces.as(made.body.data.attributes.token);
    const on = resource('organizations', { 'max-ttl-enabled': true });
    const { body: refused } = await endless.patch('organizations/careful', on).expect(422);
    expect(refused.errors[0].source.pointer).toBe('/data/attributes/max-ttl-enabled');
    await endless.get('organizations/careful').expect(200);
    await owner.patch('organizations/careful', on).expect(200);
    await endless.get('organizations/careful').expect(401);
  });

  it('can be seen and changed by owners', async () => {
    const plain = await member(workspaces, 'acme');
    const tokens = [
      plain,
      await teamToken(
        workspaces,
        await team(workspaces, 'acme', 'every', ['manage-organization-access', 'manage-teams']),
      ),
      await organizationToken(workspaces, 'acme'),
      await workspaces.person('stranger'),
    ];
    const body = resource(type, { 'token-ttl-policies': [policy('team', HOUR)] });
    for (const client of tokens) {
      await client.get(path('acme')).expect(404);
      await client.patch(path('acme'), body).expect(404);
    }
    expect((await maxima('acme')).team).toBe(DAY);
  });

  it('apply to every token, even those created while the limit changes', async () => {
    await workspaces.organization('busy');
    await enable('busy');
    const ids = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => team(workspaces, 'busy', name)));
    await Promise.all([
      ...ids.map((id) => token(`teams/${id}`)),
      change('busy', policy('team', HOUR)).expect(200),
      ...ids.map((id) => token(`teams/${id}`)),
    ]);
    for (const id of ids) expect(await lives(`teams/${id}`)).toBeLessThanOrEqual(HOUR);
  });
});
