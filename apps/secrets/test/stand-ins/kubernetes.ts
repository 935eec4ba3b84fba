import { verify } from 'node:crypto';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate } from '@keystead/testing';
import { newKey, signRaw } from './jwt';

/** A service account of the stand-in. */
export interface StandInAccount {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The parts of a cluster's API that logins need: token reviews by its own key, and labels of namespaces. */
export class ClusterStandIn {
  readonly ca = testCertificate.cert;
  readonly key = newKey('RS256');
  readonly reviewer = 'the-reviewer';
  readonly accounts: StandInAccount[] = [{ namespace: 'shop', name: 'web', uid: 'uid-1' }];
  readonly labels: Record<string, Record<string, string>> = { shop: { team: 'a' } };
  /** Replaces every answer. */
  instead: [number, unknown] | undefined;
  /** Replaces members of every review's status. */
  status: Record<string, unknown> = {};
  readonly calls: string[] = [];
  readonly bearers: (string | undefined)[] = [];
  nowMs: () => number = Date.now;
  private readonly server = https.createServer(testCertificate, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part) => {
      text += part;
    });
    request.on('end', () => {
      this.calls.push(request.url ?? '');
      this.bearers.push(request.headers.authorization);
      const bearer = request.headers.authorization?.slice('Bearer '.length) ?? '';
      const [status, body] = this.instead ?? this.answer(request.url ?? '', bearer, text);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
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

  /** A projected token of a pod. */
  token({ namespace, name, uid }: StandInAccount, claims: Record<string, unknown> = {}): string {
    const now = Math.floor(this.nowMs() / 1000);
    const own = { namespace, serviceaccount: { name, uid }, pod: { name: 'web-0', uid: 'pod-1' } };
    const sound = { iss: 'https://kubernetes.default.svc', aud: ['https://kubernetes.default.svc'], exp: now + 600 };
    const all = {
      ...sound,
      iat: now,
      nbf: now,
      'kubernetes.io': own,
      sub: `system:serviceaccount:${namespace}:${name}`,
    };
    return signRaw({ alg: 'RS256', kid: this.key.kid }, { ...all, ...claims }, this.key);
  }

  private answer(url: string, bearer: string, text: string): [number, unknown] {
    if (bearer !== this.reviewer && !this.accountOf(bearer)) return [401, { kind: 'Status', code: 401 }];
    const [, namespace] = /^\/api\/v1\/namespaces\/([^/]+)$/.exec(url) ?? [];
    if (namespace) {
      const labels = this.labels[namespace];
      return labels ? [200, { metadata: { name: namespace, labels } }] : [404, {}];
    }
    const { spec } = JSON.parse(text) as { spec: { token: string; audiences?: string[] } };
    const account = this.accountOf(spec.token);
    if (!account) return [201, { status: { authenticated: false, error: 'invalid bearer token' } }];
    const { aud } = claimsOf(spec.token) as { aud?: string[] };
    const audiences = (spec.audiences ?? []).filter((one) => aud?.includes(one));
    if (spec.audiences && audiences.length === 0) return [201, { status: { authenticated: false } }];
    const user = { username: `system:serviceaccount:${account.namespace}:${account.name}`, uid: account.uid };
    return [201, { status: { authenticated: true, user, audiences, ...this.status } }];
  }

  /** The account of a token that this cluster signed, if the account still exists. */
  private accountOf(token: string): StandInAccount | undefined {
    const [head = '', body = '', signature = ''] = token.split('.');
    const signed = verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      this.key.publicKey,
      Buffer.from(signature, 'base64url'),
    );
    if (!signed) return undefined;
    const claims = claimsOf(token) as Record<string, never> & {
      'kubernetes.io'?: { serviceaccount?: { uid: string } };
    };
    const uid =
      claims['kubernetes.io']?.serviceaccount?.uid ?? claims['kubernetes.io/serviceaccount/service-account.uid'];
    return this.accounts.find((one) => one.uid === uid);
  }
}

const claimsOf = (token: string): unknown => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
