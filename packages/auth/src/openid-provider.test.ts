import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { OpenidProvider, ProviderRefusal } from './openid-provider';

type Call = { url: string; method?: string; headers?: Readonly<Record<string, string>>; form?: string; ca?: string };

const issuer = 'https://provider.test/tenant';
const endpoints = {
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  device_authorization_endpoint: `${issuer}/device`,
};
const client = { issuer, ca: 'a certificate', clientId: 'us & them', clientSecret: 'p+w:d %' };

/** An in-memory provider that gives one answer, and the requests it received. */
function provider(answer: { status?: number; json?: unknown }, document: object = endpoints, registration = client) {
  const calls: Call[] = [];
  const openid = new OpenidProvider<typeof client>({
    async call(url, { form, ...request }) {
      calls.push({ url, ...request, ...(form && { form: form.toString() }) });
      return { status: answer.status ?? 200, json: answer.json };
    },
    clientOf: (one) => one,
    document: async () => document as Record<string, unknown>,
  });
  const exchange = () => openid.exchange(registration, 'c 1', 'verifier', 'http://localhost/cb');
  return { openid, calls, exchange };
}

const upstream = (text: string) => new Refusal('upstream', `the provider ${text}`);

describe('an address of a provider', () => {
  it.each([
    ['https://elsewhere.test/token', 'https://elsewhere.test/token'],
    [undefined, undefined],
    [null, undefined],
  ])('comes from its discovery document: %j', async (document, expected) => {
    const { openid } = provider({}, { token_endpoint: document });
    expect((await openid.endpoint(client, 'token_endpoint'))?.href).toBe(expected);
  });

  it.each([['http://provider.test/token'], ['ftp://provider.test/token'], ['token'], [''], [7]])(
    'is not trusted if it is %j',
    async (document) => {
      const { openid } = provider({}, { token_endpoint: document });
      const refusal = upstream('names a token_endpoint that cannot be trusted');
      await expect(openid.endpoint(client, 'token_endpoint')).rejects.toEqual(refusal);
    },
  );

  it('may use http if the issuer does', async () => {
    const clear = { ...client, issuer: 'http://127.0.0.1:8080' };
    const { openid } = provider({}, { token_endpoint: 'http://127.0.0.1:8080/token', userinfo_endpoint: 'ftp://x/' });
    expect((await openid.endpoint(clear, 'token_endpoint'))?.href).toBe('http://127.0.0.1:8080/token');
    await expect(openid.endpoint(clear, 'userinfo_endpoint')).rejects.toThrow('cannot be trusted');
  });

  it('is reported as missing if it is needed', async () => {
    const { openid, exchange } = provider({}, {});
    await expect(openid.requireEndpoint(client, 'authorization_endpoint')).rejects.toEqual(
      upstream('names no authorization_endpoint'),
    );
    await expect(exchange()).rejects.toEqual(upstream('names no token_endpoint'));
    await expect(openid.beginDevice(client, 'openid', 'x')).rejects.toEqual(
      upstream('names no device_authorization_endpoint'),
    );
  });
});

describe('tokens of a provider', () => {
  const basic = `Basic ${Buffer.from('us+%26+them:p%2Bw%3Ad+%25').toString('base64')}`;

  it('are requested with a code, and with the form-encoded name and secret in the header', async () => {
    const { calls, exchange } = provider({ json: { id_token: 'i', access_token: 'a', refresh_token: 'r' } });
    expect(await exchange()).toEqual({ idToken: 'i', accessToken: 'a', refreshToken: 'r' });
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code: 'c 1',
      redirect_uri: 'http://localhost/cb',
      code_verifier: 'verifier',
      client_id: 'us & them',
    });
    expect(calls).toEqual([
      {
        url: endpoints.token_endpoint,
        method: 'POST',
        form: form.toString(),
        headers: { authorization: basic },
        ca: 'a certificate',
      },
    ]);
  });

  it.each<[unknown, boolean]>([
    [undefined, false],
    ['client_secret_post', false],
    [['client_secret_post', 'client_secret_basic'], false],
    [['client_secret_post'], true],
  ])('are requested in the way the provider supports: %j', async (supported, inBody) => {
    const document = { ...endpoints, token_endpoint_auth_methods_supported: supported };
    const { calls, exchange } = provider({ json: {} }, document);
    await exchange();
    const sent = new URLSearchParams(calls[0]!.form);
    expect(sent.get('client_secret')).toBe(inBody ? 'p+w:d %' : null);
    expect(calls[0]!.headers).toEqual(inBody ? {} : { authorization: basic });
  });

  it('are requested with a refresh token, or for a device', async () => {
    const { openid, calls } = provider({ json: {} });
    await openid.refresh(client, 'old');
    await openid.pollDevice(client, 'd', 'verifier');
    const [refresh, device] = calls.map(({ form }) => Object.fromEntries(new URLSearchParams(form)));
    const client_id = 'us & them';
    expect(refresh).toEqual({ grant_type: 'refresh_token', refresh_token: 'old', client_id });
    expect(device).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: 'd',
      code_verifier: 'verifier',
      client_id,
    });
  });

  it('are missing if the provider sends none, or not as strings', async () => {
    const { exchange } = provider({ json: { id_token: '', access_token: 7, refresh_token: null } });
    expect(await exchange()).toEqual({ idToken: undefined, accessToken: '', refreshToken: undefined });
  });

  it.each<[number, unknown, string]>([
    [400, { error: 'invalid_grant' }, 'invalid_grant'],
    [401, { error: 'a b' }, 'status 401'],
    [400, { error: '' }, 'status 400'],
    [400, { error: `x${'y'.repeat(60)}` }, 'status 400'],
    [400, { error: 'y'.repeat(60) }, 'y'.repeat(60)],
    [400, { error: ' invalid_grant' }, 'status 400'],
    [400, { error: 'invalid_grant ' }, 'status 400'],
    [400, { error: 7 }, 'status 400'],
    [400, {}, 'status 400'],
    [403, null, 'status 403'],
    [403, 'text', 'status 403'],
    [201, { access_token: 'a' }, 'status 201'],
    [299, undefined, 'status 299'],
  ])('are refused with %i %j', async (status, json, code) => {
    const refusal = await provider({ status, json })
      .exchange()
      .catch((error) => error);
    expect(refusal).toBeInstanceOf(ProviderRefusal);
    expect(refusal).toMatchObject({ kind: 'invalid', code, message: `the provider answered "${code}"` });
  });

  it.each<[number, unknown, string]>([
    [500, {}, '500'],
    [503, { error: 'invalid_grant' }, '503'],
    [429, {}, '429'],
    [300, {}, '300'],
    [302, {}, '302'],
    [399, {}, '399'],
    [200, [], 'something that is not JSON'],
    [200, null, 'something that is not JSON'],
    [200, 'text', 'something that is not JSON'],
  ])('are unavailable while the provider fails: %i %j', async (status, json, what) => {
    const refusal = upstream(`answered ${what} to /tenant/token`);
    await expect(provider({ status, json }).exchange()).rejects.toEqual(refusal);
  });
});

describe('a login on another device', () => {
  const begin = (json: unknown) => {
    const { openid, calls } = provider({ json });
    return { calls, login: openid.beginDevice(client, 'openid profile', 'hash') };
  };

  it('is started with the scope and the challenge', async () => {
    const body = { device_code: 'd', user_code: 'AB-CD', verification_uri: 'https://provider.test/go', interval: 5 };
    const { calls, login } = begin(body);
    expect(await login).toEqual({
      deviceCode: 'd',
      url: 'https://provider.test/go',
      userCode: 'AB-CD',
      intervalSeconds: 5,
    });
    expect(calls[0]!.url).toBe(endpoints.device_authorization_endpoint);
    expect(Object.fromEntries(new URLSearchParams(calls[0]!.form))).toEqual({
      scope: 'openid profile',
      code_challenge: 'hash',
      code_challenge_method: 'S256',
      client_id: 'us & them',
    });
  });

  it.each([
    ['verification_uri_complete', undefined],
    ['verification_url_complete', undefined],
    ['verification_uri', 'AB'],
    ['verification_url', 'AB'],
  ])('has its address as %s', async (name, userCode) => {
    const { login } = begin({ device_code: 'd', user_code: 'AB', [name]: 'http://provider.test/go' });
    expect(await login).toMatchObject({ url: 'http://provider.test/go', userCode });
  });

  it('prefers the address that contains the code', async () => {
    const body = { device_code: 'd', user_code: 'AB', verification_uri: 'https://a.test/' };
    const complete = { verification_uri_complete: 'https://a.test/?code=AB' };
    expect(await begin({ ...body, ...complete }).login).toMatchObject({ url: 'https://a.test/?code=AB' });
    const empty = { verification_uri_complete: '' };
    expect(await begin({ ...body, ...empty }).login).toMatchObject({ url: 'https://a.test/', userCode: 'AB' });
  });

  it.each([[0], [-1], [1.5], ['5'], [undefined]])('has no interval if the provider sends %j', async (interval) => {
    const body = { device_code: 'd', verification_uri: 'https://a.test/', interval };
    expect((await begin(body).login).intervalSeconds).toBeUndefined();
  });

  it.each([
    [{ verification_uri: 'https://a.test/' }],
    [{ device_code: '', verification_uri: 'https://a.test/' }],
    [{ device_code: 7, verification_uri: 'https://a.test/' }],
    [{ device_code: 'd' }],
    [{ device_code: 'd', verification_uri: 'javascript:alert(1)' }],
    [{ device_code: 'd', verification_uri: 'xhttps://a.test/' }],
    [{ device_code: 'd', verification_uri: 'ipp://a.test/' }],
    [{ device_code: 'd', verification_uri: 'go' }],
  ])('is not started by %j', async (body) => {
    await expect(begin(body).login).rejects.toEqual(upstream('sent no device code'));
  });
});

describe('the userinfo of a user', () => {
  it('is requested with the access token', async () => {
    const { openid, calls } = provider({ json: { sub: 'me' } });
    expect(await openid.userInfo(client, 'token')).toEqual({ sub: 'me' });
    expect(calls).toEqual([
      { url: endpoints.userinfo_endpoint, headers: { authorization: 'Bearer token' }, ca: 'a certificate' },
    ]);
  });

  it('is undefined without an endpoint or a token, and no request is sent', async () => {
    const without = provider({ json: { sub: 'me' } }, {});
    expect(await without.openid.userInfo(client, 'token')).toBeUndefined();
    const { openid, calls } = provider({ json: { sub: 'me' } });
    expect(await openid.userInfo(client, '')).toBeUndefined();
    expect([...calls, ...without.calls]).toEqual([]);
  });

  it.each<[number, unknown]>([
    [401, { error: 'x' }],
    [200, 'a signed answer'],
    [200, []],
  ])('is undefined if it answers %i %j', async (status, json) => {
    expect(await provider({ status, json }).openid.userInfo(client, 'token')).toBeUndefined();
  });

  it('is unavailable while the provider fails', async () => {
    const { openid } = provider({ status: 500 });
    await expect(openid.userInfo(client, 'token')).rejects.toEqual(upstream('answered 500 to /tenant/userinfo'));
  });
});
