import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import pg from 'pg';
import { newKey, signRaw } from '../../../test/stand-ins/jwt';
import { ProviderStandIn } from '../../../test/stand-ins/oidc';
import { startSecrets } from '../../../test/start-secrets';

const back = 'http://localhost:8250/oidc/callback';

describe('sign-in at an OpenID provider', () => {
  const provider = new ProviderStandIn();
  const clock = manualClock(Date.now());
  provider.nowMs = () => clock.now();
  beforeAll(() => provider.start());
  afterAll(() => provider.stop());
  const secrets = startSecrets({ clock, env: { SECRETS_AUDIT_TABLE: 'on' } });

  const sql = async (text: string) => {
    const client = new pg.Client(secrets.database.url);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };
  const storedPaths = () => sql(`SELECT path FROM entry WHERE path LIKE 'oidc/%'`);

  const settings = () => ({
    oidc_discovery_url: provider.address,
    oidc_client_id: provider.clientId,
    oidc_client_secret: provider.clientSecret,
    default_role: 'people',
  });
  const configure = (fields: object = {}, at = 'oidc') =>
    secrets.root.write(`auth/${at}/config`, { ...settings(), ...fields });
  const role = (name: string, fields: object = {}, at = 'oidc') =>
    secrets.root.write(`auth/${at}/role/${name}`, { user_claim: 'sub', allowed_redirect_uris: back, ...fields });
  const begin = async (fields: object = {}, at = 'oidc') => {
    const { body } = await secrets.anonymous
      .write(`auth/${at}/oidc/auth_url`, { redirect_uri: back, ...fields })
      .expect(200);
    return body.data as { auth_url: string; state: string; poll_interval: string; user_code?: string };
  };
  const callback = (fields: Record<string, string>, at = 'oidc') =>
    secrets.anonymous.read(`auth/${at}/oidc/callback?${new URLSearchParams(fields)}`);
  const poll = (fields: object) => secrets.anonymous.write('auth/oidc/oidc/poll', fields);
  const signIn = async (claims: Record<string, unknown> = { sub: 'ada' }, fields: object = {}) => {
    const { auth_url } = await begin(fields);
    return callback(provider.signIn(auth_url, claims));
  };
  const refused = async (claims: Record<string, unknown>, fields: object = {}, status = 400): Promise<string> => {
    const answer = await signIn(claims, fields);
    expect(answer.status).toBe(status);
    return answer.body.errors[0];
  };

  beforeAll(async () => {
    await secrets.root.write('sys/auth/oidc', { type: 'oidc' }).expect(204);
    await configure().expect(204);
    await role('people', { token_policies: 'dev', token_ttl: '20m', claim_mappings: { email: 'email' } }).expect(204);
  });
  beforeEach(async () => {
    const bent = Object.keys(provider.document).length > 0 || provider.userInfo !== undefined;
    Object.assign(provider, {
      idClaims: {},
      userInfo: undefined,
      tokenFailure: undefined,
      tokenAnswer: {},
      document: {},
    });
    Object.assign(provider, { down: false });
    if (bent) await fetchAnew();
  });
  /** Fetched documents are cached for an hour; writing the configuration drops them. */
  const fetchAnew = () => configure().expect(204);

  describe('configuration', () => {
    it('is read without its secret', async () => {
      const { body, text } = await secrets.root.read('auth/oidc/config').expect(200);
      expect(body.data).toMatchObject({ oidc_client_id: 'keystead', oidc_response_mode: '', provider_config: {} });
      expect(text).not.toContain('secret of');
    });

    it.each([
      [{ oidc_client_secret: '' }, "both 'oidc_client_id' and 'oidc_client_secret' must be set"],
      [{ oidc_response_types: 'id_token', oidc_response_mode: 'form_post' }, 'the implicit flow with'],
      [{ oidc_response_types: 'token' }, 'invalid response_types ["token"]'],
      [{ oidc_response_mode: 'fragment' }, 'invalid response_mode: "fragment"'],
      [{ provider_config: { provider: 'gsuite' } }, 'provider "gsuite" is not built in'],
      [{ oidc_discovery_url: 'http://a/.well-known/openid-configuration' }, "contains '.well-known' component"],
    ])('refuses %j', async (fields, text) => {
      const { body } = await configure(fields).expect(400);
      expect(body.errors[0]).toContain(text);
    });

    it('is needed before a sign-in, with client id and secret', async () => {
      await secrets.root.write('sys/auth/bare', { type: 'oidc' }).expect(204);
      const ask = () => secrets.anonymous.write('auth/bare/oidc/auth_url', { role: 'r', redirect_uri: back });
      await ask().expect(400, /could not load configuration/);
      await secrets.root.write('auth/bare/config', { oidc_discovery_url: provider.address }).expect(204);
      await ask().expect(400, /OIDC login is not configured for this mount/);
    });
  });

  describe('roles', () => {
    it('are for browsers on such a mount or with redirect URIs, which they need', async () => {
      await secrets.root
        .write('auth/oidc/role/none', { user_claim: 'sub' })
        .expect(400, /'allowed_redirect_uris' must be set/);
      await secrets.root.write('sys/auth/jwt', { type: 'jwt' }).expect(204);
      await role('mixed', {}, 'jwt').expect(204);
      const { body } = await secrets.root.read('auth/jwt/role/mixed').expect(200);
      expect(body.data).toMatchObject({ role_type: 'oidc', callback_mode: 'client', max_age: 0, oidc_scopes: null });
      await role('mixed', { role_type: 'jwt' }, 'jwt').expect(400, /at least one bound constraint/);
    });

    it.each([
      [{ callback_mode: 'popup' }, "invalid 'callback_mode': popup"],
      [{ role_type: 'saml' }, "invalid 'role_type': saml"],
      [{ allowed_redirect_uris: '/here' }, '"/here" is not an absolute address'],
      [{ poll_interval: -1 }, 'poll_interval cannot be negative'],
    ])('refuse %j', async (fields, text) => {
      const { body } = await role('bad', fields).expect(400);
      expect(body.errors[0]).toContain(text);
    });

    it('for browsers accept no signed token', async () => {
      const { body } = await secrets.anonymous
        .write('auth/oidc/login', { role: 'people', jwt: provider.sign() })
        .expect(400);
      expect(body.errors[0]).toContain('role with oidc role_type is not allowed');
    });
  });

  describe('beginning', () => {
    it('sends the browser with state, nonce and the digest of a verifier that it never sees', async () => {
      await role('scoped', { oidc_scopes: 'groups,openid', max_age: '5m' }).expect(204);
      const { auth_url } = await begin({ role: 'scoped' });
      expect(auth_url).toContain(`${provider.address}/authorize?client_id=keystead&`);
      const parameters = Object.fromEntries(new URL(auth_url).searchParams);
      expect(parameters).toMatchObject({
        response_type: 'code',
        redirect_uri: back,
        scope: 'openid groups',
        max_age: '300',
        code_challenge_method: 'S256',
      });
      const { code, state } = provider.signIn(auth_url, { sub: 'ada', auth_time: Math.floor(clock.now() / 1000) });
      await callback({ code, state }).expect(200);
      const verifier = provider.forms.at(-1)!.get('code_verifier')!;
      expect(verifier).toMatch(/^\w{64}$/);
      expect(createHash('sha256').update(verifier).digest('base64url')).toBe(parameters.code_challenge);
      expect(auth_url).not.toContain(verifier);
    });

    it('uses S256 even if the provider announces only plain', async () => {
      provider.document = { code_challenge_methods_supported: ['plain'] };
      await fetchAnew();
      expect((await begin()).auth_url).toContain('code_challenge_method=S256');
    });

    it.each([
      'https://evil.example/callback',
      'http://localhost:8250/other',
      'http://localhost:8250/oidc/callback?next=https://evil.example',
      'https://localhost:8250/oidc/callback',
      'http://localhost@evil.example/oidc/callback',
      'http://user@localhost:8250/oidc/callback',
      'http://localhost:8250/oidc/callback#evil',
      'http://localhost.evil.example:8250/oidc/callback',
      'http://localhost:8250\\@evil.example/oidc/callback',
      'http://127.0.0.1:8250/oidc/callback',
      'javascript:alert(1)',
      '//localhost:8250/oidc/callback',
    ])('does not send the browser to %s', async (redirect_uri) => {
      const { body } = await secrets.anonymous.write('auth/oidc/oidc/auth_url', { redirect_uri }).expect(200);
      expect(body.data).toEqual({ auth_url: '' });
      expect(body.warnings).toEqual(['redirect_uri is not among the allowed_redirect_uris of the role']);
    });

    it('allows any port for a listener on the person’s own machine, and no other', async () => {
      await role('fixed', { allowed_redirect_uris: 'https://app.example:8443/cb' }).expect(204);
      expect((await begin({ redirect_uri: 'http://localhost:61234/oidc/callback' })).auth_url).not.toBe('');
      expect((await begin({ role: 'fixed', redirect_uri: 'https://app.example:8444/cb' })).auth_url).toBe('');
    });

    it('carries the namespace in the state if configured', async () => {
      const { auth_url } = await begin({ redirect_uri: `${back}?namespace=team%2Fa` });
      const parameters = new URL(auth_url).searchParams;
      expect([parameters.get('redirect_uri'), parameters.get('state')!.split(',')[1]]).toEqual([back, 'ns=team/a']);
      await callback(provider.signIn(auth_url)).expect(200);
      await configure({ namespace_in_state: false }).expect(204);
      expect((await begin({ redirect_uri: `${back}?namespace=team` })).auth_url).toBe('');
      await configure({ namespace_in_state: true }).expect(204);
    });
  });

  describe('coming back', () => {
    it('issues a token by the role, with its mapped claims', async () => {
      const { body } = await signIn({ sub: 'ada', email: 'ada@example.com' });
      expect(body.auth).toMatchObject({
        token_policies: ['default', 'dev'],
        lease_duration: 1200,
        metadata: { role: 'people', email: 'ada@example.com' },
      });
      const self = await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(200);
      expect(self.body.data).toMatchObject({ display_name: 'oidc-ada', path: 'auth/oidc/oidc/callback' });
      expect(provider.authorizations.at(-1)).toBe(
        `Basic ${Buffer.from('keystead:secret+of+%2B%2Fkeystead').toString('base64')}`,
      );
    });

    it('sends the secret in the form if the provider requires it', async () => {
      provider.document = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
      await fetchAnew();
      expect((await signIn()).status).toBe(200);
      expect(provider.authorizations.at(-1)).toBeUndefined();
    });

    it('can be done once for a state, by the first caller', async () => {
      const { auth_url } = await begin();
      const sent = provider.signIn(auth_url);
      const all = await Promise.all([1, 2, 3, 4].map(() => callback(sent)));
      expect(all.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
      await callback(sent).expect(400, /Expired or missing OAuth state/);
    });

    it.each([
      ['', ''],
      ['0', 'x'],
      ['zzzzzzzz.00000000000000000000000000000000', 'x'],
      ['../config', 'x'],
    ])('with the state %j is refused', (state, code) =>
      callback({ state, code }).expect(400, /Expired or missing OAuth state/),
    );

    it('is too late after ten minutes', async () => {
      const { auth_url } = await begin();
      clock.advance(601_000);
      await callback(provider.signIn(auth_url)).expect(400, /Expired or missing OAuth state/);
    });

    it('requires the nonce of the client that began it', async () => {
      const { auth_url } = await begin({ client_nonce: 'mine' });
      await callback(provider.signIn(auth_url)).expect(400, /invalid client_nonce/);
      const again = await begin({ client_nonce: 'mine' });
      await callback({ ...provider.signIn(again.auth_url), client_nonce: 'mine' }).expect(200);
    });

    it('with a code of another sign-in is refused, because of its other verifier', async () => {
      const [myLogin, otherLogin] = [await begin(), await begin()];
      const { code } = provider.signIn(otherLogin.auth_url, { sub: 'victim' });
      const { state } = provider.signIn(myLogin.auth_url);
      await callback({ state, code }).expect(400, /Error exchanging oidc code: \\"invalid_grant\\"/);
    });

    it('is refused if another issuer answers, or the configuration has changed since', async () => {
      const { auth_url } = await begin();
      const sent = provider.signIn(auth_url);
      await callback({ ...sent, iss: 'https://evil.example' }).expect(400, /another issuer/);
      const login = await begin();
      await callback({ ...provider.signIn(login.auth_url), iss: provider.address }).expect(200);
      const before = await begin();
      await configure({ oidc_client_id: 'another' }).expect(204);
      await callback(provider.signIn(before.auth_url)).expect(400, /The configuration has changed in the meantime/);
      await configure().expect(204);
    });

    it('repeats only the short error code of the provider', async () => {
      const { auth_url } = await begin();
      const state = new URL(auth_url).searchParams.get('state')!;
      await callback({ state, error: 'access_denied', error_description: '<script>' }).expect(
        400,
        /failed. access_denied"/,
      );
      const other = new URL((await begin()).auth_url).searchParams.get('state')!;
      const { text } = await callback({ state: other, error: '<script>' }).expect(400);
      expect(text).not.toContain('script');
    });

    it('is refused by another mount and another namespace', async () => {
      await secrets.root.write('sys/namespaces/team', {}).expect(200);
      await secrets.root.write('team/sys/auth/oidc', { type: 'oidc' }).expect(204);
      await secrets.root.write('team/auth/oidc/config', settings()).expect(204);
      await secrets.root
        .write('team/auth/oidc/role/people', { user_claim: 'sub', allowed_redirect_uris: back })
        .expect(204);
      const sent = provider.signIn((await begin()).auth_url);
      await secrets.anonymous
        .read(`team/auth/oidc/oidc/callback?${new URLSearchParams(sent)}`)
        .expect(400, /Expired or missing OAuth state/);
      await callback(sent).expect(200);
    });
  });

  describe('the ID token', () => {
    it.each<[string, Record<string, unknown>, string]>([
      ['of another issuer', { iss: 'https://evil.example' }, 'invalid issuer (iss) claim'],
      ['for another client', { aud: 'other' }, 'the token is for another client'],
      ['for several clients without azp', { aud: ['keystead', 'other'] }, 'invalid authorized party (azp) claim'],
      ['with another authorized party', { azp: 'other' }, 'invalid authorized party (azp) claim'],
      ['with another nonce', { nonce: 'replayed' }, 'invalid ID token nonce'],
      ['without a nonce', { nonce: undefined }, 'invalid ID token nonce'],
      ['without an expiry', { exp: undefined }, 'no expiration time (exp) claim'],
      ['that expired long ago', { exp: 1_000_000_000, iat: undefined, nbf: undefined }, 'token is expired'],
      ['without a subject', { sub: undefined }, 'invalid subject (sub) claim'],
      ['with the hash of another access token', { at_hash: 'AAAA' }, 'the access token does not match'],
    ])('%s is refused', async (_what, claims, text) => {
      provider.idClaims = claims;
      expect(await refused({ sub: 'ada' })).toContain(text);
    });

    it('may be off by a minute and no more', async () => {
      const now = Math.floor(clock.now() / 1000);
      provider.idClaims = { iat: now + 50, nbf: now + 50 };
      expect((await signIn()).status).toBe(200);
      provider.idClaims = { iat: now + 70, nbf: now + 70 };
      expect(await refused({ sub: 'ada' })).toContain('token not yet valid');
    });

    it('is valid only with a key that the provider publishes', async () => {
      const now = Math.floor(clock.now() / 1000);
      const claims = { iss: provider.address, aud: 'keystead', sub: 'ada', iat: now, exp: now + 60 };
      const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`;
      for (const id_token of [none, signRaw({ alg: 'ES256', kid: 'x' }, claims, newKey()), undefined, 7]) {
        provider.tokenAnswer = { id_token };
        expect(await refused({ sub: 'ada' })).toContain('Token verification failed');
      }
    });

    it('is verified by a new key as soon as the provider signs with it', async () => {
      expect((await signIn()).status).toBe(200);
      provider.rotate('RS256');
      expect((await signIn()).status).toBe(200);
    });

    it('must be of a recent enough sign-in', async () => {
      await role('fresh', { max_age: '1m' }).expect(204);
      const at = (age: number) => ({ sub: 'ada', auth_time: Math.floor(clock.now() / 1000) - age });
      expect((await signIn(at(100), { role: 'fresh' })).status).toBe(200);
      expect(await refused(at(200), { role: 'fresh' })).toContain('the last sign-in at the provider is too old');
      expect(await refused({ sub: 'ada' }, { role: 'fresh' })).toContain('no auth_time claim');
    });
  });

  describe('claims', () => {
    beforeAll(() =>
      role('bound', {
        bound_claims: { mail: '*@example.com' },
        bound_claims_type: 'glob',
        groups_claim: '/realm/groups',
      }).expect(204),
    );

    it('come from userinfo as well, except those about the token itself', async () => {
      provider.userInfo = { sub: 'ada' };
      await fetchAnew();
      provider.userInfo = { sub: 'ada', mail: 'ada@example.com', realm: { groups: ['a'] }, aud: 'other', iss: 'x' };
      expect((await signIn({ sub: 'ada' }, { role: 'bound' })).status).toBe(200);
      provider.userInfo = { sub: 'someone', mail: 'ada@example.com', realm: { groups: [] } };
      expect(await refused({ sub: 'ada' }, { role: 'bound' })).toContain('about another subject');
    });

    it('are compared with the bounds of the role', async () => {
      const claims = { sub: 'ada', mail: 'ada@evil.example', realm: { groups: [] } };
      expect(await refused(claims, { role: 'bound' })).toContain('claim "mail" does not match');
    });

    it('may name ten thousand groups', async () => {
      const groups = Array.from({ length: 10_000 }, (_, n) => `group-${n}-of-a-large-company`);
      const answer = await signIn({ sub: 'ada', mail: 'ada@example.com', realm: { groups } }, { role: 'bound' });
      expect(answer.status).toBe(200);
    });
  });

  describe('while the provider', () => {
    it('is down, nothing begins or completes, and everything works as soon as it is back', async () => {
      const { auth_url } = await begin();
      const sent = provider.signIn(auth_url);
      provider.down = true;
      await callback(sent).expect(502, /the provider answered 503 to \/token/);
      clock.advance(25 * 3600_000);
      const { body } = await secrets.anonymous.write('auth/oidc/oidc/auth_url', { redirect_uri: back }).expect(502);
      expect(body.errors[0]).toContain('the issuer answered 503');
      provider.down = false;
      clock.advance(6_000);
      expect((await signIn()).status).toBe(200);
    });

    it.each<[unknown, [number, unknown]]>([
      ['fails', [500, {}]],
      ['returns an array', [200, ['x']]],
      ['throttles', [429, {}]],
      ['redirects', [302, {}]],
    ])('%s, a sign-in fails with an error that names the status', async (_what, answer) => {
      provider.tokenFailure = answer;
      expect(await refused({ sub: 'ada' }, {}, 502)).toMatch(/^the provider answered .* to \/token/);
    });

    it('names addresses that cannot be trusted, no browser is sent there', async () => {
      for (const authorization_endpoint of ['javascript:alert(1)', 'nowhere', 7]) {
        provider.document = { authorization_endpoint };
        await fetchAnew();
        await secrets.anonymous
          .write('auth/oidc/oidc/auth_url', { redirect_uri: back })
          .expect(502, /cannot be trusted/);
      }
    });

    it('names no authorization endpoint, the query is answered with a warning', async () => {
      provider.document = { authorization_endpoint: null };
      await fetchAnew();
      const { body } = await secrets.anonymous.write('auth/oidc/oidc/auth_url', { redirect_uri: back }).expect(200);
      expect(body.data.auth_url).toMatch(/^\?client_id=keystead&/);
      expect(body.warnings[0]).toContain('authorization_endpoint');
    });
  });

  const post = (fields: Record<string, string>) =>
    secrets.anonymous
      .write('auth/oidc/oidc/callback', new URLSearchParams(fields).toString())
      .set('Content-Type', 'application/x-www-form-urlencoded')
      .set('Origin', 'https://provider.example');
  /** The confirmation code in the form's page: in a field, or as visible text. */
  const proofIn = (page: string) => /(?:name="confirmation" value="|enter this code: )(\w{32})/.exec(page)?.[1] ?? '';

  describe('by form', () => {
    beforeAll(() => configure({ oidc_response_mode: 'form_post' }).expect(204));
    afterAll(() => configure().expect(204));

    it('keeps the first code, and the client finishes with the code from the page', async () => {
      await callback({ state: 'x', code: 'y' }).expect(400);
      await configure().expect(204);
      await post({ state: 'x', code: 'y' }).expect(405);
      await configure({ oidc_response_mode: 'form_post' }).expect(204);
      const { auth_url } = await begin();
      expect(auth_url).toContain('response_mode=form_post');
      const { state, code } = provider.signIn(auth_url);
      await post({ state, code: 'x'.repeat(5000) }).expect(400, /longer than 4096/);
      const first = await post({ state, code }).expect(200);
      expect(first.headers['content-type']).toContain('text/html');
      expect(first.headers['content-security-policy']).toContain("default-src 'none'");
      await post({ state, code: 'evil' }).expect(400);
      await callback({ state, code: 'no_code', confirmation: proofIn(first.text) }).expect(200);
    });
  });

  describe('completed in another browser than it began in', () => {
    afterAll(() => configure().expect(204));
    const modes = ['client', 'direct'].flatMap((mode) => ['', 'form_post'].map((by) => ({ mode, by })));

    it.each(modes)(
      'is not completed by its beginner ($mode, response mode "$by"), nor used up by the attempt',
      async ({ mode, by }) => {
        await configure({ oidc_response_mode: by }).expect(204);
        await role('lured', { callback_mode: mode }).expect(204);
        // The initiator knows the address, state and nonce; the other person's browser has the code and the content of
        // the page.
        const started = await begin({ role: 'lured', client_nonce: 'of-who-began' });
        const sent = provider.signIn(started.auth_url, { sub: 'lured' });
        const page = by === 'form_post' ? (await post(sent).expect(200)).text : '';
        const fields = { state: sent.state, client_nonce: 'of-who-began' };
        const proofs = ['', 'yes', 'x'.repeat(32), sent.state, 'of-who-began'];
        for (const confirmation of by === 'form_post' ? proofs : []) {
          const { body } = await callback({ ...fields, code: 'no_code', confirmation }).expect(400);
          expect(body.errors).toEqual(['Keystead login failed. Expired or missing OAuth state.']);
        }
        if (mode === 'direct') await poll(fields).expect(400, /authorization_pending/);
        // The owner of the browser can still continue.
        const rest =
          by === 'form_post' ? { code: 'no_code', confirmation: proofIn(page) } : { ...sent, confirmation: 'yes' };
        const finished = await callback({ ...fields, ...rest }).expect(200);
        if (mode === 'direct') await poll(fields).expect(200);
        else expect(finished.body.auth.client_token).toMatch(/./);
      },
    );
  });

  describe('started without a token,', () => {
    it('uses only the slots of its mount, and does not disturb pending sign-ins', async () => {
      await secrets.anonymous
        .write('auth/oidc/oidc/auth_url', { redirect_uri: back, client_nonce: 'n'.repeat(257) })
        .expect(400, /client_nonce: at most 256 characters/);
      const myLogin = await begin();
      const placesOf = (rows: { path: string }[]) => rows.map(({ path }) => Number(path.split('-')[1]));
      for (let i = 0; i < 5; i++) await Promise.all(Array.from({ length: 20 }, () => begin()));
      const places = placesOf(await storedPaths());
      expect(places.length).toBeGreaterThan(90);
      expect(places.every((place) => place >= 0 && place < 8192)).toBe(true);
      await callback(provider.signIn(myLogin.auth_url)).expect(200);
    });
  });

  describe('directly', () => {
    beforeAll(() => role('direct', { callback_mode: 'direct', poll_interval: 2 }).expect(204));

    it('asks the person, and gives the token once to the client that began the sign-in', async () => {
      await secrets.anonymous
        .write('auth/oidc/oidc/auth_url', { role: 'direct', redirect_uri: back })
        .expect(400, /missing client_nonce/);
      const { auth_url, state, poll_interval } = await begin({ role: 'direct', client_nonce: 'n<1>' });
      expect(poll_interval).toBe('2');
      await poll({ state, client_nonce: 'n<1>' }).expect(400, /authorization_pending/);
      const sent = provider.signIn(auth_url);
      const parameters = await callback({ ...sent, code: `${sent.code}"><script>` }).expect(200);
      expect(parameters.text).toContain('Yes, sign in');
      expect(parameters.text).not.toContain('"><script>');
      await poll({ state, client_nonce: 'n<1>' }).expect(400, /authorization_pending/);
      await callback({ ...sent, confirmation: 'yes' }).expect(200, /You can close this page/);
      await callback({ ...sent, confirmation: 'yes' }).expect(400, /Expired or missing/);
      await poll({ state, client_nonce: 'other' }).expect(400, /invalid client_nonce/);
      const { body } = await poll({ state, client_nonce: 'n<1>' }).expect(200);
      expect(body.auth.metadata).toEqual({ role: 'direct' });
      await poll({ state, client_nonce: 'n<1>' }).expect(400, /Expired or missing OAuth state/);
    });

    it('shows the failure to the person, and the end to the polling client', async () => {
      const { auth_url, state } = await begin({ role: 'direct', client_nonce: 'n' });
      provider.idClaims = { aud: 'other' };
      const { text } = await callback({ ...provider.signIn(auth_url), confirmation: 'yes' }).expect(400);
      expect(text).toContain('the token is for another client');
      await poll({ state, client_nonce: 'n' }).expect(400, /Expired or missing OAuth state/);
    });
  });

  describe('by device', () => {
    it('shows URL and code, and issues the token once the person has agreed', async () => {
      await role('device', { callback_mode: 'device', allowed_redirect_uris: '' }).expect(204);
      const { auth_url, state, user_code, poll_interval } = await begin({ role: 'device', client_nonce: 'n' });
      expect([auth_url, user_code, poll_interval]).toEqual([`${provider.address}/go`, 'ABCD-EFGH', '7']);
      await callback({ state, code: 'x' }).expect(400, /Expired or missing OAuth state/);
      await poll({ state, client_nonce: 'n' }).expect(400, /authorization_pending/);
      expect(provider.forms.at(-2)!.get('code_challenge_method')).toBe('S256');
      provider.deviceAgreed = true;
      await poll({ state, client_nonce: 'x' }).expect(400, /invalid client_nonce/);
      const all = await Promise.all([1, 2, 3].map(() => poll({ state, client_nonce: 'n' })));
      expect(all.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    });
  });

  describe('renewal', () => {
    const group = async () => {
      const mounts = await secrets.root.read('sys/auth').expect(200);
      const created = await secrets.root
        .write('identity/group', { name: 'ops', type: 'external', policies: 'ops-policy' })
        .expect(200);
      await secrets.root
        .write('identity/group-alias', {
          name: 'ops',
          mount_accessor: mounts.body.data['oidc/'].accessor,
          canonical_id: created.body.data.id,
        })
        .expect(200);
    };
    const policiesOf = async (token: string) =>
      (await secrets.as(token).read('auth/token/lookup-self').expect(200)).body.data.identity_policies;

    it('with offline_access follows groups that changed at the provider, and ends with the sign-in there', async () => {
      await group();
      await role('kept', { groups_claim: 'groups', oidc_scopes: 'groups,offline_access' }).expect(204);
      const { body } = await signIn({ sub: 'grace', groups: ['ops'] }, { role: 'kept' });
      const token = body.auth.client_token as string;
      const other = (await signIn({ sub: 'grace', groups: ['ops'] }, { role: 'kept' })).body.auth.client_token;
      expect(await policiesOf(token)).toEqual(['ops-policy']);
      const renew = () => secrets.as(token).write('auth/token/renew-self', {});
      await renew().expect(200);
      expect(await policiesOf(token)).toEqual(['ops-policy']);
      for (const [key] of provider.sessions) provider.sessions.set(key, { sub: 'grace', groups: ['staff'] });
      await renew().expect(200);
      expect(await policiesOf(token)).not.toEqual(['ops-policy']);
      await secrets.as(other).write('auth/token/renew-self', {}).expect(200);
      expect(await policiesOf(other)).not.toEqual(['ops-policy']);
      // Some providers leave out the claim for users without groups.
      for (const [key] of provider.sessions) provider.sessions.set(key, { sub: 'grace', groups: ['ops'] });
      await renew().expect(200);
      expect(await policiesOf(token)).toEqual(['ops-policy']);
      for (const [key] of provider.sessions) provider.sessions.set(key, { sub: 'grace' });
      await renew().expect(200);
      expect(await policiesOf(token)).not.toEqual(['ops-policy']);
      for (const [key] of provider.sessions) provider.sessions.set(key, { sub: 'someone', groups: ['ops'] });
      await renew().expect(400, /returned another user/);
      provider.down = true;
      await secrets.as(other).write('auth/token/renew-self', {}).expect(502);
      provider.down = false;
      provider.sessions.clear();
      await secrets
        .as(other)
        .write('auth/token/renew-self', {})
        .expect(400, /the provider has ended this sign-in \(invalid_grant\)/);
    });

    it('removes all groups at a login without the claim, if the role allows it', async () => {
      const [claims, groupless] = [{ sub: 'joan', groups: ['ops'] }, { sub: 'joan' }];
      const fields = { groups_claim: 'groups', groups_claim_optional: false };
      await role('plain', fields).expect(204);
      const token = (await signIn(claims, { role: 'plain' })).body.auth.client_token;
      expect(await policiesOf(token)).toEqual(['ops-policy']);
      const refused = await signIn(groupless, { role: 'plain' });
      expect([refused.status, refused.body.errors[0]]).toEqual([400, expect.stringContaining('groups_claim_optional')]);
      await role('plain', { ...fields, groups_claim_optional: true }).expect(204);
      await signIn(groupless, { role: 'plain' });
      expect(await policiesOf(token)).not.toEqual(['ops-policy']);
    });

    it('without offline_access asks no provider', async () => {
      const { body } = await signIn();
      provider.down = true;
      await secrets.as(body.auth.client_token).write('auth/token/renew-self', {}).expect(200);
    });
  });

  it('leaves neither codes nor states nor secrets in the database or the trail', async () => {
    const { auth_url } = await begin({ client_nonce: 'a-nonce-of-mine' });
    const { state, code } = provider.signIn(auth_url);
    expect(JSON.stringify(await storedPaths())).not.toContain(state.split('.')[1]);
    await callback({ state, code, client_nonce: 'a-nonce-of-mine' }).expect(200);
    const trail = JSON.stringify(await sql('SELECT entries FROM audit_record'));
    expect(trail).toContain('oidc/callback');
    for (const text of [code, 'a-nonce-of-mine', provider.clientSecret]) expect(trail).not.toContain(text);
  });
});
