import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Answer, IssuerStandIn } from './jwt';

interface Grant {
  readonly asked: URLSearchParams;
  readonly claims: Record<string, unknown>;
}

/** An OpenID provider that tests can reconfigure. */
export class ProviderStandIn extends IssuerStandIn {
  readonly clientId = 'keystead';
  readonly clientSecret = 'secret of +/keystead';
  /** Replaces claims of every ID token; undefined removes one. */
  idClaims: Record<string, unknown> = {};
  /** The answer of the userinfo endpoint; undefined if there is none. */
  userInfo: Record<string, unknown> | undefined;
  /** Replaces the answer of the token endpoint. */
  tokenFailure: [number, unknown] | undefined;
  /** Replaces members of the token endpoint's answer. */
  tokenAnswer: Record<string, unknown> = {};
  /** Whether the person with the device has agreed. */
  deviceAgreed = false;
  /** Each user's claims, by refresh token; delete an entry to make its refresh token invalid. */
  readonly sessions = new Map<string, Record<string, unknown>>();
  readonly forms: URLSearchParams[] = [];
  readonly authorizations: (string | undefined)[] = [];
  private readonly codes = new Map<string, Grant>();

  /** Signs a person in at the address that the browser was sent to; returns the parameters of the redirect back. */
  signIn(authUrl: string, claims: Record<string, unknown> = { sub: 'ada' }): { state: string; code: string } {
    const asked = new URL(authUrl).searchParams;
    const code = randomUUID();
    this.codes.set(code, { asked, claims });
    return { state: asked.get('state')!, code };
  }

  protected override async respond(request: IncomingMessage): Promise<Answer> {
    const path = request.url ?? '';
    if (path === '/.well-known/openid-configuration') {
      const [status, document] = this.route(path) as [number, object];
      return [status, { ...this.endpoints(), ...document }];
    }
    if (path.startsWith('/authorize?')) return this.authorize(path);
    if (path === '/userinfo') return this.userInfo ? [200, this.userInfo] : [404, {}];
    if (path !== '/token' && path !== '/device') return this.route(path);
    const form = new URLSearchParams(await bodyOf(request));
    this.forms.push(form);
    this.authorizations.push(request.headers.authorization);
    if (!this.knows(request, form)) return [401, { error: 'invalid_client' }];
    if (this.tokenFailure) return this.tokenFailure;
    return path === '/device' ? this.beginDevice() : this.redeem(form);
  }

  /** Every login succeeds as `ada`, a member of `operators`. */
  private authorize(path: string): Answer {
    const url = `${this.address}${path}`;
    const back = new URL(new URL(url).searchParams.get('redirect_uri')!);
    const sent = this.signIn(url, { sub: 'ada', email: 'ada@example.com', groups: ['operators'] });
    for (const [name, value] of Object.entries(sent)) back.searchParams.set(name, value);
    return [302, {}, { location: back.href }];
  }

  private endpoints() {
    return {
      authorization_endpoint: `${this.address}/authorize`,
      token_endpoint: `${this.address}/token`,
      device_authorization_endpoint: `${this.address}/device`,
      ...(this.userInfo ? { userinfo_endpoint: `${this.address}/userinfo` } : {}),
    };
  }

  private knows(request: IncomingMessage, form: URLSearchParams): boolean {
    const basic = Buffer.from((request.headers.authorization ?? '').slice('Basic '.length), 'base64').toString();
    const [id, secret] =
      basic === '' ? [form.get('client_id'), form.get('client_secret')] : basic.split(':').map(unform);
    return id === this.clientId && secret === this.clientSecret;
  }

  private beginDevice(): [number, unknown] {
    return [
      200,
      { device_code: 'device-1', user_code: 'ABCD-EFGH', verification_uri: `${this.address}/go`, interval: 7 },
    ];
  }

  private redeem(form: URLSearchParams): [number, unknown] {
    const refused: [number, unknown] = [400, { error: 'invalid_grant' }];
    switch (form.get('grant_type')) {
      case 'authorization_code': {
        const grant = this.codes.get(form.get('code') ?? '');
        this.codes.delete(form.get('code') ?? '');
        if (!grant || form.get('redirect_uri') !== grant.asked.get('redirect_uri')) return refused;
        const digest = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        const hasChallenge = grant.asked.get('code_challenge_method') === 'S256';
        if (!hasChallenge || grant.asked.get('code_challenge') !== digest) return refused;
        return this.tokens({ nonce: grant.asked.get('nonce'), ...grant.claims });
      }
      case 'refresh_token': {
        const claims = this.sessions.get(form.get('refresh_token') ?? '');
        this.sessions.delete(form.get('refresh_token') ?? '');
        return claims ? this.tokens(claims) : refused;
      }
      default:
        return this.deviceAgreed ? this.tokens({ sub: 'ada' }) : [400, { error: 'authorization_pending' }];
    }
  }

  private tokens(claims: Record<string, unknown>): [number, unknown] {
    const refresh_token = randomUUID();
    this.sessions.set(refresh_token, claims);
    const id_token = this.sign({ aud: this.clientId, ...claims, ...this.idClaims });
    const answer = { access_token: randomUUID(), token_type: 'Bearer', refresh_token, id_token };
    return [200, { ...answer, ...this.tokenAnswer }];
  }
}

const unform = (text: string): string => new URLSearchParams(`a=${text}`).get('a')!;

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}
