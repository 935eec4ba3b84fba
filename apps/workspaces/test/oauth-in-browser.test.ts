import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Reach } from '@keystead/outside';
import { renewTokens } from '../src/resources/connections/oauth/grants';
import { tokenText } from '../src/resources/connections/repositories/repository';
import { allRows } from './database-rows';
import { resource, startWorkspaces } from './start-workspaces';

/** A Git host that answers like Gitea: codes are valid once, refresh tokens are rotated. */
function fakeHost() {
  const codes = new Map<string, string>();
  const refresh = new Set<string>();
  const asked: URLSearchParams[] = [];
  let count = 0;
  const grant = () => {
    count++;
    refresh.add(`refresh-${count}`);
    return {
      access_token: `access-${count}`,
      token_type: 'bearer',
      expires_in: 3600,
      refresh_token: `refresh-${count}`,
    };
  };
  const server = createServer((req, res) => {
    let text = '';
    req.on('data', (piece) => (text += piece));
    req.on('end', () => {
      const answer = (status: number, body: object) => {
        res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
      if (req.url === '/api/v1/user') return answer(200, { login: 'grace' });
      if (req.url !== '/login/oauth/access_token') return answer(404, {});
      const form = new URLSearchParams(text);
      asked.push(form);
      const no = (error: string) => answer(400, { error, error_description: `${error} of the host` });
      if (form.get('client_secret') !== 'canary-secret') return no('invalid_client');
      if (form.get('grant_type') === 'refresh_token') {
        return refresh.delete(form.get('refresh_token') ?? '') ? answer(200, grant()) : no('invalid_grant');
      }
      const challenge = codes.get(form.get('code') ?? '');
      codes.delete(form.get('code') ?? '');
      const proven = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      return challenge === proven ? answer(200, grant()) : no('invalid_grant');
    });
  });
  /** A person consents: returns the code of the redirect back. */
  const agree = (url: string): string => {
    const code = `code-${codes.size}-${asked.length}`;
    codes.set(code, new URL(url).searchParams.get('code_challenge') ?? '');
    return code;
  };
  return { server, asked, agree, refresh };
}

describe('connecting a Git host in the browser', () => {
  const host = fakeHost();
  let now = Date.now();
  const workspaces = startWorkspaces({
    env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' },
    now: () => now,
  });
  const { admin } = workspaces;
  let origin = '';
  beforeAll(async () => {
    host.server.listen(0, '127.0.0.1');
    await once(host.server, 'listening');
    origin = `http://127.0.0.1:${(host.server.address() as AddressInfo).port}`;
    await workspaces.organization('acme');
  });
  afterAll(() => void host.server.close());

  const connection = async (more: object = {}) => {
    const attributes = {
      'service-provider': 'gitea',
      'http-url': origin,
      'api-url': `${origin}/api/v1`,
      key: 'application',
      secret: 'canary-secret',
      ...more,
    };
    return (await admin.post('organizations/acme/oauth-clients', resource('oauth-clients', attributes)).expect(201))
      .body.data;
  };
  const leave = async (id: string, by = admin) => {
    const answer = await by.post(`oauth-clients/${id}/authorizations`).expect(201);
    const url: string = answer.body.data.attributes['authorize-url'];
    return { url, state: new URL(url).searchParams.get('state')! };
  };
  const finish = (id: string, code: string, state: string, by = admin) =>
    by.post(`oauth-clients/${id}/oauth-tokens`, resource('oauth-tokens', { code, state }));
  const means = () => {
    const { db, env } = workspaces.service;
    return { db, keyring: env.keyring, reach: new Reach(['127.0.0.1/32']) };
  };

  it('redirects to the host with a state and a challenge, and stores the resulting token sealed', async () => {
    const made = await connection();
    expect(made.relationships['oauth-tokens'].data).toEqual([]);
    const { url, state } = await leave(made.id);
    const asked = Object.fromEntries(new URL(url).searchParams);
    expect(url.startsWith(`${origin}/login/oauth/authorize?`)).toBe(true);
    expect(asked).toMatchObject({
      client_id: 'application',
      response_type: 'code',
      redirect_uri: made.attributes['callback-url'],
      code_challenge_method: 'S256',
    });
    const { body } = await finish(made.id, host.agree(url), state).expect(201);
    expect(body.data.attributes).toMatchObject({ 'service-provider-user': 'grace', 'has-ssh-key': false });
    const { db, keyring } = means();
    expect(await tokenText(db, keyring, body.data.id)).toBe('access-1');
    const stored = JSON.stringify(await allRows(workspaces.databaseUrl));
    for (const canary of ['access-1', 'refresh-1', 'canary-secret', state]) {
      expect(stored).not.toContain(canary);
      expect(stored).not.toContain(Buffer.from(canary).toString('hex'));
    }
    // A repetition is refused.
    const again = await finish(made.id, host.agree(url), state).expect(422);
    expect(again.body.errors[0].detail).toContain('already completed');
    // After a second consent the token keeps the id that workspaces know.
    const second = await leave(made.id);
    const replaced = await finish(made.id, host.agree(second.url), second.state).expect(201);
    expect(replaced.body.data.id).toBe(body.data.id);
    expect(await tokenText(db, keyring, body.data.id)).toBe('access-2');
  });

  it('a state is valid only for its caller, its connection and its time', async () => {
    const [one, other] = [await connection(), await connection()];
    const person = await workspaces.person('eve');
    await admin
      .post('organizations/acme/organization-memberships', {
        data: {
          type: 'organization-memberships',
          attributes: { email: 'eve@example.com' },
          relationships: { teams: { data: [{ type: 'teams', id: await owners() }] } },
        },
      })
      .expect(201);
    const { url, state } = await leave(one.id);
    const refused = async (id: string, by = admin) => {
      const { body } = await finish(id, host.agree(url), state, by).expect((answer) => {
        expect([404, 422]).toContain(answer.status);
      });
      return body.errors[0];
    };
    await refused(one.id, person);
    await refused(other.id);
    const changed = await leave(one.id);
    await admin.patch(`oauth-clients/${one.id}`, resource('oauth-clients', { key: 'another' })).expect(200);
    const meanwhile = await finish(one.id, host.agree(changed.url), changed.state).expect(422);
    expect(meanwhile.body.errors[0].detail).toContain('changed in the meantime');
    await admin.patch(`oauth-clients/${one.id}`, resource('oauth-clients', { key: 'application' })).expect(200);
    now += 11 * 60_000;
    await refused(one.id);
    const late = await leave(one.id);
    const wrong = await finish(one.id, 'made-up', late.state).expect(422);
    expect(wrong.body.errors[0].detail).toContain('invalid_grant of the host');
    const shown = await admin.get(`oauth-clients/${one.id}`).expect(200);
    expect(shown.body.data.relationships['oauth-tokens'].data).toEqual([]);
  });

  const owners = async (): Promise<string> => {
    const { body } = await admin.get('organizations/acme/teams').expect(200);
    return body.data.find(({ attributes }: { attributes: { name: string } }) => attributes.name === 'owners').id;
  };

  it('needs an application at a host that supports this', async () => {
    const brought = await connection({ key: null, secret: null, 'oauth-token-string': 'pat' });
    const { body } = await admin.post(`oauth-clients/${brought.id}/authorizations`).expect(422);
    expect(body.errors[0].detail).toMatch(/register an OAuth application/);
    const server = await connection({ 'service-provider': 'ado_server' });
    const none = await admin.post(`oauth-clients/${server.id}/authorizations`).expect(422);
    expect(none.body.errors[0].detail).toMatch(/create the connection with a token/);
  });

  it('the addresses of a connection redirect to its page, and the code is passed on in the fragment', async () => {
    const { id, attributes } = await connection();
    const to = `/ui/organizations/acme/version-control/${id}`;
    const at = (path: string) => fetch(`${base()}${path}`, { redirect: 'manual' });
    const opened = await at(attributes['connect-path']);
    expect([opened.status, opened.headers.get('location')]).toEqual([302, to]);
    const back = await at(`/auth/${id}/callback?code=a%26b&state=s&authuser=0`);
    expect([back.status, back.headers.get('location')]).toEqual([302, `${to}#code=a%26b&state=s&error=`]);
    expect((await at('/auth/oc-unknown/callback')).status).toBe(404);
  });
  const base = () => `http://127.0.0.1:${(workspaces.server.address() as AddressInfo).port}`;

  it('renews a token after half of its lifetime, keeps one that a person provides, and stops if the host refuses', async () => {
    const made = await connection();
    const { url, state } = await leave(made.id);
    const { id } = (await finish(made.id, host.agree(url), state).expect(201)).body.data;
    const { db, keyring } = means();
    const before = await tokenText(db, keyring, id);
    await renewTokens(means(), () => now);
    expect(await tokenText(db, keyring, id)).toBe(before);
    const due = () => db.prisma.oauthToken.update({ where: { id }, data: { renewAt: new Date(0) } });
    await due();
    // Only one of several nodes: the refresh token is valid once.
    await Promise.all([renewTokens(means(), () => now), renewTokens(means(), () => now)]);
    const renewed = await tokenText(db, keyring, id);
    expect(renewed).not.toBe(before);
    expect(host.asked.at(-1)?.get('grant_type')).toBe('refresh_token');
    host.refresh.clear();
    for (let times = 0; times < 4; times++) {
      const row = await db.prisma.oauthToken.findUniqueOrThrow({ where: { id } });
      if (row.renewAt !== null) await due();
      await renewTokens(means(), () => now);
    }
    const row = await db.prisma.oauthToken.findUniqueOrThrow({ where: { id } });
    expect([row.renewAt, row.renewProblem]).toEqual([null, expect.stringContaining('invalid_grant')]);
    const brought = resource('oauth-clients', { 'oauth-token-string': 'pat' });
    await admin.patch(`oauth-clients/${made.id}`, brought).expect(200);
    const after = await db.prisma.oauthToken.findUniqueOrThrow({ where: { id } });
    expect([after.refreshToken, after.renewAt, after.renewProblem]).toEqual([null, null, null]);
    expect(await tokenText(db, keyring, id)).toBe('pat');
  });
});

describe('if no Git host is called', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'off' } });
  it('there is no redirect to a host', async () => {
    await workspaces.organization('acme');
    const attributes = {
      'service-provider': 'gitea',
      'http-url': 'https://git.test',
      'api-url': 'https://git.test/api/v1',
      key: 'application',
      secret: 'secret',
    };
    const made = await workspaces.admin
      .post('organizations/acme/oauth-clients', resource('oauth-clients', attributes))
      .expect(201);
    await workspaces.admin.post(`oauth-clients/${made.body.data.id}/authorizations`).expect(404);
  });
});
