import { createSign, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

interface Signer {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** A machine, scale set or identity in the form of the compute API, by its path. */
export type ResourceTable = Map<string, unknown>;

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * A directory, its resource manager and a machine's metadata service for tests: discovery, keys, tokens and the reads of
 * the compute and identity APIs, from a table. `sign` makes tokens with the directory's current key.
 */
export class DirectoryStandIn {
  readonly tenant = randomUUID();
  readonly resource = 'https://secrets.example/';
  readonly resources: ResourceTable = new Map();
  readonly calls: string[] = [];
  readonly clientSecret = randomUUID();
  signer = newSigner();
  /** Keys the directory publishes; the newest is `signer`. */
  published: Signer[] = [this.signer];
  down = false;
  /** Lets a proxy between us and the directory answer the call; true if it did. */
  interfere: (path: string, response: http.ServerResponse) => boolean = () => false;
  /** The clock for the times in tokens. */
  nowMs: () => number = Date.now;
  private readonly accessToken = randomUUID();
  private readonly server = http.createServer((request, response) => void this.answer(request, response));

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this.address;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** As in the real directory, not the address of the discovery document. */
  get issuer(): string {
    return `https://sts.directory.example/${this.tenant}/`;
  }

  /** Replaces the signing key by a new one that is published at once. */
  rotate(): void {
    this.signer = newSigner();
    this.published = [this.signer];
  }

  /** A signed token; `header` and `claims` replace those of a valid one, and undefined removes a claim. */
  sign(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, signer = this.signer): string {
    const now = Math.floor(this.nowMs() / 1000);
    const standard = { iss: this.issuer, aud: this.resource, iat: now, nbf: now - 5, exp: now + 3600, oid: 'oid-1' };
    const head = base64url({ typ: 'JWT', alg: 'RS256', kid: signer.kid, ...header });
    const body = base64url({ ...standard, ...claims });
    const signature = createSign('RSA-SHA256').update(`${head}.${body}`).sign(signer.privateKey).toString('base64url');
    return `${head}.${body}.${signature}`;
  }

  /** Adds a machine that runs as `principals`; returns the claims of its token. */
  addMachine(name: string, where: { subscription: string; group: string; location?: string }, identity: unknown): void {
    const path = `/subscriptions/${where.subscription}/resourceGroups/${where.group}/providers/Microsoft.Compute/virtualMachines/${name}`;
    this.resources.set(path, { location: where.location ?? 'westeurope', ...(identity ? { identity } : {}) });
  }

  addScaleSet(
    name: string,
    where: { subscription: string; group: string; location?: string },
    identity: unknown,
  ): void {
    const path = `/subscriptions/${where.subscription}/resourceGroups/${where.group}/providers/Microsoft.Compute/virtualMachineScaleSets/${name}`;
    this.resources.set(path, { location: where.location ?? 'westeurope', ...(identity ? { identity } : {}) });
  }

  /** Adds a user-assigned identity; returns its path. */
  addIdentity(
    name: string,
    where: { subscription: string; group: string },
    ids: { principalId: string; clientId: string },
  ) {
    const list = `/subscriptions/${where.subscription}/resourceGroups/${where.group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities`;
    const entry = { id: `${list}/${name}`, name, properties: ids };
    this.resources.set(`${list}/${name}`, entry);
    const value = ((this.resources.get(list) as { value: unknown[] } | undefined)?.value ?? []).concat(entry);
    this.resources.set(list, { value });
    return `${list}/${name}`;
  }

  private async answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { pathname } = new URL(request.url ?? '', 'http://stand-in');
    this.calls.push(`${request.method} ${pathname}`);
    if (this.interfere(pathname, response)) return;
    const [status, json] = this.down ? [503, { error: 'down' }] : this.route(pathname, body, request);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(json));
  }

  private route(path: string, body: string, request: http.IncomingMessage): [number, unknown] {
    if (path === `/${this.tenant}/.well-known/openid-configuration`) {
      return [200, { issuer: this.issuer, jwks_uri: `${this.address}/keys` }];
    }
    if (path === '/keys') {
      const keys = this.published.map(({ kid, publicKey }) => ({
        ...publicKey.export({ format: 'jwk' }),
        kid,
        use: 'sig',
      }));
      return [200, { keys }];
    }
    if (path === `/${this.tenant}/oauth2/v2.0/token`) {
      const form = new URLSearchParams(body);
      if (form.get('client_secret') !== this.clientSecret) {
        return [401, { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid client secret provided.' }];
      }
      return [200, { token_type: 'Bearer', expires_in: 3599, access_token: this.accessToken }];
    }
    if (path === '/metadata/identity/oauth2/token') {
      if (request.headers.metadata !== 'true') return [400, { error: 'invalid_request' }];
      return [200, { access_token: this.accessToken, expires_in: '3599', token_type: 'Bearer' }];
    }
    if (!path.startsWith('/subscriptions/')) return [404, { error: 'not_found' }];
    if (request.headers.authorization !== `Bearer ${this.accessToken}`) {
      return [401, { error: { code: 'InvalidAuthenticationToken', message: 'The access token is invalid.' } }];
    }
    // The real API ignores the case of names.
    const key = [...this.resources.keys()].find((known) => known.toLowerCase() === path.toLowerCase());
    const found = key && this.resources.get(key);
    return found ? [200, found] : [404, { error: { code: 'ResourceNotFound', message: 'was not found' } }];
  }
}

/** A key pair that no directory publishes. */
export function newSigner(): Signer {
  return { kid: randomUUID(), ...generateKeyPairSync('rsa', { modulusLength: 2048 }) };
}
