import { Refusal } from '@keystead/refusal';
import type { Logger } from '@keystead/server';
import { OutsideCalls, type OutsideResponse } from '../../sdk/outside-call';
import type { JwtConfig } from './config';
import { IssuerKeys } from './keys';

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
  /** To be typed there; undefined where the address has it. */
  readonly userCode: string | undefined;
  readonly intervalSeconds: number | undefined;
}

type Endpoint = 'authorization_endpoint' | 'token_endpoint' | 'userinfo_endpoint' | 'device_authorization_endpoint';

/** What a provider says of a request it refuses, in its own short code. */
export class ProviderRefusal extends Refusal {
  constructor(readonly code: string) {
    super('invalid', `the provider answered ${JSON.stringify(code)}`);
  }
}

const who = 'the provider';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** Talks to OpenID providers: endpoints by discovery, codes and refresh tokens for tokens, claims of the user. */
export class OidcProvider {
  readonly keys: IssuerKeys;
  private readonly calls: OutsideCalls;

  constructor(private readonly parts: { clock: { now(): number }; log: Pick<Logger, 'debug'> }) {
    this.keys = new IssuerKeys(parts.clock);
    this.calls = new OutsideCalls(parts.clock);
  }

  /** Writes what a provider said of somebody, where a role asks for it and the log is that talkative; never a token. */
  told(role: string, claims: Readonly<Record<string, unknown>>): void {
    this.parts.log.debug({ role, claims }, 'claims of an OIDC login');
  }

  /** An address of the provider; undefined where it has none. Throws `upstream` for one that cannot be trusted. */
  async endpoint(config: JwtConfig, name: Endpoint): Promise<URL | undefined> {
    const given = (await this.keys.document(config))[name];
    if (given === undefined || given === null) return undefined;
    const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
    const secure = config.oidc_discovery_url.startsWith('https:');
    if (!url || !(url.protocol === 'https:' || (!secure && url.protocol === 'http:'))) {
      throw new Refusal('upstream', `${who} names a ${name} that cannot be trusted`);
    }
    return url;
  }

  /** Throws `upstream` where the provider has no such address. */
  async requireEndpoint(config: JwtConfig, name: Endpoint): Promise<URL> {
    const url = await this.endpoint(config, name);
    if (!url) throw new Refusal('upstream', `${who} names no ${name}`);
    return url;
  }

  /** Tokens for a code of the person's browser. Throws `ProviderRefusal`, or `upstream`. */
  exchange(config: JwtConfig, code: string, verifier: string, redirectUri: string): Promise<ProviderTokens> {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    return this.tokens(config, form);
  }

  /** Newer tokens for a refresh token, which may end by that. Throws `ProviderRefusal`, or `upstream`. */
  refresh(config: JwtConfig, refreshToken: string): Promise<ProviderTokens> {
    return this.tokens(config, { grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  /** Tokens for a device whose owner has agreed. Throws `ProviderRefusal` (`authorization_pending`), or `upstream`. */
  pollDevice(config: JwtConfig, deviceCode: string): Promise<ProviderTokens> {
    return this.tokens(config, { grant_type: deviceGrant, device_code: deviceCode });
  }

  /** Begins a login that is finished on another device. */
  async beginDevice(config: JwtConfig, scope: string): Promise<DeviceLogin> {
    const url = await this.requireEndpoint(config, 'device_authorization_endpoint');
    const said = await this.post(config, url, { scope });
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

  /** What the provider says of who holds an access token; undefined where it says nothing. Throws `upstream`. */
  async userInfo(config: JwtConfig, accessToken: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const url = await this.endpoint(config, 'userinfo_endpoint');
    if (!url || accessToken === '') return undefined;
    const answer = await this.calls.call(who, url.href, {
      headers: { authorization: `Bearer ${accessToken}` },
      ca: config.oidc_discovery_ca_pem || undefined,
    });
    requireWell(answer, url);
    return answer.status === 200 && isObject(answer.json) ? answer.json : undefined;
  }

  private async tokens(config: JwtConfig, form: Readonly<Record<string, string>>): Promise<ProviderTokens> {
    const said = await this.post(config, await this.requireEndpoint(config, 'token_endpoint'), form);
    const text = (name: string) => (typeof said[name] === 'string' && said[name] !== '' ? said[name] : undefined);
    return { idToken: text('id_token'), accessToken: text('access_token') ?? '', refreshToken: text('refresh_token') };
  }

  private async post(config: JwtConfig, url: URL, sent: Readonly<Record<string, string>>) {
    const { oidc_client_id: id, oidc_client_secret: secret } = config;
    const supported = (await this.keys.document(config)).token_endpoint_auth_methods_supported;
    const inBody = Array.isArray(supported) && !supported.includes('client_secret_basic');
    const form = new URLSearchParams({ ...sent, ...(inBody ? { client_secret: secret } : {}) });
    // Providers want the name in the form also where the secret is in the header.
    form.set('client_id', id);
    const basic = Buffer.from(`${formText(id)}:${formText(secret)}`).toString('base64');
    const answer = await this.calls.call(who, url.href, {
      method: 'POST',
      form,
      headers: inBody ? {} : { authorization: `Basic ${basic}` },
      ca: config.oidc_discovery_ca_pem || undefined,
    });
    requireWell(answer, url);
    if (answer.status === 200 && isObject(answer.json)) return answer.json;
    const code = isObject(answer.json) ? answer.json.error : undefined;
    throw new ProviderRefusal(typeof code === 'string' && /^\w{1,60}$/.test(code) ? code : `status ${answer.status}`);
  }
}

/** Throws `upstream` where the provider is not well, or answers what is no answer. */
function requireWell({ status, json }: OutsideResponse, { pathname }: URL): void {
  const what =
    status === 200 && !isObject(json) && !pathname.endsWith('userinfo') ? 'something that is no JSON' : status;
  if (status >= 500 || status === 429 || typeof what === 'string' || (status >= 300 && status < 400)) {
    throw new Refusal('upstream', `${who} answered ${what} to ${pathname}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const formText = (text: string): string => new URLSearchParams({ a: text }).toString().slice(2);

const isWeb = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
