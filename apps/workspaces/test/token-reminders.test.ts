import { describe, expect, it } from '@jest/globals';
import type { Mailer } from '../src/kernel/installation/mailer';
import { remindOfTokens } from '../src/resources/people/tokens/reminders';
import { resource, startWorkspaces } from './start-workspaces';

const DAY = 86_400_000;

describe('reminders of tokens that expire soon', () => {
  const workspaces = startWorkspaces();
  const sql = (text: string, ...values: unknown[]) => workspaces.service.pool.query(text, values);
  const sent: { to: readonly string[]; subject: string; text: string }[] = [];
  let away = false;
  let refused: string | undefined;
  const mailer = {
    async send(to: readonly string[], mail: { subject: string; text: string }) {
      // Other reminders are sent while a mail is being sent.
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (away) return { accepted: [], reply: '', problem: 'away' };
      const accepted = to.filter((address) => address !== refused);
      if (accepted.length > 0) sent.push({ to: accepted, ...mail });
      return { accepted, reply: '', problem: accepted.length < to.length ? 'no such mailbox' : undefined };
    },
  } as unknown as Mailer;
  const env = () => ({ ...workspaces.service.env, mailer });
  const remind = () => remindOfTokens(workspaces.service.db, env());
  /** Makes a token look as if it had been created a few days ago, to expire in a few days. */
  const aged = (id: string, madeAgo: number, left: number) =>
    sql(
      'UPDATE token SET created_at = $2, expires_at = $3, reminded_at = NULL WHERE id = $1',
      id,
      new Date(Date.now() - madeAgo * DAY),
      new Date(Date.now() + left * DAY),
    );
  const tokenOf = async (name: string) => {
    const person = await workspaces.person(name);
    const body = resource('authentication-tokens', { description: 'pipeline' });
    const made = await person.post(`users/${person.id}/authentication-tokens`, body).expect(201);
    return { person, id: made.body.data.id as string };
  };

  it('go to its owner a week ahead, once, even with several nodes', async () => {
    const { id } = await tokenOf('ann');
    await aged(id, 30, 6);
    await Promise.all([remind(), remind(), remind()]);
    expect(sent.splice(0)).toEqual([
      {
        to: ['ann@example.com'],
        subject: expect.stringMatching(/^An API token expires on 20\d\d-\d\d-\d\d$/),
        text: expect.stringMatching(new RegExp(`“pipeline” \\(${id}\\) of ann expires .*/ui/account\n$`, 's')),
      },
    ]);
    await remind();
    expect(sent).toEqual([]);
  });

  it.each([
    ['more than a week away', 30, 8],
    ['over', 30, -1],
    ['of a token with a TTL of a few days', 1, 6],
  ])('are not sent for an expiry that is %s', async (what, madeAgo, left) => {
    const { id } = await tokenOf(`bo-${what.length}`);
    await aged(id, madeAgo, left);
    expect(await remind()).toBe(0);
    expect(sent).toEqual([]);
  });

  it('of a token of an organization or a team go to its owners, and to no one who is suspended', async () => {
    const { admin } = workspaces;
    await admin
      .post('organizations', resource('organizations', { name: 'acme', email: 'acme@example.com' }))
      .expect(201);
    const made = await admin
      .post('organizations/acme/authentication-token', resource('authentication-tokens', {}))
      .expect(201);
    await aged(made.body.data.id, 30, 2);
    await remind();
    const [mail, ...others] = sent.splice(0);
    expect([mail?.to.length, mail?.text, others]).toEqual([1, expect.stringContaining('/ui/organizations/acme'), []]);
    const { person, id } = await tokenOf('cy');
    await aged(id, 30, 2);
    await sql('UPDATE user_account SET suspended_at = now() WHERE id = $1', person.id);
    await remind();
    expect(sent).toEqual([]);
  });

  it('are not sent again to owners who got them if the address of another owner is refused', async () => {
    const { admin } = workspaces;
    const { person: eve } = await tokenOf('eve');
    const { data: teams } = (await admin.get('organizations/acme/teams?filter[names]=owners').expect(200)).body;
    const owners = { teams: { data: teams.map(({ id }: { id: string }) => ({ type: 'teams', id })) } };
    const body = resource('organization-memberships', { email: 'eve@example.com' }, owners);
    const invited = await admin.post('organizations/acme/organization-memberships', body).expect(201);
    await eve.post(new URL(invited.body.meta['invite-url']).pathname.replace('/app/', '/api/v2/')).expect(200);
    const { id } = (await admin.get('organizations/acme/authentication-token').expect(200)).body.data;
    await aged(id, 30, 2);
    refused = 'eve@example.com';
    await remind();
    expect(sent.splice(0).map(({ to }) => to.length)).toEqual([1]);
    await remind();
    refused = undefined;
    expect(sent).toEqual([]);
  });

  it('are sent once the mail server is back', async () => {
    const { id } = await tokenOf('dee');
    await aged(id, 30, 3);
    away = true;
    expect(await remind()).toBe(0);
    away = false;
    expect([await remind(), sent.splice(0).length]).toEqual([1, 1]);
  });
});
