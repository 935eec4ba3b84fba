import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { ProviderStandIn } from '../../secrets/test/stand-ins/oidc';
import { resources } from '../src/resources/registry';
import { FakeGithub } from './fake-github';
import { requestIn, samlProvider } from './saml-stand-in';
import { resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(120_000);

const ours = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };

/** A browser, or a program. */
interface Jar {
  readonly cookie: string;
  readonly api: ReturnType<ReturnType<typeof startWorkspaces>['as']>;
}

/** The start of a flow: the cookies of the browser that started it, and the address it was sent to. */
interface Begun {
  readonly cookie: string;
  readonly state: string;
  readonly url: string;
  readonly id: string;
}

/** A way in which the answer of another service comes through a browser. */
interface Flow {
  begin(by: Jar): Promise<Begun>;
  /**
   * A person answers at the other service; returns where their browser, which lacks the first browser's cookies, is
   * finally sent.
   */
  answer(begun: Begun): Promise<URLSearchParams>;
  /** Completes the flow with a cookie jar and the answer's parameters; returns the status. */
  finish(by: Jar & { cookie: string }, begun: Begun, brought: URLSearchParams): Promise<number>;
  readonly good: number;
}

describe('an answer that arrives in one browser', () => {
  const github = new FakeGithub();
  const idp = new ProviderStandIn();
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' } });
  const { admin } = workspaces;
  const gitea = createServer((req, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify(req.url === '/api/v1/user' ? { login: 'grace' } : { access_token: 'a', expires_in: 3600 }));
  });
  let [oidc, connection] = ['', ''];
  const cookieOf = (answer: { headers: Record<string, string> }): string =>
    ((answer.headers['set-cookie'] ?? []) as unknown as string[])[0]!.split(';')[0]!;
  const searchOf = (location: string): URLSearchParams =>
    new URLSearchParams(location.includes('#') ? location.split('#')[1] : new URL(location, 'https://x').search);

  beforeAll(async () => {
    await Promise.all([github.start(), idp.start()]);
    gitea.listen(0, '127.0.0.1');
    await once(gitea, 'listening');
    await workspaces.organization('acme');
    const provider = {
      name: 'Example',
      issuer: idp.address,
      'client-id': idp.clientId,
      'client-secret': idp.clientSecret,
    };
    oidc = (await admin.post('admin/sign-in-providers', resource('sign-in-providers', provider)).expect(201)).body.data
      .id;
    const saml = {
      enabled: true,
      'idp-cert': samlProvider.certificate,
      'sso-endpoint-url': 'https://idp.test/sso',
      'slo-endpoint-url': 'https://idp.test/slo',
    };
    await admin.patch('admin/saml-settings', resource('saml-settings', saml)).expect(200);
    const origin = `http://127.0.0.1:${(gitea.address() as AddressInfo).port}`;
    const client = {
      'service-provider': 'gitea',
      'http-url': origin,
      'api-url': `${origin}/api/v1`,
      key: 'application',
      secret: 'secret',
    };
    connection = (await admin.post('organizations/acme/oauth-clients', resource('oauth-clients', client)).expect(201))
      .body.data.id;
  });
  afterAll(async () => {
    gitea.close();
    await Promise.all([github.stop(), idp.stop()]);
  });

  const signIn = (provider: () => string) => async (): Promise<Begun> => {
    const left = await request(workspaces.server).get(`/ui/sign-in/${provider()}`).expect(303);
    const url = left.headers.location!;
    const sent = new URL(url).searchParams;
    return { cookie: cookieOf(left), url, state: (sent.get('state') ?? sent.get('RelayState'))!, id: '' };
  };
  const callback: Flow['finish'] = async ({ cookie }, { state }, brought) => {
    const sent = { state, ...Object.fromEntries(brought) };
    return (await request(workspaces.server).get('/ui/sign-in/callback').query(sent).set('Cookie', cookie)).status;
  };
  /** The flows, by the path at which the answer arrives. */
  const flows: Readonly<Record<string, Flow>> = {
    '/users/saml/auth': {
      begin: signIn(() => 'saml'),
      answer: async ({ url }) => {
        const sent = requestIn(url);
        const xml = samlProvider.answer(sent, { nameId: 'victim@example.com' });
        const answered = await request(workspaces.server)
          .post('/users/saml/auth')
          .type('form')
          .send({ SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: sent.relayState })
          .expect(303);
        return searchOf(answered.headers.location!);
      },
      finish: callback,
      good: 303,
    },
    '/ui/sign-in/callback': {
      begin: signIn(() => oidc),
      answer: async ({ url }) => new URLSearchParams(idp.signIn(url, { sub: 'victim' })),
      finish: callback,
      good: 303,
    },
    '/auth/:oauth_client_id/callback': {
      begin: async ({ api }) => {
        const url = (await api.post(`oauth-clients/${connection}/authorizations`).expect(201)).body.data.attributes[
          'authorize-url'
        ];
        return { cookie: '', url, state: new URL(url).searchParams.get('state')!, id: connection };
      },
      answer: async ({ state }) => {
        const path = `/auth/${connection}/callback`;
        const led = await request(workspaces.server).get(path).query({ state, code: 'c' }).expect(302);
        return searchOf(led.headers.location!);
      },
      finish: async ({ api }, { state }, brought) => {
        const attributes = { state, code: '', ...Object.fromEntries(brought) };
        return (await api.post(`oauth-clients/${connection}/oauth-tokens`, resource('oauth-tokens', attributes)))
          .status;
      },
      good: 201,
    },
    '/github-app/:manifest_id/callback': {
      begin: async ({ api }) => {
        const asked = { 'http-url': github.origin, 'api-url': `${github.origin}/api/v3` };
        const path = 'organizations/acme/github-app-manifests';
        const { id } = (await api.post(path, resource('github-app-manifests', asked)).expect(201)).body.data;
        const { text } = await request(workspaces.server).get(`/github-app/${id}`).expect(200);
        return { cookie: '', url: '', state: /state=([\w-]+)/.exec(text.replace(/&#61;/g, '='))![1]!, id };
      },
      answer: async ({ id, state }) => {
        github.codes.add('made');
        const path = `/github-app/${id}/callback`;
        const led = await request(workspaces.server).get(path).query({ state, code: 'made' }).expect(302);
        return searchOf(led.headers.location!);
      },
      finish: async ({ api }, { id, state }, brought) => {
        const attributes = { state, code: '', ...Object.fromEntries(brought) };
        return (await api.post(`github-app-manifests/${id}/oauth-clients`, resource('oauth-clients', attributes)))
          .status;
      },
      good: 201,
    },
  };

  it('is tested for every path at which answers arrive', () => {
    const open = resources
      .flatMap(({ endpoints }) => endpoints)
      // Services that check runs answer by PATCH, with a token of the request, and without a browser.
      .filter(({ method, path }) => method !== 'PATCH' && /\/callback$|saml\/auth$/.test(path));
    const paths = ['/ui/sign-in/callback', ...open.map(({ path }) => path)];
    expect(Object.keys(flows).sort()).toEqual(paths.sort());
  });

  it.each(Object.keys(flows))(
    'is useless in the browser that began, without the answer’s parameters (%s)',
    async (path) => {
      const flow = flows[path]!;
      const attacker: Jar = { cookie: '', api: admin };
      const begun = await flow.begin(attacker);
      const brought = await flow.answer(begun);
      const knows = { ...attacker, cookie: begun.cookie };
      const sessions = async () =>
        (await workspaces.service.pool.query('SELECT 1 FROM console_session UNION ALL SELECT 1 FROM oauth_token')).rows
          .length;
      const before = await sessions();
      // The victim's browser has everything except the cookie or the session; the attacker's has everything except the
      // parameters.
      const victim = { cookie: '', api: workspaces.as((await workspaces.person(`v${path.length}`)).token!) };
      const other = await flow.begin(attacker);
      expect([400, 403, 404, 422]).toContain(await flow.finish(victim, begun, brought));
      if (other.cookie !== '') expect(await flow.finish({ ...knows, cookie: other.cookie }, begun, brought)).toBe(403);
      const guesses: Record<string, string>[] = [
        {},
        { handle: '' },
        { handle: begun.state },
        { handle: 'A'.repeat(43) },
      ];
      if (path === '/users/saml/auth')
        for (const guess of guesses) expect(await flow.finish(knows, begun, new URLSearchParams(guess))).toBe(403);
      expect(await sessions()).toBe(before);
      // None of these attempts has used up the answer.
      expect(await flow.finish(knows, begun, brought)).toBe(flow.good);
      expect(await flow.finish(knows, begun, brought)).not.toBe(flow.good);
    },
  );

  it('is expected only for a limited number of sign-ins, of which the newest stay', async () => {
    await workspaces.service.pool.query(
      `INSERT INTO pending_sign_in (state_hash, browser_hash, provider_id, client, return_to, created_at, expires_at)
       SELECT decode(md5(n::text), 'hex'), '\\x00', $1, '', '', now(), now() + n * interval '1 ms'
         FROM generate_series(1, 12000) n`,
      [oidc],
    );
    const begun = await flows['/ui/sign-in/callback']!.begin({ cookie: '', api: admin });
    const { rows } = await workspaces.service.pool.query('SELECT count(*)::int AS n FROM pending_sign_in');
    expect(rows[0].n).toBeLessThanOrEqual(10_000);
    const brought = await flows['/ui/sign-in/callback']!.answer(begun);
    expect(await callback({ cookie: begun.cookie, api: admin }, begun, brought)).toBe(303);
  });

  it('is not displaced by a network that starts very many sign-ins', async () => {
    const { pool } = workspaces.service;
    await pool.query('DELETE FROM pending_sign_in');
    const flow = flows['/ui/sign-in/callback']!;
    const honest = await flow.begin({ cookie: '', api: admin });
    await pool.query("UPDATE pending_sign_in SET network_hash = '\\x01'");
    await pool.query(
      `INSERT INTO pending_sign_in (state_hash, browser_hash, network_hash, provider_id, client, return_to, created_at, expires_at)
       SELECT decode(md5(n::text), 'hex'), '\\x00', '\\x02', $1, '', '', now(), now() + interval '20 minutes'
         FROM generate_series(1, 12000) n`,
      [oidc],
    );
    await flow.begin({ cookie: '', api: admin });
    const { rows } = await pool.query(
      `SELECT count(*)::int AS n, count(*) FILTER (WHERE network_hash = '\\x02')::int AS flood FROM pending_sign_in`,
    );
    expect(rows).toEqual([{ n: 10_000, flood: 9998 }]);
    const brought = await flow.answer(honest);
    expect(await callback({ cookie: honest.cookie, api: admin }, honest, brought)).toBe(303);
    await pool.query('DELETE FROM pending_sign_in');
  });

  it('is accepted as a repeated proof only from the browser that brought it', async () => {
    const begin = flows['/users/saml/auth']!;
    const first = await begin.begin({ cookie: '', api: admin });
    const brought = await begin.answer(first);
    const entered = await request(workspaces.server)
      .get('/ui/sign-in/callback')
      .query(Object.fromEntries(brought))
      .set('Cookie', first.cookie)
      .expect(303);
    const session = cookieOf(entered);
    const asked = await request(workspaces.server)
      .post('/ui/sign-in/saml')
      .set({ ...ours, Cookie: session })
      .expect(200);
    const sent = requestIn(asked.body.location);
    const xml = samlProvider.answer(sent, { nameId: 'victim@example.com', authnInstantMs: Date.now() });
    const answered = await request(workspaces.server)
      .post('/users/saml/auth')
      .type('form')
      .send({ SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: sent.relayState })
      .expect(303);
    const cookie = `${cookieOf(asked)}; ${session}`;
    const back = (query: object) =>
      request(workspaces.server).get('/ui/sign-in/callback').query(query).set('Cookie', cookie);
    await back({ state: sent.relayState }).expect(403);
    await back(Object.fromEntries(searchOf(answered.headers.location!))).expect(303);
  });
});
