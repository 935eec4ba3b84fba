import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import request, { type Test } from 'supertest';
import { ProviderStandIn } from '../../secrets/test/stand-ins/oidc';
import { system } from '../src/kernel/audit/audit';
import * as tokens from '../src/resources/people/tokens/service';
import { resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(180_000);

const user = 'urn:ietf:params:scim:schemas:core:2.0:User';
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const dayMs = 86_400_000;
// biome-ignore lint/suspicious/noExplicitAny: rows of every table
type Row = Record<string, any>;
type Word = 'get' | 'post' | 'put' | 'patch' | 'delete';

describe('a directory that speaks SCIM', () => {
  let nowMs = Date.now();
  const workspaces = startWorkspaces({ now: () => nowMs });
  const { admin } = workspaces;
  const idp = new ProviderStandIn();
  let token = '';
  const ask = (word: Word, path: string, body?: unknown, given = token, type = 'application/scim+json'): Test => {
    const sent = request(workspaces.server)[word](`/scim/v2/${path}`).set('Authorization', `Bearer ${given}`);
    return body === undefined ? sent : sent.set('Content-Type', type).send(JSON.stringify(body));
  };
  const patch = (path: string, ...Operations: object[]) => ask('patch', path, { Operations });
  const made = async (path: 'Users' | 'Groups', body: object) => (await ask('post', path, body).expect(201)).body;
  const person = (userName: string, more: object = {}) => made('Users', { userName, ...more });
  const group = (displayName: string, ...members: string[]) =>
    made('Groups', { displayName, members: members.map((value) => ({ value })) });
  const rows = async (text: string, ...values: unknown[]) =>
    (await workspaces.service.pool.query(text, values)).rows as Row[];
  const accountOf = async (id: string): Promise<{ id: string; username: string; email: string; suspended: boolean }> =>
    (
      await rows(
        `SELECT u.id, username, email, suspended_at IS NOT NULL AS suspended
           FROM user_account u JOIN scim_user s ON s.user_id = u.id WHERE s.id = $1`,
        id,
      )
    )[0] as never;
  const teamsOf = async (id: string): Promise<string[]> =>
    (
      await rows(
        `SELECT t.name FROM team t JOIN team_member tm ON tm.team_id = t.id JOIN membership m ON m.id = tm.membership_id
           JOIN scim_user s ON s.user_id = m.user_id WHERE s.id = $1 ORDER BY 1`,
        id,
      )
    ).map(({ name }) => name);
  const team = async (name: string, organization = 'works'): Promise<string> =>
    (await admin.post(`organizations/${organization}/teams`, resource('teams', { name })).expect(201)).body.data.id;
  const link = (teamId: string, id: string) =>
    admin.post(`admin/teams/${teamId}/scim-group-mapping`, resource('scim-group-mappings', { 'scim-group-id': id }));
  const newToken = async (attributes: object = {}) =>
    (
      await admin
        .post('admin/scim-tokens', resource('authentication-tokens', { description: 'directory', ...attributes }))
        .expect(201)
    ).body.data;
  const set = (attributes: object) => admin.patch('admin/scim-settings', resource('scim-settings', attributes));

  beforeAll(async () => {
    token = (await newToken()).attributes.token;
    await workspaces.organization('works');
  });

  it('is refused until a site administrator allows it, and while it is paused', async () => {
    const { body } = await admin.get('admin/scim-settings').expect(200);
    expect(body.data).toMatchObject({
      id: 'scim',
      attributes: { enabled: false, paused: false, 'site-admin-group-scim-id': null },
    });
    const off = await ask('get', 'Users').expect(403).expect('Content-Type', 'application/scim+json');
    expect(off.body).toEqual({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: '403',
      detail: 'SCIM is turned off.',
    });
    await set({ enabled: false }).expect(422);
    await set({ enabled: true }).expect(200);
    await set({ paused: true }).expect(200);
    expect((await ask('post', 'Users', { userName: 'x' }).expect(403)).body.detail).toContain('paused');
    await ask('get', 'ServiceProviderConfig').expect(200);
    await set({ paused: false }).expect(200);
    expect((await ask('get', 'Users').expect(200)).body.totalResults).toBe(0);
  });

  it('needs a token of its kind, which is accepted nowhere else', async () => {
    for (const wrong of ['', 'nonsense', admin.token!]) {
      const { body } = await ask('get', 'Users', undefined, wrong).expect(401);
      expect(body).toMatchObject({ status: '401', schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'] });
    }
    const directory = workspaces.as(token);
    await directory.get('organizations').expect(404);
    await directory.get('admin/users').expect(404);
    await directory.get('account/details').expect(404);
    const ada = await workspaces.person('token-maker');
    await ada.post('admin/scim-tokens', resource('authentication-tokens', { description: 'x' })).expect(404);
    await ada.get('admin/scim-settings').expect(404);
    await ada.get('admin/scim-groups').expect(404);
  });

  it('has tokens that expire, and are shown once', async () => {
    const days = (count: number) => ({ 'expired-at': new Date(nowMs + count * dayMs).toISOString() });
    for (const wrong of [days(28), days(366), { description: '' }]) {
      const body = resource('authentication-tokens', { description: 'x', ...wrong });
      await admin.post('admin/scim-tokens', body).expect(422);
    }
    const short = await newToken(days(30));
    const usual = await newToken();
    expect(Date.parse(usual.attributes['expired-at']) - nowMs).toBe(365 * dayMs);
    const listed = await admin.get('admin/scim-tokens').expect(200);
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toContain(short.id);
    expect(JSON.stringify(listed.body)).not.toContain(short.attributes.token);
    expect((await admin.get(`admin/scim-tokens/${short.id}`).expect(200)).body.data.attributes.token).toBeNull();
    await ask('get', 'Users', undefined, short.attributes.token).expect(200);
    nowMs += 31 * dayMs;
    await ask('get', 'Users', undefined, short.attributes.token).expect(401);
    await ask('get', 'Users', undefined, usual.attributes.token).expect(200);
    await admin.delete(`admin/scim-tokens/${usual.id}`).expect(204);
    await ask('get', 'Users', undefined, usual.attributes.token).expect(401);
    const own = await rows("SELECT id FROM token WHERE kind = 'user' LIMIT 1");
    await admin.get(`admin/scim-tokens/${own[0]!.id}`).expect(404);
    const kept = await rows('SELECT row_to_json(t)::text AS text FROM token t');
    expect(JSON.stringify(kept)).not.toContain(token);
  });

  it('reports which parts of the standard it supports', async () => {
    const { body } = await ask('get', 'ServiceProviderConfig').expect(200);
    expect(body).toMatchObject({
      patch: { supported: true },
      etag: { supported: false },
      bulk: { supported: false },
      sort: { supported: false },
    });
    expect((await ask('get', 'ResourceTypes').expect(200)).body.Resources.map((one: { id: string }) => one.id)).toEqual(
      ['User', 'Group'],
    );
    const schemas = (await ask('get', 'Schemas').expect(200)).body;
    expect(schemas.totalResults).toBe(3);
    const one = (await ask('get', `Schemas/${user}`).expect(200)).body;
    expect(one.attributes.find(({ name }: { name: string }) => name === 'userName')).toMatchObject({
      required: true,
      uniqueness: 'server',
      caseExact: false,
    });
    await ask('get', 'ResourceTypes/Nothing').expect(404);
    expect((await ask('post', 'Bulk', {}).expect(404)).body).toMatchObject({ status: '404' });
  });

  describe('adds people', () => {
    it('with an account each, and shows the data that it sent', async () => {
      const said = {
        schemas: [user, enterprise],
        userName: 'ada@example.com',
        externalId: 'e-1',
        name: { givenName: 'Ada', familyName: 'Lovelace' },
        displayName: 'Ada',
        emails: [
          { value: 'home@example.com', type: 'home' },
          { value: 'ada@example.com', type: 'work', primary: true },
        ],
        [enterprise]: { department: 'engines', manager: { value: 'e-0' } },
      };
      const answer = await ask('post', 'Users', { ...said, groups: [], active: true }).expect(201);
      expect(answer.body).toMatchObject({ ...said, active: true, groups: [], meta: { resourceType: 'User' } });
      expect(answer.headers.location).toBe(`https://workspaces.test/scim/v2/Users/${answer.body.id}`);
      expect(await accountOf(answer.body.id)).toMatchObject({
        username: 'ada',
        email: 'ada@example.com',
        suspended: false,
      });
      expect((await ask('get', `Users/${answer.body.id}`).expect(200)).body).toEqual(answer.body);
      const few = (await ask('get', `Users/${answer.body.id}?attributes=userName,name.givenName`).expect(200)).body;
      expect(Object.keys(few).sort()).toEqual(['id', 'name', 'schemas', 'userName']);
      const without = (await ask('get', `Users/${answer.body.id}?excludedAttributes=emails,groups`).expect(200)).body;
      expect(without).not.toHaveProperty('emails');
      expect(without).toHaveProperty('displayName');
    });

    it('once each: names ignore case, and simultaneous requests create one person', async () => {
      await person('twice', { externalId: 'e-2' });
      for (const again of [{ userName: 'TWICE' }, { userName: 'other', externalId: 'e-2' }]) {
        const { body } = await ask('post', 'Users', again).expect(409);
        expect(body).toMatchObject({ status: '409', scimType: 'uniqueness' });
      }
      const both = await Promise.all([1, 2, 3, 4].map(() => ask('post', 'Users', { userName: 'at-once' })));
      expect(both.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
      expect(both.find(({ status }) => status === 409)!.body.scimType).toBe('uniqueness');
    });

    it('never into an account with their name or address', async () => {
      const dan = await workspaces.person('dan');
      await rows('UPDATE user_account SET email_proven = true WHERE id = $1', dan.id);
      const { id } = await person('dan', { emails: [{ value: 'dan@example.com', primary: true }] });
      const account = await accountOf(id);
      expect(account.id).not.toBe(dan.id);
      expect(account.username).toMatch(/^dan-\w{6}$/);
      expect(account.email).toMatch(/@accounts\.invalid$/);
      await ask('delete', `Users/${id}`).expect(204);
      await dan.get('account/details').expect(200);
    });

    it('with their address, even if an account claims it without proof', async () => {
      const eve = await workspaces.person('eve');
      const { id } = await person('eve.of.acme', { emails: [{ value: 'eve@example.com', primary: true }] });
      expect((await accountOf(id)).email).toBe('eve@example.com');
      const { body } = await eve.get('account/details').expect(200);
      expect(body.data.attributes.email).not.toBe('eve@example.com');
    });

    it.each([
      ['no name', {}, 'userName is missing'],
      ['a password', { userName: 'p', password: 'secret' }, '"password" is not a supported attribute'],
      ['a name that is a list', { userName: [] }, 'userName must be a string'],
      ['a name that is too long', { userName: 'x'.repeat(1025) }, 'longer than 1024'],
      ['a number for a switch', { userName: 'p', active: 1 }, 'active must be true or false'],
      ['emails that are strings', { userName: 'p', emails: ['a@b.co'] }, 'emails must be an object'],
      ['unknown parts', { userName: 'p', name: { first: 'x' } }, 'has no part "first"'],
      [
        'a part that every JavaScript object has',
        { userName: 'p', name: { constructor: 'x' } },
        'has no part "constructor"',
      ],
      ['too many values', { userName: 'p', emails: Array(101).fill({ value: 'x' }) }, 'more than 100'],
      [
        'too much data for one person',
        { userName: 'p', addresses: Array(99).fill({ formatted: 'x'.repeat(1024) }) },
        'larger',
      ],
    ])('and refuses %s', async (_what, body, detail) => {
      const answer = await ask('post', 'Users', body).expect(400);
      expect(answer.body).toMatchObject({
        status: '400',
        scimType: 'invalidValue',
        detail: expect.stringContaining(detail),
      });
    });

    it('and refuses anything but JSON, and other media types, with SCIM errors', async () => {
      const sent = () => request(workspaces.server).post('/scim/v2/Users').set('Authorization', `Bearer ${token}`);
      const broken = await sent().set('Content-Type', 'application/scim+json').send('{').expect(400);
      expect(broken.body).toMatchObject({ status: '400', scimType: 'invalidSyntax' });
      expect((await sent().set('Content-Type', 'text/plain').send('{}').expect(415)).body.status).toBe('415');
      await ask('post', 'Users', { userName: 'plain json' }, token, 'application/json').expect(201);
    });
  });

  describe('searches for people', () => {
    it('by a single comparison, page by page', async () => {
      const { id } = await person('find "me"', { externalId: 'F-1' });
      const find = async (filter: string) =>
        (await ask('get', `Users?filter=${encodeURIComponent(filter)}`).expect(200)).body.Resources.map(
          (one: { id: string }) => one.id,
        );
      expect(await find('userName eq "FIND \\"me\\""')).toEqual([id]);
      expect(await find(`${user}:USERNAME EQ "find \\u0022me\\u0022"`)).toEqual([id]);
      expect(await find('externalId eq "F-1"')).toEqual([id]);
      expect(await find('externalId eq "f-1"')).toEqual([]);
      const all = (await ask('get', 'Users?count=2&startIndex=2').expect(200)).body;
      expect(all).toMatchObject({ startIndex: 2, itemsPerPage: 2 });
      expect(all.totalResults).toBeGreaterThan(2);
      expect((await ask('get', 'Users?count=0').expect(200)).body).toMatchObject({ itemsPerPage: 0, Resources: [] });
      expect((await ask('get', 'Users?count=-5&startIndex=0').expect(200)).body.startIndex).toBe(1);
      await ask('get', 'Users?count=many').expect(400);
    });

    it.each([
      ['of two comparisons', `userName eq "x" or userName pr`],
      ['with an unterminated string', `userName eq "x' OR '1'='1`],
      ['with a wrong quote character', `userName eq "x\\"`],
      ['for a part', `userName co "a"`],
      ['without quotes', `userName eq x`],
      ['with a negation', `not (userName eq "x")`],
      ['on an attribute that is not searchable', `password eq "x"`],
      ['with nested filters', `emails[type eq "work"].value eq "x"`],
      ['that is too long', `userName eq "${'x'.repeat(3000)}"`],
      ['that is nested too deeply', `${'('.repeat(2000)}userName eq "x"${')'.repeat(2000)}`],
      ['with a null character', `userName eq "a\\u0000b"`],
    ])('and refuses a filter %s', async (_how, filter) => {
      const { body } = await ask('get', `Users?filter=${encodeURIComponent(filter)}`).expect(400);
      expect(body).toMatchObject({ status: '400', scimType: 'invalidFilter' });
    });

    it('and by names in which no sign is a wildcard, for people and groups', async () => {
      const [wide, exact] = [await person('svcxwild'), await person('svc_wild')];
      const [wideGroup, exactGroup] = [await group('opsxwild'), await group('ops_wild')];
      const found = async (path: string) =>
        (await ask('get', path).expect(200)).body.Resources.map(({ id }: { id: string }) => id);
      const named = (attribute: string, text: string) => `filter=${encodeURIComponent(`${attribute} eq "${text}"`)}`;
      expect(await found(`Users?${named('userName', 'SVC_wild')}`)).toEqual([exact.id]);
      expect(await found(`Users?${named('userName', 'svc%')}`)).toEqual([]);
      expect(await found(`Groups?${named('displayName', 'OPS_wild')}`)).toEqual([exactGroup.id]);
      expect(await found(`Groups?${named('displayName', '%')}`)).toEqual([]);
      expect([wide.userName, wideGroup.displayName]).toEqual(['svcxwild', 'opsxwild']);
      expect((await accountOf(exact.id)).username).toBe('svc_wild');
    });

    it('and finds no one by text that looks like SQL', async () => {
      const filter = encodeURIComponent(`userName eq "x' OR '1'='1"`);
      expect((await ask('get', `Users?filter=${filter}`).expect(200)).body.totalResults).toBe(0);
    });
  });

  describe('changes people', () => {
    it('in the ways that directories use', async () => {
      const { id } = await person('changed', { emails: [{ value: 'one@example.com', type: 'work' }], title: 'x' });
      const { body } = await patch(
        `Users/${id}`,
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'two@example.com' },
        { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '123' },
        { op: 'replace', value: { 'name.givenName': 'Given', displayName: 'D', id: 'ignored' } },
        { op: 'add', path: `${enterprise}:department`, value: 'engines' },
        { op: 'remove', path: 'title' },
        { op: 'replace', path: `${user}:userName`, value: 'changed-2' },
      ).expect(200);
      expect(body).toMatchObject({
        id,
        userName: 'changed-2',
        displayName: 'D',
        name: { givenName: 'Given' },
        emails: [{ value: 'two@example.com', type: 'work' }],
        phoneNumbers: [{ value: '123', type: 'mobile' }],
        [enterprise]: { department: 'engines' },
      });
      expect(body).not.toHaveProperty('title');
      expect(await accountOf(id)).toMatchObject({ username: 'changed-2', email: 'two@example.com' });
      const replaced = await ask('put', `Users/${id}`, { userName: 'changed-3' }).expect(200);
      expect(replaced.body).not.toHaveProperty('displayName');
      expect(replaced.body.active).toBe(true);
    });

    it.each([
      [{ op: 'replace', path: 'nonsense', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'userName.length', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: '__proto__', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'emails[constructor eq "x"].value', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'emails[type eq "x" or type pr]', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'userName[type eq "x"]', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'x'.repeat(513), value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
      [{ op: 'add', path: 'groups', value: [{ value: 'x' }] }, 'mutability'],
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'remove', path: 'userName' }, 'invalidValue'],
      [{ op: 'move', path: 'userName', value: 'x' }, 'invalidSyntax'],
      [{ op: 'replace', path: 'userName' }, 'invalidSyntax'],
      [{ op: 'replace', value: 'x' }, 'invalidSyntax'],
      [{ op: 'replace', value: { password: 'x' } }, 'invalidPath'],
      [{ op: 'replace', path: 'active', value: 'perhaps' }, 'invalidValue'],
      ['text', 'invalidSyntax'],
    ])('but not by operation %#', async (operation, scimType) => {
      const { body: listed } = await ask('get', 'Users?filter=userName%20eq%20%22changed-3%22').expect(200);
      const [before] = listed.Resources;
      const answer = await patch(`Users/${before.id}`, operation as object).expect(400);
      expect(answer.body).toMatchObject({ status: '400', scimType });
      expect((await ask('get', `Users/${before.id}`)).body).toEqual(before);
    });

    it('and is not slowed down by many operations', async () => {
      const { id } = await person('busy');
      const emails = Array.from({ length: 90 }, (_, i) => ({ value: `${i}@example.com` }));
      const grown = Array.from({ length: 900 }, (_, n) => ({
        op: 'add',
        path: 'emails',
        value: emails.slice(0, 2).map(({ value }) => ({ value: `${n}${value}` })),
      }));
      expect((await patch(`Users/${id}`, ...grown).expect(400)).body.detail).toContain('more than 100 values');
      const many = Array.from({ length: 1001 }, () => ({ op: 'replace', path: 'title', value: 'x' }));
      await patch(`Users/${id}`, ...many).expect(400);
      expect((await ask('patch', `Users/${id}`, { Operations: [] }).expect(400)).body.scimType).toBe('invalidSyntax');
    });

    it('keeps the address of an account that has a password', async () => {
      const { id } = await person('with-password', { emails: [{ value: 'pass@example.com' }] });
      const account = await accountOf(id);
      await rows("UPDATE user_account SET password_hash = 'x' WHERE id = $1", account.id);
      await patch(`Users/${id}`, { op: 'replace', path: 'emails', value: [{ value: 'evil@example.com' }] }).expect(200);
      expect((await accountOf(id)).email).toBe('pass@example.com');
    });
  });

  describe('removes people', () => {
    it.each([
      ['by a boolean', { op: 'replace', path: 'active', value: false }],
      ['by a string', { op: 'Replace', path: 'active', value: 'False' }],
      ['without a path', { op: 'replace', value: { active: false } }],
    ])('at once, %s: sessions and tokens end, and the person cannot sign in', async (how, operation) => {
      const name = `gone-${how.replace(/ /g, '-')}`;
      const { id } = await person(name);
      const account = await accountOf(id);
      const { secret } = await tokensOf(account.id);
      const them = workspaces.as(secret);
      await them.get('account/details').expect(200);
      const { body } = await patch(`Users/${id}`, operation).expect(200);
      expect(body.active).toBe(false);
      await them.get('account/details').expect(401);
      expect(await rows('SELECT 1 FROM token WHERE user_id = $1', account.id)).toEqual([]);
      expect((await accountOf(id)).suspended).toBe(true);
      await patch(`Users/${id}`, { op: 'replace', path: 'active', value: true }).expect(200);
      expect((await accountOf(id)).suspended).toBe(false);
      // Revoked credentials do not come back.
      await them.get('account/details').expect(401);
    });

    it('but does not end a suspension by a site administrator', async () => {
      const { id } = await person('suspended-by-hand');
      const account = await accountOf(id);
      await admin.post(`admin/users/${account.id}/actions/suspend`).expect(200);
      await patch(`Users/${id}`, { op: 'replace', path: 'active', value: false }).expect(200);
      await patch(`Users/${id}`, { op: 'replace', path: 'active', value: true }).expect(200);
      expect((await accountOf(id)).suspended).toBe(true);
    });

    it('and does not end a suspension by an administrator that follows its own', async () => {
      const { id } = await person('suspended-twice');
      const account = await accountOf(id);
      await patch(`Users/${id}`, { op: 'replace', path: 'active', value: false }).expect(200);
      await admin.post(`admin/users/${account.id}/actions/suspend`).expect(200);
      await patch(`Users/${id}`, { op: 'replace', path: 'active', value: true }).expect(200);
      expect((await accountOf(id)).suspended).toBe(true);
    });

    it('permanently, and recognises them only by their id', async () => {
      const first = await person('leaver', { externalId: 'l-1', title: 'x' });
      const account = await accountOf(first.id);
      await ask('delete', `Users/${first.id}`).expect(204);
      for (const word of ['get', 'delete'] as const) await ask(word, `Users/${first.id}`).expect(404);
      expect(
        (await rows('SELECT suspended_at FROM user_account WHERE id = $1', account.id))[0]!.suspended_at,
      ).not.toBeNull();
      const namesake = await person('leaver');
      expect((await accountOf(namesake.id)).id).not.toBe(account.id);
      const back = await person('leaver-2', { externalId: 'l-1' });
      expect((await accountOf(back.id)).id).toBe(account.id);
      expect((await accountOf(back.id)).suspended).toBe(false);
      expect(back).not.toHaveProperty('title');
    });

    it('but never the last site administrator', async () => {
      const root = (await admin.get('account/details').expect(200)).body.data;
      await rows("INSERT INTO scim_user (id, user_id, user_name) VALUES ('scu-root', $1, 'root')", root.id);
      for (const refused of [
        patch('Users/scu-root', { op: 'replace', path: 'active', value: false }),
        ask('delete', 'Users/scu-root'),
        ask('put', 'Users/scu-root', { userName: 'root', active: false }),
      ]) {
        expect((await refused.expect(403)).body).toMatchObject({
          status: '403',
          detail: expect.stringContaining('site administrator'),
        });
      }
      await admin.get('admin/users').expect(200);
      await rows("DELETE FROM scim_user WHERE id = 'scu-root'");
    });

    const tokensOf = async (userId: string) => {
      const { db, env } = workspaces.service;
      return (await tokens.create(db, env.keyring, system, { kind: 'user', userId }, {}, env.now())) as {
        secret: string;
      };
    };
  });

  describe('fills teams', () => {
    it('that are linked with a group, and removes the members that it added', async () => {
      const ann = await person('ann');
      const ben = await person('ben');
      const { id } = await group('operators', ann.id);
      const operators = await team('operators');
      await link(operators, id).expect(204);
      expect(await teamsOf(ann.id)).toEqual(['operators']);
      const shown = await admin.get(`admin/teams/${operators}/scim-group-mapping`).expect(200);
      expect(shown.body.data.attributes).toEqual({
        'scim-group-id': id,
        'scim-group-name': 'operators',
        'scim-sync-paused': false,
      });
      const linked = (await admin.get(`teams/${operators}`).expect(200)).body.data.attributes;
      const at = expect.stringMatching(/^2\d+-.*Z$/);
      const filled = { 'scim-linked': true, 'scim-group-name': 'operators', 'scim-sync-paused': false };
      expect(linked).toMatchObject({ ...filled, 'scim-updated-at': at });
      const { body: people } = await admin.get('admin/users?q=ann').expect(200);
      expect(people.data[0].attributes).toMatchObject({
        'is-scim-managed': true,
        'scim-username': 'ann',
        'scim-updated-at': at,
      });
      const nobodys = { 'scim-username': null, 'scim-updated-at': null };
      const self = (await admin.get('account/details').expect(200)).body.data.attributes;
      expect(self).toMatchObject({ 'is-scim-managed': false, ...nobodys });
      await patch(`Groups/${id}`, { op: 'add', path: 'members', value: [{ value: ben.id }] }).expect(204);
      expect(await teamsOf(ben.id)).toEqual(['operators']);
      await patch(`Groups/${id}`, { op: 'remove', path: `members[value eq "${ann.id}"]` }).expect(204);
      expect(await teamsOf(ann.id)).toEqual([]);
      await patch(`Groups/${id}`, { op: 'Remove', path: 'members', value: [{ value: ben.id }] }).expect(204);
      expect(await teamsOf(ben.id)).toEqual([]);
      await patch(`Groups/${id}`, { op: 'replace', path: 'members', value: [{ value: ann.id }] }).expect(204);
      const { body } = await ask('get', `Groups/${id}`).expect(200);
      expect(body.members).toEqual([expect.objectContaining({ value: ann.id, display: 'ann', type: 'User' })]);
      expect((await ask('get', `Users/${ann.id}`).expect(200)).body.groups).toMatchObject([{ display: 'operators' }]);
      const twice = await link(operators, id).expect(409);
      expect(twice.body.errors[0].detail).toBe('Team is already linked to a SCIM group');
      await admin.delete(`admin/teams/${operators}/scim-group-mapping`).expect(204);
      const gone = await admin.delete(`admin/teams/${operators}/scim-group-mapping`).expect(409);
      expect(gone.body.errors[0].detail).toBe('Team is not linked to a SCIM group');
      expect((await admin.get(`teams/${operators}`).expect(200)).body.data.attributes).toMatchObject({
        'scim-linked': false,
        'scim-group-name': null,
        'scim-sync-paused': false,
        'scim-updated-at': null,
      });
      expect(await teamsOf(ann.id)).toEqual([]);
      expect(await rows('SELECT 1 FROM membership m JOIN scim_user s USING (user_id) WHERE s.id = $1', ann.id)).toEqual(
        [],
      );
      await ask('delete', `Groups/${id}`).expect(204);
    });

    it('but leaves those who were added by hand, and a team whose link is paused', async () => {
      const cat = await person('cat');
      const dog = await person('dog');
      const readers = await team('readers');
      const { id } = await group('readers', dog.id);
      await link(readers, id).expect(204);
      const account = await accountOf(cat.id);
      await rows(
        "INSERT INTO membership (id, organization_id, user_id, status) SELECT 'ou-cat', id, $1, 'active' FROM organization WHERE name = 'works'",
        account.id,
      );
      await admin
        .post(`teams/${readers}/relationships/users`, { data: [{ type: 'users', id: account.id }] })
        .expect(204);
      await patch(`Groups/${id}`, { op: 'add', path: 'members', value: [{ value: cat.id }] }).expect(204);
      await patch(`Groups/${id}`, { op: 'remove', path: `members[value eq "${cat.id}"]` }).expect(204);
      expect(await teamsOf(cat.id)).toEqual(['readers']);
      const pause = (paused: boolean) =>
        admin
          .patch(
            `admin/teams/${readers}/scim-group-mapping`,
            resource('scim-group-mappings', { 'scim-sync-paused': paused }),
          )
          .expect(204);
      await pause(true);
      await patch(`Groups/${id}`, { op: 'remove', path: 'members' }).expect(204);
      expect(await teamsOf(dog.id)).toEqual(['readers']);
      await pause(false);
      expect(await teamsOf(dog.id)).toEqual([]);
      expect(await teamsOf(cat.id)).toEqual(['readers']);
    });

    it('and never leaves an organization without owners', async () => {
      const { body } = await admin.get('organizations/works/teams').expect(200);
      const owners = body.data.find((one: { attributes: { name: string } }) => one.attributes.name === 'owners');
      const eva = await person('eva');
      const fay = await person('fay');
      const { id } = await group('owners', eva.id, fay.id);
      await link(owners.id, id).expect(204);
      const root = (await admin.get('account/details').expect(200)).body.data.id;
      await admin.delete(`teams/${owners.id}/relationships/users`, { data: [{ type: 'users', id: root }] }).expect(204);
      await ask('delete', `Groups/${id}`).expect(204);
      const left = [...(await teamsOf(eva.id)), ...(await teamsOf(fay.id))];
      expect(left).toEqual(['owners']);
      const kept = (await teamsOf(eva.id)).length > 0 ? eva : fay;
      await ask('delete', `Users/${kept.id}`).expect(204);
      expect((await rows('SELECT count(*)::int AS n FROM team_member WHERE team_id = $1', owners.id))[0]!.n).toBe(1);
    });

    it('with thousands of people at once', async () => {
      // The long form uses the maximum number of members in a body.
      const many = process.env.KEYSTEAD_LONG ? 10_000 : 1500;
      await rows(
        `INSERT INTO user_account (id, username, email)
         SELECT 'user-many' || n, 'many' || n, 'many' || n || '@example.com' FROM generate_series(1, ${many}) n`,
      );
      await rows(
        `INSERT INTO scim_user (id, user_id, user_name) SELECT 'scu-many' || n, 'user-many' || n, 'many' || n FROM generate_series(1, ${many}) n`,
      );
      const members = Array.from({ length: many }, (_, i) => ({
        value: `scu-many${i + 1}`,
        display: `many${i + 1}`,
      }));
      const { id } = await group('many');
      await workspaces.organization('crowds');
      const crowd = await team('crowd', 'crowds');
      await link(crowd, id).expect(204);
      await patch(`Groups/${id}`, { op: 'add', path: 'members', value: members }).expect(204);
      const size = async () =>
        (await rows('SELECT count(*)::int AS n FROM team_member WHERE team_id = $1', crowd))[0]!.n;
      expect(await size()).toBe(many);
      expect((await ask('get', `Groups/${id}`).expect(200)).body.members).toHaveLength(many);
      expect((await ask('get', `Groups/${id}?excludedAttributes=members`).expect(200)).body).not.toHaveProperty(
        'members',
      );
      await patch(`Groups/${id}`, { op: 'remove', path: 'members', value: members.slice(1) }).expect(204);
      expect(await size()).toBe(1);
      const tooMany = Array.from({ length: 10_001 }, (_, i) => ({ value: `scu-many${i}` }));
      await patch(`Groups/${id}`, { op: 'add', path: 'members', value: tooMany }).expect(413);
      await ask('delete', `Groups/${id}`).expect(204);
      expect(await size()).toBe(0);
    });

    it.each([
      [{ displayName: 'g', members: [{ value: 'scu-x' }] }, 'members has no user with this id: "scu-x"'],
      [{ displayName: 'g', members: [{ value: 'x', type: 'Group' }] }, 'nested groups'],
      [{ displayName: 'g', members: ['x'] }, 'members must be an object'],
      [{ displayName: 'g', members: [{}] }, 'needs a value'],
      [{}, 'displayName is missing'],
      [{ displayName: 'g', owners: [] }, '"owners" is not a supported attribute'],
    ])('and refuses the group %j', async (body, detail) => {
      const answer = await ask('post', 'Groups', body).expect(400);
      expect(answer.body).toMatchObject({ scimType: 'invalidValue', detail: expect.stringContaining(detail) });
    });

    it('and creates each group once', async () => {
      const { id } = await made('Groups', { displayName: 'Once', externalId: 'g-1' });
      for (const again of [{ displayName: 'ONCE' }, { displayName: 'x', externalId: 'g-1' }]) {
        expect((await ask('post', 'Groups', again).expect(409)).body.scimType).toBe('uniqueness');
      }
      const filter = encodeURIComponent('displayName eq "once"');
      expect((await ask('get', `Groups?filter=${filter}`).expect(200)).body.Resources[0].id).toBe(id);
      const renamed = { op: 'replace', value: { id, displayName: 'Renamed' } };
      await patch(`Groups/${id}`, renamed).expect(204);
      const put = await ask('put', `Groups/${id}`, { displayName: 'Put', members: [] }).expect(200);
      expect(put.body).not.toHaveProperty('externalId');
      const listed = await admin.get('admin/scim-groups?q=pu').expect(200);
      expect(listed.body.data).toEqual([expect.objectContaining({ id, attributes: { name: 'Put' } })]);
    });
  });

  it('makes the members of one group site administrators, and removes that right from all except the last one', async () => {
    const gus = await person('gus');
    const { id } = await group('roots', gus.id);
    await set({ 'site-admin-group-scim-id': 'scg-nothing' }).expect(422);
    const { body } = await set({ 'site-admin-group-scim-id': id }).expect(200);
    expect(body.data.attributes).toMatchObject({
      'site-admin-group-scim-id': id,
      'site-admin-group-display-name': 'roots',
    });
    const isAdmin = async () =>
      (await rows('SELECT site_admin FROM user_account WHERE id = $1', (await accountOf(gus.id)).id))[0]!.site_admin;
    expect(await isAdmin()).toBe(true);
    await patch(`Groups/${id}`, { op: 'remove', path: 'members' }).expect(204);
    expect(await isAdmin()).toBe(false);
    await ask('put', `Groups/${id}`, { displayName: 'roots', members: [{ value: gus.id }] }).expect(200);
    expect(await isAdmin()).toBe(true);
    await ask('delete', `Users/${gus.id}`).expect(204);
    expect(
      (await rows("SELECT count(*)::int AS n FROM user_account WHERE site_admin AND site_admin_by = 'scim'"))[0]!.n,
    ).toBe(0);
  });

  it('identifies people who sign in at one provider, which it names, only by their subject', async () => {
    await idp.start();
    idp.nowMs = () => nowMs;
    const attributes = {
      name: 'Example',
      issuer: idp.address,
      'client-id': idp.clientId,
      'client-secret': idp.clientSecret,
      'groups-claim': 'groups',
    };
    const { body } = await admin.post('admin/sign-in-providers', resource('sign-in-providers', attributes)).expect(201);
    const provider = body.data.id;
    await set({ 'sign-in-provider-id': 'sip-nothing' }).expect(422);
    await set({ 'sign-in-provider-id': 'scim' }).expect(422);
    await set({ 'sign-in-provider-id': provider }).expect(200);
    const enter = async (claims: Record<string, unknown>) => {
      const left = await request(workspaces.server).get(`/ui/sign-in/${provider}`).expect(303);
      const cookie = (left.headers['set-cookie'] as unknown as string[])[0]!.split(';')[0]!;
      const sent = idp.signIn(left.headers.location!, claims);
      const back = await request(workspaces.server).get('/ui/sign-in/callback').query(sent).set('Cookie', cookie);
      const cookies = (back.headers['set-cookie'] ?? []) as unknown as string[];
      const session = cookies.find((line) => line.startsWith('__Host-keystead-workspaces='));
      const shown =
        session &&
        (await request(workspaces.server)
          .get('/ui/session')
          .set({ 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin', Cookie: session.split(';')[0]! }));
      return { status: back.status, text: back.text, userId: shown ? shown.body['user-id'] : undefined, session };
    };
    try {
      const hal = await person('hal', { externalId: 'sub-hal' });
      const account = await accountOf(hal.id);
      await rows("UPDATE team SET sso_team_id = 'readers' WHERE name = 'readers'");
      const claims = { sub: 'sub-hal', preferred_username: 'another', groups: ['readers'] };
      expect((await enter(claims)).userId).toBe(account.id);
      // The directory decides about teams, not the token's claims.
      expect(await teamsOf(hal.id)).toEqual([]);
      expect((await enter({ ...claims, sub: 'hal' })).userId).not.toBe(account.id);
      await patch(`Users/${hal.id}`, { op: 'replace', path: 'active', value: false }).expect(200);
      const refused = await enter(claims);
      expect([refused.userId, refused.text]).toEqual([undefined, expect.stringContaining('suspended')]);
      // People removed before their first sign-in get no account either.
      const ivy = await person('ivy', { externalId: 'sub-ivy' });
      await ask('delete', `Users/${ivy.id}`).expect(204);
      expect((await enter({ sub: 'sub-ivy' })).userId).toBeUndefined();
      // A person who has signed in before keeps their account.
      const joe = await enter({ sub: 'sub-joe', preferred_username: 'joe' });
      const kept = await person('joe', { externalId: 'sub-joe' });
      expect((await accountOf(kept.id)).id).toBe(joe.userId);
      await patch(`Users/${kept.id}`, { op: 'replace', path: 'active', value: false }).expect(200);
      const over = await request(workspaces.server)
        .get('/api/v2/account/details')
        .set({ 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin', Cookie: joe.session!.split(';')[0]! });
      expect(over.status).toBe(401);
    } finally {
      await idp.stop();
    }
  });

  it('stops at once when it is switched off, and its changes stay', async () => {
    const kim = await person('kim');
    await admin.delete('admin/scim-settings').expect(204);
    await admin.delete('admin/scim-settings').expect(204);
    const self = (await admin.get('account/details').expect(200)).body.data.attributes;
    expect(self).toMatchObject({ 'is-scim-managed': null, 'scim-username': null });
    await ask('get', 'Users').expect(403);
    expect(await accountOf(kim.id)).toMatchObject({ suspended: false });
    await set({ enabled: true }).expect(200);
    await ask('get', `Users/${kim.id}`).expect(200);
  });

  it('records its changes in the audit trail', async () => {
    const actions = (await rows('SELECT DISTINCT action FROM audit_event')).map(({ action }) => action as string);
    expect(actions).toEqual(
      expect.arrayContaining([
        'scim-user.create',
        'scim-user.update',
        'scim-user.delete',
        'scim-group.create',
        'scim-group.update',
        'scim-group.delete',
        'scim-settings.update',
        'scim-token.create',
        'scim-token.delete',
        'team.scim-link',
        'team.scim-unlink',
        'user.suspend',
      ]),
    );
    const [event] = await rows("SELECT * FROM audit_event WHERE action = 'scim-user.create' LIMIT 1");
    expect(event).toMatchObject({ actor_type: 'system', actor_id: 'scim', token_id: expect.stringMatching(/^at-/) });
  });
});

describe('a directory of the hosted edition', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: 'hosted' } });
  it('has no endpoints', async () => {
    await request(workspaces.server)
      .get('/scim/v2/Users')
      .set('Authorization', `Bearer ${workspaces.admin.token}`)
      .expect(404);
    await workspaces.admin.get('admin/scim-settings').expect(404);
  });
});
