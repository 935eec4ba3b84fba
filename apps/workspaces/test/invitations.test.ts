import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
import request from 'supertest';
import { ProviderStandIn } from '../../secrets/test/stand-ins/oidc';
import { system } from '../src/kernel/audit/audit';
import * as tokens from '../src/resources/people/tokens/service';
import { type Member, member, team } from './members';
import { PASSWORD, resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(120_000);

const mails: { to: string[]; text: string }[] = [];
const mailServer = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData(stream, session, done) {
    let text = '';
    stream.on('data', (piece) => (text += piece));
    stream.on('end', () => {
      mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), text: text.replace(/=\r?\n/g, '') });
      done();
    });
  },
});

describe('an address that anyone may enter', () => {
  const env: Record<string, string> = {};
  let nowMs = Date.now();
  beforeAll(async () => {
    mailServer.listen(0, '127.0.0.1');
    await once(mailServer.server, 'listening');
    env.WORKSPACES_SMTP_URL = `smtp://127.0.0.1:${(mailServer.server.address() as AddressInfo).port}`;
  });
  const workspaces = startWorkspaces({ env, now: () => nowMs });
  const idp = new ProviderStandIn();
  idp.nowMs = () => nowMs;
  const { admin } = workspaces;
  const path = 'organizations/works/organization-memberships';
  const invite = async (email: string, teamIds: string[]) => {
    const teams = { data: teamIds.map((id) => ({ type: 'teams', id })) };
    const { body } = await admin.post(path, resource('organization-memberships', { email }, { teams })).expect(201);
    return { id: body.data.id as string, link: new URL(body.meta['invite-url']).pathname.replace('/app/', '/api/v2/') };
  };
  const teamsOf = async (username: string): Promise<string[]> =>
    (
      await workspaces.service.pool.query(
        `SELECT t.name FROM team t JOIN team_member tm ON tm.team_id = t.id JOIN membership m ON m.id = tm.membership_id
           JOIN user_account u ON u.id = m.user_id WHERE u.username = $1 AND m.status = 'active' ORDER BY 1`,
        [username],
      )
    ).rows.map(({ name }) => name);
  let [provider, strong] = ['', ''];
  let count = 0;
  /** Signs in at the provider as a person in the group `devs`; returns the cookie of the session. */
  const enter = async (claims: Record<string, unknown>) => {
    const left = await request(workspaces.server).get(`/ui/sign-in/${provider}`).expect(303);
    const cookie = (left.headers['set-cookie'] as unknown as string[])[0]!.split(';')[0]!;
    const sent = idp.signIn(left.headers.location!, { groups: ['devs'], ...claims });
    const back = await request(workspaces.server).get('/ui/sign-in/callback').query(sent).set('Cookie', cookie);
    expect([back.status, back.text]).toEqual([303, '']);
  };
  const proofSentTo = (address: string) => {
    const mail = mails.filter(({ to }) => to.includes(address)).at(-1);
    return `/api/v2/one-time-links/${/one-time-links\/(\w+)/.exec(mail?.text ?? '')?.[1]}`;
  };

  beforeAll(async () => {
    await idp.start();
    const attributes = {
      name: 'Example',
      issuer: idp.address,
      'client-id': idp.clientId,
      'client-secret': idp.clientSecret,
      'groups-claim': 'groups',
      'links-accounts': true,
    };
    const made = await admin.post('admin/sign-in-providers', resource('sign-in-providers', attributes)).expect(201);
    provider = made.body.data.id;
    await workspaces.organization('works');
    await team(workspaces, 'works', 'devs', [], { 'sso-team-id': 'devs' });
    strong = await team(workspaces, 'works', 'strong', ['manage-workspaces']);
  });
  afterAll(async () => {
    await idp.stop();
    await new Promise((resolve) => mailServer.close(() => resolve(undefined)));
  });

  it('gives the person who entered it no invitation, not even through a group of another team', async () => {
    const eve = await workspaces.person('eve');
    await workspaces.service.db.prisma.user.update({ where: { id: eve.id }, data: { email: 'boss@corp.example' } });
    const { id, link } = await invite('boss@corp.example', [strong]);
    await eve.get(`organization-memberships/${id}`).expect(404);
    expect((await eve.get('organization-memberships').expect(200)).body.data).toEqual([]);
    // Her account comes from the provider, with another group.
    await workspaces.service.db.prisma.externalIdentity.create({
      data: { id: 'ei-eve', providerId: provider, subject: 'eve', userId: eve.id },
    });
    await enter({ sub: 'eve' });
    expect(await teamsOf('eve')).toEqual(['devs']);
    const left = await admin.get(`organization-memberships/${id}`).expect(200);
    expect(left.body.data.attributes).toMatchObject({ status: 'invited', email: 'boss@corp.example' });
    expect(left.body.data.relationships.teams.data).toHaveLength(1);
    // The holder of the link joins, with or without an account, even if another person entered the address.
    await workspaces.anyone
      .post(link, resource('one-time-links', { username: 'boss', password: PASSWORD }))
      .expect(200);
    expect(await teamsOf('boss')).toEqual(['strong']);
    const boss = await workspaces.anyone
      .post('session', resource('sessions', { username: 'boss', password: PASSWORD }))
      .expect(201);
    const own = await workspaces.as(boss.body.data.attributes.token).get('account/details').expect(200);
    expect(own.body.data.attributes).toMatchObject({ 'unconfirmed-email': 'boss@corp.example' });
  });

  const sql = (text: string, id: string) => workspaces.service.pool.query(text, [id]);
  /** How the inviter loses the right to invite. */
  const losses: readonly (readonly [string, (inviter: Member) => Promise<unknown>])[] = [
    ['removed', ({ membershipId }) => admin.delete(`organization-memberships/${membershipId}`).expect(204)],
    [
      'taken out of the team',
      ({ membershipId }) => sql('DELETE FROM team_member WHERE membership_id = $1', membershipId),
    ],
    ['suspended', ({ id }) => sql('UPDATE user_account SET suspended_at = now() WHERE id = $1', id)],
    ['deleted', ({ id }) => sql('DELETE FROM user_account WHERE id = $1', id)],
  ];

  it.each(losses)('does not make a person a member if the inviter has been %s', async (how, lose) => {
    const owners = (
      await sql(
        'SELECT t.id FROM team t JOIN organization o ON o.id = t.organization_id WHERE is_owners AND o.name = $1',
        'works',
      )
    ).rows[0].id;
    const inviter = await member(workspaces, 'works', [owners]);
    const [kept, lost] = await Promise.all(
      ['kept', 'lost'].map(async (what) => {
        const teams = { data: [{ type: 'teams', id: owners }] };
        const email = `${what}-${how.replaceAll(' ', '-')}@corp.example`;
        const { body } = await inviter
          .post(path, resource('organization-memberships', { email }, { teams }))
          .expect(201);
        return {
          id: body.data.id as string,
          link: new URL(body.meta['invite-url']).pathname.replace('/app/', '/api/v2/'),
        };
      }),
    );
    const accept = async (link: string) => {
      const person = await workspaces.person(`invited-${++count}`);
      return { status: (await person.post(link)).status, teams: await teamsOf(person.username) };
    };
    expect(await accept(kept!.link)).toEqual({ status: 200, teams: ['owners'] });
    await lose(inviter);
    expect(await accept(lost!.link)).toEqual({ status: 403, teams: [] });
    const chosen = resource('one-time-links', { username: `chosen-${count}`, password: PASSWORD });
    await workspaces.anyone.post(lost!.link, chosen).expect(403);
    const left = await admin.get(`organization-memberships/${lost!.id}`).expect(200);
    expect(left.body.data.attributes.status).toBe('invited');
    const audited = await sql(
      "SELECT count(*)::int AS n FROM audit_event WHERE action = 'membership.accept-refuse' AND target_id = $1",
      lost!.id,
    );
    expect(audited.rows).toEqual([{ n: 2 }]);
  });

  it('adds the teams of an invitation to a membership that came with a group', async () => {
    const { id, link } = await invite('ida@corp.example', [strong]);
    await enter({ sub: 'ida', preferred_username: 'ida', email: 'ida@corp.example', email_verified: true });
    expect(await teamsOf('ida')).toEqual(['devs']);
    const { db, env: means } = workspaces.service;
    const user = await db.prisma.user.findFirstOrThrow({ where: { username: 'ida' } });
    const { secret } = await tokens.create(db, means.keyring, system, { kind: 'user', userId: user.id }, {}, nowMs);
    const place = (await admin.get(`organization-memberships/${id}`).expect(200)).body.data.relationships.user.data.id;
    const workspace = await workspaces.workspace('works', 'told');
    const told = resource(
      'notification-configurations',
      { name: 'mail', 'destination-type': 'email' },
      { users: { data: [{ type: 'users', id: place }] } },
    );
    const path = `workspaces/${workspace.id}/notification-configurations`;
    const configuration = (await admin.post(path, told).expect(201)).body.data;
    await workspaces.as(secret!).post(link).expect(200);
    const after = await admin.get(`notification-configurations/${configuration.id}`).expect(200);
    expect(after.body.data.relationships.users.data).toEqual([{ type: 'users', id: user.id }]);
    expect(await teamsOf('ida')).toEqual(['devs', 'strong']);
    // Memberships added by hand stay when the group is removed.
    await enter({ sub: 'ida', groups: [] });
    expect(await teamsOf('ida')).toEqual(['strong']);
  });

  it('is confirmed once the link sent to it is opened with the password, and belongs to the person who proves it', async () => {
    const [ann, squatter] = [await workspaces.person('ann'), await workspaces.person('squatter')];
    const { prisma } = workspaces.service.db;
    await prisma.user.update({ where: { id: squatter.id }, data: { email: 'ann@corp.example' } });
    const asked = await ann.patch('account/update', resource('users', { email: 'ann@corp.example' })).expect(200);
    expect(asked.body.data.attributes).toMatchObject({
      email: 'ann@example.com',
      'unconfirmed-email': 'ann@corp.example',
    });
    await ann.patch('account/update', resource('users', { email: 'other@corp.example' })).expect(429);
    const link = proofSentTo('ann@corp.example');
    const shown = await workspaces.anyone.get(link).expect(200);
    expect(shown.body.data.attributes).toMatchObject({ kind: 'address-change', email: 'ann@corp.example' });
    for (const password of ['', 'wrong password'])
      await workspaces.anyone.post(link, resource('one-time-links', { password })).expect(422);
    await ann.post(link).expect(422);
    await workspaces.anyone.post(link, resource('one-time-links', { password: PASSWORD })).expect(200);
    await workspaces.anyone.post(link, resource('one-time-links', { password: PASSWORD })).expect(404);
    const details = async (who: typeof ann) => (await who.get('account/details').expect(200)).body.data.attributes;
    expect(await details(ann)).toMatchObject({ email: 'ann@corp.example', 'unconfirmed-email': null });
    expect((await details(squatter)).email).toMatch(/@accounts\.invalid$/);
    nowMs += 120_000;
    const late = await squatter.patch('account/update', resource('users', { email: 'Ann@corp.example' })).expect(422);
    expect(late.body.errors[0].detail).toBe('Email has already been taken');
  });

  it('is given by a site administrator to a person who requested it', async () => {
    const cy = await workspaces.person('cy');
    await cy.patch('account/update', resource('users', { email: 'cy@corp.example' })).expect(200);
    const confirm = `admin/users/${cy.id}/actions/confirm_email`;
    const naming = (email: string) => resource('users', { email });
    await cy.post(confirm, naming('cy@corp.example')).expect(404);
    await admin.post(confirm).expect(422);
    // The request may differ by now from the one that the administrator saw.
    const other = await admin.post(confirm, naming('chief@corp.example')).expect(422);
    expect(other.body.errors[0].source.pointer).toBe('/data/attributes/email');
    expect((await cy.get('account/details')).body.data.attributes.email).toBe('cy@example.com');
    await admin.post(confirm, naming('Cy@corp.example')).expect(200);
    expect((await cy.get('account/details')).body.data.attributes.email).toBe('cy@corp.example');
    // A second administrator gets the same answer; another address is not asked for.
    await admin.post(confirm, naming('cy@corp.example')).expect(200);
    await admin.post(confirm, naming('chief@corp.example')).expect(422);
  });

  it('moves from an account that has not verified it to the account that a provider creates for its owner', async () => {
    const { prisma } = workspaces.service.db;
    const squatter = await workspaces.person('squatter-of-new');
    await prisma.user.update({ where: { id: squatter.id }, data: { email: 'Zoe@corp.example', siteAdmin: true } });
    await enter({ sub: 'zoe', preferred_username: 'zoe', email: 'zoe@corp.example', email_verified: true });
    const zoe = await prisma.user.findFirstOrThrow({ where: { username: 'zoe' } });
    expect(zoe).toMatchObject({ email: 'zoe@corp.example', emailProven: true });
    expect((await prisma.user.findUniqueOrThrow({ where: { id: squatter.id } })).email).toMatch(/@accounts\.invalid$/);
    await enter({ sub: 'zoe-two', preferred_username: 'zoe-two', email: 'zoe@corp.example', email_verified: true });
    expect(await prisma.user.findUniqueOrThrow({ where: { id: zoe.id } })).toMatchObject({ email: 'zoe@corp.example' });
  });
});
