import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate } from '@keystead/testing';

// biome-ignore lint/suspicious/noExplicitAny: objects of a cluster
type Json = any;

/** The parts of a cluster's API that accounts need: objects by path, tokens of accounts, labels of namespaces. */
export class AccountsStandIn {
  readonly ca = testCertificate.cert;
  readonly bearer = 'the-maker';
  readonly labels: Record<string, Record<string, string>> = { shop: { team: 'a' }, lab: { team: 'b' }, empty: {} };
  /** The existing objects, by path. */
  readonly objects = new Map<string, Json>();
  readonly calls: string[] = [];
  readonly tokenRequests: Json[] = [];
  /** Replaces the answer to a call, by its number or path; `lost` carries the call out and closes the connection. */
  instead: (call: string, count: number) => [number, Json] | 'lost' | undefined = () => undefined;
  nowMs: () => number = Date.now;
  private readonly server = https.createServer(testCertificate, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part) => {
      text += part;
    });
    request.on('end', () => {
      const call = `${request.method} ${request.url}`;
      this.calls.push(call);
      const other = this.instead(call, this.calls.length);
      const right = request.headers.authorization === `Bearer ${this.bearer}`;
      const body = text === '' ? undefined : JSON.parse(text);
      const [status, answer] = Array.isArray(other)
        ? other
        : right
          ? this.answer(request.method!, request.url!, body)
          : status401;
      if (other === 'lost') request.socket.destroy();
      else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get address(): string {
    return `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  private answer(method: string, url: string, body: Json): [number, Json] {
    const namespace = /\/namespaces\/([^/]+)/.exec(url)?.[1];
    if (namespace !== undefined && !this.labels[namespace]) return said(404, `namespaces "${namespace}" not found`);
    if (method === 'GET') return [200, { metadata: { name: namespace, labels: this.labels[namespace!] } }];
    if (method === 'DELETE') return this.objects.delete(url) ? [200, {}] : said(404, `${url} not found`);
    const [, account] = /^(.*\/serviceaccounts\/[^/]+)\/token$/.exec(url) ?? [];
    if (account === undefined) {
      const at = `${url}/${body.metadata.name}`;
      if (this.objects.has(at)) return said(409, `${at} already exists`);
      this.objects.set(at, body);
      return [201, body];
    }
    if (!this.objects.has(account)) return said(404, `serviceaccounts "${account.split('/').at(-1)}" not found`);
    const { expirationSeconds } = body.spec;
    if (expirationSeconds < 600) return said(422, 'may not specify a duration less than 10 minutes');
    this.tokenRequests.push(body);
    const expirationTimestamp = new Date(this.nowMs() + expirationSeconds * 1000).toISOString();
    return [201, { status: { token: `token-of-${account.split('/').at(-1)}`, expirationTimestamp } }];
  }
}

const said = (code: number, message: string): [number, Json] => [code, { kind: 'Status', code, message }];
const status401 = said(401, 'Unauthorized');
