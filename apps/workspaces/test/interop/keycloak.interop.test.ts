import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createServer } from '@keystead/server';
import { freePort, Keycloak, keycloakAt, samlClient } from '@keystead/testing';
import { resource, startWorkspaces } from '../start-workspaces';

jest.setTimeout(120_000);
if (!keycloakAt) process.stderr.write('skipped: no KEYSTEAD_KEYCLOAK, so there is no real provider\n');
const withKeycloak = keycloakAt ? describe : describe.skip;
const ours = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };

withKeycloak('people who come to the workspaces console from Keycloak', () => {
  const keycloak = new Keycloak();
  const env: Record<string, string> = {};
  let listening: Server;
  let url = '';
  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    env.WORKSPACES_PUBLIC_URL = url;
  });
  const workspaces = startWorkspaces({ env });
  const { admin } = workspaces;

  const cookieOf = (answer: Response) => answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const get = (at: string, cookie = '') => fetch(new URL(at, url), { redirect: 'manual', headers: { cookie } });
  const session = async (cookie: string) =>
    (await (await fetch(`${url}/ui/session`, { headers: { ...ours, cookie } })).json()) as Record<string, unknown>;
  const asks = (at: string, cookie: string) => fetch(`${url}/api/v2/${at}`, { headers: { ...ours, cookie } });
  const teams = async () =>
    (
      await workspaces.service.pool.query(
        'SELECT t.name FROM team t JOIN team_member tm ON tm.team_id = t.id JOIN membership m ON m.id = tm.membership_id ORDER BY 1',
      )
    ).rows.map(({ name }) => name as string);

  beforeAll(async () => {
    listening = createServer(workspaces.service.app);
    await new Promise<void>((resolve) => listening.listen(Number(new URL(url).port), '127.0.0.1', resolve));
    await keycloak.start([samlClient(url)]);
    await workspaces.organization('works');
    const team = { name: 'operators', 'sso-team-id': 'operators' };
    await admin.post('organizations/works/teams', resource('teams', team)).expect(201);
  }, 400_000);
  afterAll(async () => {
    await keycloak.stop();
    listening?.closeAllConnections();
    await new Promise((resolve) => (listening ? listening.close(resolve) : resolve(undefined)));
  });

  it('sign in by OpenID Connect, join the teams of their groups, and are signed out when Keycloak requests it', async () => {
    const attributes = {
      name: 'Keycloak',
      issuer: keycloak.issuer,
      'client-id': 'keystead',
      'client-secret': keycloak.clientSecret,
      'groups-claim': 'groups',
    };
    const { body } = await admin.post('admin/sign-in-providers', resource('sign-in-providers', attributes)).expect(201);
    const { id } = body.data;
    await keycloak.changeClient({
      'backchannel.logout.url': `${url}/ui/sign-in/${id}/logout`,
      'backchannel.logout.session.required': 'true',
    });
    const enter = async () => {
      const left = await get(`/ui/sign-in/${id}`);
      const { location } = await keycloak.browse(left.headers.get('location')!);
      const back = await get(location!, cookieOf(left));
      expect(back.status).toBe(303);
      return cookieOf(back);
    };
    const first = await enter();
    expect(await session(first)).toMatchObject({ name: 'ada' });
    expect(await teams()).toContain('operators');
    expect((await asks('organizations/works', first)).status).toBe(200);
    await keycloak.leaveGroup();
    const second = await enter();
    expect(await teams()).not.toContain('operators');
    // The older session of the person loses the right as well.
    expect((await asks('organizations/works', first)).status).toBe(404);
    expect((await asks('account/details', second)).status).toBe(200);
    await keycloak.signOut();
    for (let tries = 0; (await asks('account/details', second)).status !== 401; tries++) {
      if (tries > 100) throw new Error('the session has not ended');
      await sleep(100);
    }
    await keycloak.joinGroup();
  });

  it('sign in by SAML, and join the teams of their groups', async () => {
    const settings = {
      enabled: true,
      'sso-endpoint-url': `${keycloak.issuer}/protocol/saml`,
      'idp-cert': await keycloak.certificate(),
      'team-management-enabled': true,
      'want-assertions-signed': true,
      debug: true,
    };
    await admin.patch('admin/saml-settings', resource('saml-settings', settings)).expect(200);
    const left = await get('/ui/sign-in/saml');
    const { page } = await keycloak.browse(left.headers.get('location')!);
    const field = (name: string) => plain(new RegExp(`name="${name}"[^>]*value="([^"]*)"`, 'i').exec(page)?.[1]);
    const action = plain(/action="([^"]+)"/i.exec(page)?.[1]);
    expect(action).toBe(`${url}/users/saml/auth`);
    const sent = new URLSearchParams({ SAMLResponse: field('SAMLResponse'), RelayState: field('RelayState') });
    const answered = await fetch(action, { method: 'POST', body: sent, redirect: 'manual' });
    expect([answered.status, await answered.text()]).toEqual([303, '']);
    const back = await get(answered.headers.get('location')!, cookieOf(left));
    expect(back.status).toBe(303);
    expect((await asks('organizations/works', cookieOf(back))).status).toBe(200);
    // The same answer again, from a person who has seen it.
    const again = await fetch(action, { method: 'POST', body: sent, redirect: 'manual' });
    expect(again.status).toBe(403);
  });
});

/** Text of a page, unescaped. */
function plain(text = ''): string {
  return text
    .replace(/&#x([0-9a-f]+);/gi, (_all, code) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replace(/&#(\d+);/g, (_all, code) => String.fromCodePoint(Number(code)))
    .replaceAll('&amp;', '&');
}
