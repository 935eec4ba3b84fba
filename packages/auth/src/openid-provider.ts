import { Refusal } from '@keystead/refusal';

/** A client as its OpenID provider knows it. */
export interface OpenidClient {
  /** The issuer, whose discovery document stands below it. */
  readonly issuer: string;
  /** Certificates (PEM) to trust instead of the usual ones. */
  readonly ca: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** One call to a provider; throws `upstream` when nothing comes back, and every status is an answer. */
export type CallProvider = (
  url: string,
  request: {
    readonly method?: 'GET' | 'POST';
    readonly headers?: Readonly<Record<string, string>>;
    readonly form?: URLSearchParams;
    readonly ca?: string;
  },
) => Promise<{ readonly status: number; readonly json: unknown }>;

/** What providers are talked to with; `C` is how a service keeps a client. */
export interface ProviderParts<C> {
  readonly call: CallProvider;
  clientOf(kept: C): OpenidClient;
  /** The discovery document, checked to be of the issuer that was asked. */
  document(kept: C): Promise<Readonly<Record<string, unknown>>>;
}

/** What a provider hands out for a code, a device or an older refresh token. */
export interface ProviderTokens {
  readonly idToken: string | undefined;
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
}

/** A device login that was begun: what the person opens, and what we ask again with. */
export interface DeviceLogin {
  readonly deviceCode: string;
  readonly url: string;
  /** To be typed there; undefined if the address has it. */
  readonly userCode: string | undefined;
  readonly intervalSeconds: number | undefined;
}

type ProviderEndpoint =
  | 'authorization_endpoint'
  | 'token_endpoint'
  | 'userinfo_endpoint'
  | 'device_authorization_endpoint';

/** What a provider says of a request it refuses, in its own short code. */
export class ProviderRefusal extends Refusal {
  constructor(readonly code: string) {
    super('invalid', `the provider answered ${JSON.stringify(code)}`);
  }
}

const who = 'the provider';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** Talks to OpenID providers: endpoints by discovery, codes and refresh tokens for tokens, claims of the user. */
export class OpenidProvider<C> {
  constructor(private readonly provided: ProviderParts<C>) {}

  /** An address of the provider; undefined if it has none. Throws `upstream` for one that cannot be trusted. */
  async endpoint(kept: C, name: ProviderEndpoint): Promise<URL | undefined> {
    const given = (await this.provided.document(kept))[name];
    if (given === undefined || given === null) return undefined;
    const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
    const secure = this.provided.clientOf(kept).issuer.startsWith('https:');
    if (!url || !(url.protocol === 'https:' || (!secure && url.protocol === 'http:'))) {
      throw new Refusal('upstream', `${who} names a ${name} that cannot be trusted`);
    }
    return url;
  }

  /** Throws `upstream` if the provider has no such address. */
  async requireEndpoint(kept: C, name: ProviderEndpoint): Promise<URL> {
    const url = await this.endpoint(kept, name);
    if (!url) throw new Refusal('upstream', `${who} names no ${name}`);
    return url;
  }

  /** Tokens for a code of the person's browser. Throws `ProviderRefusal`, or `upstream`. */
  exchange(kept: C, code: string, verifier: string, redirectUri: string): Promise<ProviderTokens> {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    return this.tokens(kept, form);
  }

  /** Newer tokens for a refresh token, which may end by that. Throws `ProviderRefusal`, or `upstream`. */
  refresh(kept: C, refreshToken: string): Promise<ProviderTokens> {
    return this.tokens(kept, { grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  /** Tokens for a device whose owner has agreed. Throws `ProviderRefusal` (`authorization_pending`), or `upstream`. */
  pollDevice(kept: C, deviceCode: string, verifier: string): Promise<ProviderTokens> {
    return this.tokens(kept, { grant_type: deviceGrant, device_code: deviceCode, code_verifier: verifier });
  }

  /** Begins a login that is finished on another device. */
  async beginDevice(kept: C, scope: string, challenge: string): Promise<DeviceLogin> {
    const url = await this.requireEndpoint(kept, 'device_authorization_endpoint');
    const said = await this.post(kept, url, { scope, code_challenge: challenge, code_challenge_method: 'S256' });
    const text = (...names: string[]) =>
      names.map((name) => said[name]).find((value): value is string => typeof value === 'string' && value !== '');
    const complete = text('verification_uri_complete', 'verification_url_complete');
    const open = complete ?? text('verification_uri', 'verification_url');
    const deviceCode = text('device_code');
    if (!deviceCode || !open || !isWeb(open)) throw new Refusal('upstream', `${who} answered no device code`);
    const { interval } = said;
    return {
      deviceCode,
      url: open,
      userCode: complete ? undefined : text('user_code'),
      intervalSeconds: Number.isInteger(interval) && Number(interval) > 0 ? Number(interval) : undefined,
    };
  }

  /** What the provider says about the owner of an access token; undefined if it says nothing. Throws `upstream`. */
  async userInfo(kept: C, accessToken: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const url = await this.endpoint(kept, 'userinfo_endpoint');
    if (!url || accessToken === '') return undefined;
    const answer = await this.provided.call(url.href, {
      headers: { authorization: `Bearer ${accessToken}` },
      ca: this.provided.clientOf(kept).ca,
    });
    requireWell(answer, url);
    return answer.status === 200 && isObject(answer.json) ? answer.json : undefined;
  }

  private async tokens(kept: C, form: Readonly<Record<string, string>>): Promise<ProviderTokens> {
    const said = await this.post(kept, await this.requireEndpoint(kept, 'token_endpoint'), form);
    const text = (name: string) => (typeof said[name] === 'string' && said[name] !== '' ? said[name] : undefined);
    return { idToken: text('id_token'), accessToken: text('access_token') ?? '', refreshToken: text('refresh_token') };
  }

  private async post(kept: C, url: URL, sent: Readonly<Record<string, string>>) {
    const { clientId: id, clientSecret: secret } = this.provided.clientOf(kept);
    const supported = (await this.provided.document(kept)).token_endpoint_auth_methods_supported;
    const inBody = Array.isArray(supported) && !supported.includes('client_secret_basic');
    const form = new URLSearchParams({ ...sent, ...(inBody ? { client_secret: secret } : {}) });
    // Providers want the name in the form also where the secret is in the header.
    form.set('client_id', id);
    const basic = Buffer.from(`${formText(id)}:${formText(secret)}`).toString('base64');
    const answer = await this.provided.call(url.href, {
      method: 'POST',
      form,
      headers: inBody ? {} : { authorization: `Basic ${basic}` },
      ca: this.provided.clientOf(kept).ca,
    });
    requireWell(answer, url);
    if (answer.status === 200 && isObject(answer.json)) return answer.json;
    const code = isObject(answer.json) ? answer.json.error : undefined;
    throw new ProviderRefusal(typeof code === 'string' && /^\w{1,60}$/.test(code) ? code : `status ${answer.status}`);
  }
}

/** Throws `upstream` if the provider is not well, or does not answer with JSON. */
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
