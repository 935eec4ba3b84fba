import { constants, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';

/** A key pair of an issuer, and the algorithm that it signs with by default. */
export interface IssuerKey {
  readonly kid: string;
  readonly algorithm: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const curves: Record<string, string> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };

/** A key pair for an algorithm; not published yet. */
export function newKey(algorithm = 'ES256', modulusLength = 2048): IssuerKey {
  const pair =
    algorithm === 'EdDSA'
      ? generateKeyPairSync('ed25519')
      : algorithm.startsWith('ES')
        ? generateKeyPairSync('ec', { namedCurve: curves[algorithm]! })
        : generateKeyPairSync('rsa', { modulusLength });
  return { kid: randomUUID(), algorithm, ...pair };
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs header and claims unchanged and unchecked. */
export function signRaw(header: object, claims: unknown, key: IssuerKey, algorithm = key.algorithm): string {
  const text = `${encode(header)}.${encode(claims)}`;
  const digest = algorithm === 'EdDSA' ? null : `sha${algorithm.slice(2)}`;
  const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  const how = algorithm.startsWith('PS') ? padding : { dsaEncoding: 'ieee-p1363' as const };
  return `${text}.${sign(digest, Buffer.from(text), { key: key.privateKey, ...how }).toString('base64url')}`;
}

/** Status, JSON body, other headers. */
export type Answer = [status: number, body: unknown, headers?: Record<string, string>];

/**
 * An issuer of identity tokens for tests: a discovery document, a key set, and tokens signed by node:crypto only. With `tls` it uses https.
 */
export class IssuerStandIn {
  key = newKey();
  /** The published keys; `key` signs. */
  published: IssuerKey[] = [this.key];
  readonly calls: string[] = [];
  down = false;
  /** Replaces members of the discovery document. */
  document: Record<string, unknown> = {};
  /** Other members of the key set. */
  further: unknown[] = [];
  /** The clock for the times in tokens. */
  nowMs: () => number = Date.now;
  private readonly server: http.Server | https.Server;

  constructor(private readonly tls?: { readonly cert: string; readonly key: string }) {
    const answer = (request: http.IncomingMessage, response: http.ServerResponse) =>
      void this.answer(request, response);
    this.server = tls ? https.createServer(tls, answer) : http.createServer(answer);
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this.address;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Its address, which is also the `iss` of its tokens. */
  get address(): string {
    return `http${this.tls ? 's' : ''}://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get keysAddress(): string {
    return `${this.address}/keys`;
  }

  /** Replaces the signing key by a new one that is published at once. */
  rotate(algorithm = 'ES256'): void {
    this.key = newKey(algorithm);
    this.published = [this.key];
  }

  /** A signed token; `header` and `claims` replace those of a valid one, and undefined removes a claim. */
  sign(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, key = this.key): string {
    const now = Math.floor(this.nowMs() / 1000);
    const sound = { iss: this.address, aud: 'secrets', sub: 'run-1', iat: now, nbf: now, exp: now + 600 };
    return signRaw({ typ: 'JWT', alg: key.algorithm, kid: key.kid, ...header }, { ...sound, ...claims }, key);
  }

  private async answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    this.calls.push(request.url ?? '');
    const [status, body, headers] = this.down ? ([503, { error: 'down' }] as Answer) : await this.respond(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  }

  protected async respond(request: http.IncomingMessage): Promise<Answer> {
    return this.route(request.url);
  }

  protected route(path: string | undefined): [number, unknown] {
    if (path === '/.well-known/openid-configuration') {
      return [200, { issuer: this.address, jwks_uri: this.keysAddress, ...this.document }];
    }
    if (path !== '/keys') return [404, { error: 'not found' }];
    const keys = this.published.map(({ kid, publicKey }) => ({
      ...publicKey.export({ format: 'jwk' }),
      kid,
      use: 'sig',
    }));
    return [200, { keys: [...keys, ...this.further] }];
  }
}
