import { randomUUID } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';

interface Token {
  AccessorID: string;
  SecretID: string;
  Name: string;
  Type: string;
  Policies: string[] | null;
  Global: boolean;
}

/**
 * A scheduler for tests: the ACL calls of the engine, with the statuses, plain-text errors and limits observed at the real one. `fail` may replace any answer; `calls` records the calls.
 */
export class SchedulerStandIn {
  readonly management = randomUUID();
  readonly tokens = new Map<string, Token>();
  readonly policies = new Set<string>(['read', 'deploy']);
  readonly calls: string[] = [];
  version = '1.9.3';
  bootstrapped = true;
  /** Replaces the answer if it returns one. */
  fail: (method: string, path: string) => Answer | undefined = () => undefined;
  /** Lets a proxy between us and the scheduler answer the call; true if it did. */
  interfere: (method: string, path: string, response: http.ServerResponse) => boolean = () => false;
  /** Waits before every answer. */
  delayMs = 0;
  private readonly server: http.Server;

  constructor(tls?: https.ServerOptions) {
    const answer: http.RequestListener = (request, response) => void this.answer(request, response);
    this.server = tls ? https.createServer(tls, answer) : http.createServer(answer);
    this.scheme = tls ? 'https' : 'http';
    this.add({ Name: 'Bootstrap Token', Type: 'management', Policies: null, Global: true, SecretID: this.management });
  }

  private readonly scheme: string;

  /** Listens on a free port of the loopback; returns the address. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this.address;
  }

  get address(): string {
    return `${this.scheme}://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Existing tokens that the engine created. */
  get issued(): Token[] {
    return [...this.tokens.values()].filter((token) => token.SecretID !== this.management);
  }

  private add(token: Omit<Token, 'AccessorID' | 'SecretID'> & { SecretID?: string }): Token {
    const made = { AccessorID: randomUUID(), SecretID: randomUUID(), ...token } as Token;
    this.tokens.set(made.AccessorID, made);
    return made;
  }

  private async answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += chunk;
    const method = request.method ?? '';
    const path = new URL(request.url ?? '', 'http://stand-in').pathname;
    this.calls.push(`${method} ${path}`);
    if (this.interfere(method, path, response)) return;
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    const { status, text, json } =
      this.fail(method, path) ?? this.route(method, path, body, request.headers['x-nomad-token']);
    response.writeHead(status, {
      'content-type': json === undefined ? 'text/plain; charset=utf-8' : 'application/json',
    });
    response.end(json === undefined ? text : JSON.stringify(json));
  }

  private route(method: string, path: string, body: string, secret: unknown): Answer {
    const caller = [...this.tokens.values()].find((token) => token.SecretID === secret);
    if (path === '/v1/acl/bootstrap') return this.bootstrap();
    if (path === '/v1/acl/token/self') {
      if (caller) return { status: 200, json: caller };
      if (secret) return refused(403, 'Permission denied');
      return {
        status: 200,
        json: { AccessorID: 'anonymous', Name: 'Anonymous Token', Type: 'client', Policies: ['anonymous'] },
      };
    }
    if (caller?.Type !== 'management') return refused(403, 'Permission denied');
    if (path === '/v1/agent/self') return { status: 200, json: { config: { Version: { Version: this.version } } } };
    if (path === '/v1/acl/policies') return { status: 200, json: [...this.policies].map((Name) => ({ Name })) };
    if (path === '/v1/acl/tokens') {
      return { status: 200, json: [...this.tokens.values()].map(({ SecretID: _secret, ...stub }) => stub) };
    }
    if (path === '/v1/acl/token') {
      return method === 'PUT' || method === 'POST' ? this.create(body) : refused(405, 'Invalid method');
    }
    const accessor = path.slice('/v1/acl/token/'.length);
    if (!path.startsWith('/v1/acl/token/')) return refused(404, 'not found');
    const found = this.tokens.get(accessor);
    if (method === 'GET') return found ? { status: 200, json: found } : refused(404, 'ACL token not found');
    if (method !== 'DELETE') return refused(405, 'Invalid method');
    if (!found) return refused(400, `Cannot delete nonexistent tokens: ${accessor}`);
    this.tokens.delete(accessor);
    return { status: 200, text: '' };
  }

  private bootstrap(): Answer {
    if (this.bootstrapped) return refused(400, 'ACL bootstrap already done (reset index: 8)');
    this.bootstrapped = true;
    const first = [...this.tokens.values()].find((token) => token.SecretID === this.management);
    return { status: 200, json: first };
  }

  private create(body: string): Answer {
    const asked = JSON.parse(body) as Token;
    const faults: string[] = [];
    const policies = asked.Policies ?? [];
    if (Buffer.byteLength(asked.Name ?? '') > 256) faults.push('token name too long');
    if (asked.Type === 'client') {
      if (policies.length === 0) faults.push('client token missing policies or roles');
    } else if (asked.Type === 'management') {
      if (policies.length > 0) faults.push('management token cannot be associated with policies or roles');
    } else faults.push('token type must be client or management');
    if (faults.length > 0) {
      const count = faults.length === 1 ? '1 error' : `${faults.length} errors`;
      return refused(400, `token 0 invalid: ${count} occurred:\n${faults.map((fault) => `\t* ${fault}\n`).join('')}\n`);
    }
    const { Name, Type, Policies, Global } = asked;
    return { status: 200, json: this.add({ Name, Type, Policies, Global }) };
  }
}

interface Answer {
  status: number;
  text?: string;
  json?: unknown;
}

function refused(status: number, text: string): Answer {
  return { status, text };
}
