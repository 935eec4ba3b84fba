import { Refusal } from '@keystead/refusal';

/** A client as its OpenID provider knows it. */
export interface OpenidClient {
  /** The issuer; its discovery document is below this address. */
  readonly issuer: string;
  /** Certificates (PEM) to trust instead of the usual ones. */
  readonly ca: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** One call to a provider. Responses with any status are returned. Throws `upstream` if there is no response. */
export type CallProvider = (
  url: string,
  request: {
    readonly method?: 'GET' | 'POST';
    readonly headers?: Readonly<Record<string, string>>;
    readonly form?: URLSearchParams;
    readonly ca?: string;
  },
) => Promise<{ readonly status: number; readonly json: unknown }>;

/** The dependencies of calls to providers. `C` is the service's record of a client. */
export interface ProviderParts<C> {
  readonly call: CallProvider;
  clientOf(registration: C): OpenidClient;
  /** The discovery document, checked to name the client's issuer. */
  document(registration: C): Promise<Readonly<Record<string, unknown>>>;
}

/** What a provider issues for a code, a device or an older refresh token. */
export interface ProviderTokens {
  readonly idToken: string | undefined;
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
}

/** A device login in progress: the URL that the user opens, and the code for polling. */
export interface DeviceLogin {
  readonly deviceCode: string;
  readonly url: string;
  /** The code to enter there; undefined if the address contains it. */
  readonly userCode: string | undefined;
  readonly intervalSeconds: number | undefined;
}

type ProviderEndpoint =
  | 'authorization_endpoint'
  | 'token_endpoint'
  | 'userinfo_endpoint'
  | 'device_authorization_endpoint';

/** A provider's refusal of a request, with its error code. */
export class ProviderRefusal extends Refusal {
  constructor(readonly code: string) {
    super('invalid', `the provider answered ${JSON.stringify(code)}`);
  }
}

const who = 'the provider';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** A client of OpenID providers: finds endpoints by discovery, exchanges codes and refresh tokens, reads userinfo. */
export class OpenidProvider<C> {
  constructor(private readonly provided: ProviderParts<C>) {}

  /** An endpoint of the provider; undefined if it has none. Throws `upstream` for a URL that cannot be trusted. */
  async endpoint(registration: C, name: ProviderEndpoint): Promise<URL | undefined> {
    const address = (await this.provided.document(registration))[name];
    if (address === undefined || address === null) return undefined;
    const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
    const secure = this.provided.clientOf(registration).issuer.startsWith('https:');
    if (!url || !(url.protocol === 'https:' || (!secure && url.protocol === 'http:'))) {
      throw new Refusal('upstream', `${who} names a ${name} that cannot be trusted`);
    }
    return url;
  }

  /** Throws `upstream` if the provider has no such endpoint. */
  async requireEndpoint(registration: C, name: ProviderEndpoint): Promise<URL> {
    const url = await this.endpoint(registration, name);
    if (!url) throw new Refusal('upstream', `${who} names no ${name}`);
    return url;
  }

  /** Tokens for a code from the person's browser. Throws `ProviderRefusal`, or `upstream`. */
  exchange(registration: C, code: string, verifier: string, redirectUri: string): Promise<ProviderTokens> {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    return this.tokens(registration, form);
  }

  /** Newer tokens for a refresh token, which may then become invalid. Throws `ProviderRefusal`, or `upstream`. */
  refresh(registration: C, refreshToken: string): Promise<ProviderTokens> {
    return this.tokens(registration, { grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  /** Tokens for a device whose owner has agreed. Throws `ProviderRefusal` (`authorization_pending`), or `upstream`. */
  pollDevice(registration: C, deviceCode: string, verifier: string): Promise<ProviderTokens> {
    return this.tokens(registration, { grant_type: deviceGrant, device_code: deviceCode, code_verifier: verifier });
  }

  /** Starts a login that is finished on another device. */
  async beginDevice(registration: C, scope: string, challenge: string): Promise<DeviceLogin> {
    const url = await this.requireEndpoint(registration, 'device_authorization_endpoint');
    const answer = await this.post(registration, url, {
      scope,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    const text = (...names: string[]) =>
      names.map((name) => answer[name]).find((value): value is string => typeof value === 'string' && value !== '');
    const complete = text('verification_uri_complete', 'verification_url_complete');
    const open = complete ?? text('verification_uri', 'verification_url');
    const deviceCode = text('device_code');
    if (!deviceCode || !open || !isWeb(open)) throw new Refusal('upstream', `${who} sent no device code`);
    const { interval } = answer;
    return {
      deviceCode,
      url: open,
      userCode: complete ? undefined : text('user_code'),
      intervalSeconds: Number.isInteger(interval) && Number(interval) > 0 ? Number(interval) : undefined,
    };
  }

  /** The userinfo of an access token's owner; undefined if the provider has no such endpoint. Throws `upstream`. */
  async userInfo(registration: C, accessToken: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const url = await this.endpoint(registration, 'userinfo_endpoint');
    if (!url || accessToken === '') return undefined;
    const answer = await this.provided.call(url.href, {
      headers: { authorization: `Bearer ${accessToken}` },
      ca: this.provided.clientOf(registration).ca,
    });
    requireWell(answer, url);
    return answer.status === 200 && isObject(answer.json) ? answer.json : undefined;
  }

  private async tokens(registration: C, form: Readonly<Record<string, string>>): Promise<ProviderTokens> {
    const answer = await this.post(registration, await this.requireEndpoint(registration, 'token_endpoint'), form);
    const text = (name: string) => (typeof answer[name] === 'string' && answer[name] !== '' ? answer[name] : undefined);
    return { idToken: text('id_token'), accessToken: text('access_token') ?? '', refreshToken: text('refresh_token') };
  }

  private async post(registration: C, url: URL, fields: Readonly<Record<string, string>>) {
    const { clientId: id, clientSecret: secret } = this.provided.clientOf(registration);
    const supported = (await this.provided.document(registration)).token_endpoint_auth_methods_supported;
    const inBody = Array.isArray(supported) && !supported.includes('client_secret_basic');
    const form = new URLSearchParams({ ...fields, ...(inBody ? { client_secret: secret } : {}) });
    // Providers want the client id in the form even if the secret is in the header.
    form.set('client_id', id);
    const basic = Buffer.from(`${formText(id)}:${formText(secret)}`).toString('base64');
    const answer = await this.provided.call(url.href, {
      method: 'POST',
      form,
      headers: inBody ? {} : { authorization: `Basic ${basic}` },
      ca: this.provided.clientOf(registration).ca,
    });
    requireWell(answer, url);
    if (answer.status === 200 && isObject(answer.json)) return answer.json;
    const code = isObject(answer.json) ? answer.json.error : undefined;
    throw new ProviderRefusal(typeof code === 'string' && /^\w{1,60}$/.test(code) ? code : `status ${answer.status}`);
  }
}

/** Throws `upstream` for a 5xx answer and for anything that is not JSON. */
function requireWell({ status, json }: { status: number; json: unknown }, { pathname }: URL): void {
  const what =
    status === 200 && !isObject(json) && !pathname.endsWith('userinfo') ? 'something that is not JSON' : status;
  if (status >= 500 || status === 429 || typeof what === 'string' || (status >= 300 && status < 400)) {
    throw new Refusal('upstream', `${who} answered ${what} to ${pathname}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const formText = (text: string): string => new URLSearchParams({ a: text }).toString().slice(2);

const isWeb = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
