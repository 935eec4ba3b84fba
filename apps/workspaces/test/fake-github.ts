import { createHash, createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { verifySignature } from '@keystead/auth';
import { FakeHost } from './fake-host';

/** An account on which the app of the fake host is installed. */
export interface FakeInstallation {
  readonly id: number;
  readonly login: string;
  suspended?: boolean;
}

/** GitHub's API for apps: one app, its installations, and one repository, `team/net`, in the first of them. */
export class FakeGithub extends FakeHost {
  readonly appId = '424242';
  readonly webhookSecret = 'canary-webhook';
  readonly privateKey: string;
  readonly installations: FakeInstallation[] = [{ id: 7001, login: 'team' }];
  /** Valid tokens, by their installation. */
  readonly tokens = new Map<string, number>();
  readonly statuses: { sha: string; state: string }[] = [];
  readonly commits = new Map<string, string>();
  /** Everything that calls contained, for tests that look for secrets. */
  readonly calls: string[] = [];
  branch = '';
  minted = 0;
  /** Whether it answers 500 to everything. */
  away = false;
  /** Whether it refuses to issue tokens. */
  refuses = false;
  /** Answers 403 to everything, with this message. */
  says = '';
  /** The lifetime of its tokens. */
  seconds = 3600;
  /** Whether it answers with an invalid token. */
  lies = false;
  private readonly publicKey;
  constructor() {
    super();
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    // In the form that GitHub uses.
    this.privateKey = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    this.publicKey = createPublicKey(this.privateKey);
  }

  /** Codes of apps that people created on it, each valid once. */
  readonly codes = new Set<string>();
  /** The answer to a code. */
  made: unknown;

  protected async respond(
    { method, url, headers }: IncomingMessage,
    text: string,
  ): Promise<readonly [number, unknown]> {
    // GitHub Enterprise has its API below its address.
    const call = `${method} ${url?.replace(/^\/api\/v3/, '')}`;
    this.calls.push(call);
    if (this.says !== '') return [403, { message: this.says }];
    return this.away ? [500, {}] : this.answer(call, headers.authorization ?? '', text);
  }

  /** Moves the branch `main` to a commit with this message. */
  push(message: string): string {
    this.branch = createHash('sha1').update(message).digest('hex');
    this.commits.set(this.branch, message);
    return this.branch;
  }

  /** Other branches, with their commits. */
  readonly heads = new Map<string, string>();

  /** Creates a branch of the merge queue of `main` with a commit; returns the delivery of its push. */
  queue(number: number, message: string) {
    const sha = createHash('sha1').update(message).digest('hex');
    const name = `gh-readonly-queue/main/pr-${number}-${sha}`;
    this.commits.set(sha, message);
    this.heads.set(name, sha);
    return { sha, body: { ...this.pushed(), ref: `refs/heads/${name}`, after: sha } };
  }

  /** A delivery of the app's webhook: headers and body. */
  delivery(event: string, body: object, { secret = this.webhookSecret, id = `${event}-${this.calls.length}` } = {}) {
    const text = JSON.stringify(body);
    const signature = createHmac('sha256', secret).update(text).digest('hex');
    const headers = {
      'x-github-event': event,
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${signature}`,
      'content-type': 'application/json',
    };
    return { headers, text };
  }

  /** The webhook delivery of a push to `main`. */
  pushed(installation = 7001, repository = 42) {
    return {
      ref: 'refs/heads/main',
      before: '0'.repeat(40),
      after: this.branch,
      repository: { id: repository, full_name: 'team/net' },
      sender: { login: 'grace' },
      installation: { id: installation },
    };
  }

  private async isApp(authorization: string): Promise<boolean> {
    const check = { algorithms: ['RS256' as const], keys: async () => [this.publicKey] };
    const claims = await verifySignature(authorization.replace('Bearer ', ''), check).catch(() => undefined);
    if (claims === undefined) return false;
    const { iss, iat, exp } = claims as { iss: string; iat: number; exp: number };
    return iss === this.appId && exp - iat <= 600 && iat <= Date.now() / 1000 && exp > Date.now() / 1000;
  }

  private async answer(call: string, authorization: string, text: string): Promise<readonly [number, unknown]> {
    const code = /^POST \/app-manifests\/([^/]+)\/conversions$/.exec(call)?.[1];
    if (code !== undefined) {
      if (authorization !== '' || !this.codes.delete(decodeURIComponent(code))) return [404, { message: 'Not Found' }];
      const { appId, privateKey: pem, webhookSecret } = this;
      return [201, this.made ?? { id: Number(appId), slug: 'keystead-acme', pem, webhook_secret: webhookSecret }];
    }
    if (/ \/app(\/|$|\?)/.test(call)) {
      return (await this.isApp(authorization))
        ? this.asApp(call)
        : [401, { message: 'A JSON web token could not be decoded' }];
    }
    const installation = this.tokens.get(authorization.replace('Bearer ', ''));
    if (installation === undefined) return [401, { message: 'Bad credentials' }];
    if (installation !== 7001) return [404, { message: 'Not Found' }];
    return this.asInstallation(call, text);
  }

  private asApp(call: string): [number, unknown] {
    if (call === 'GET /app') return [200, { id: Number(this.appId) }];
    if (call.startsWith('GET /app/installations')) {
      return [
        200,
        this.installations.map(({ id, login, suspended }) => ({
          id,
          account: { login, avatar_url: `${this.origin}/${login}.png` },
          target_type: 'Organization',
          html_url: `${this.origin}/organizations/${login}/settings/installations/${id}`,
          suspended_at: suspended ? '2026-01-01T00:00:00Z' : null,
        })),
      ];
    }
    const id = Number(/^POST \/app\/installations\/(\d+)\/access_tokens$/.exec(call)?.[1]);
    if (this.refuses || !this.installations.some((one) => one.id === id && !one.suspended)) {
      return [404, { message: 'Not Found' }];
    }
    this.minted++;
    const token = `ghs_canary${this.minted}`;
    this.tokens.set(token, id);
    const expiresAt = new Date(Date.now() + this.seconds * 1000).toISOString();
    return [201, { token: this.lies ? 'two\nlines' : token, expires_at: expiresAt }];
  }

  private asInstallation(call: string, text: string): [number, unknown] {
    const shown = (sha: string) => ({ sha, html_url: '', commit: { message: this.commits.get(sha) } });
    const path = call.replace(/^\w+ \/repos\/team\/net/, '').replace(/\?.*/, '');
    if (path === '') {
      const [http, clone] = [`${this.origin}/team/net`, `${this.origin}/team/net.git`];
      return [200, { id: 42, full_name: 'team/net', html_url: http, clone_url: clone, default_branch: 'main' }];
    }
    if (path === '/git/ref/heads/main') return [200, { object: { sha: this.branch } }];
    const other = this.heads.get(path.replace('/git/ref/heads/', ''));
    if (other !== undefined) return [200, { object: { sha: other } }];
    if (path.startsWith('/commits/')) return [200, shown(path.replace('/commits/', ''))];
    if (path === '/pulls') return [200, []];
    if (path.startsWith('/statuses/')) {
      this.statuses.push({ sha: path.replace('/statuses/', ''), ...JSON.parse(text) });
      return [201, {}];
    }
    return [404, { message: 'Not Found' }];
  }
}
