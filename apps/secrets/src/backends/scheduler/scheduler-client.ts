import http from 'node:http';
import https from 'node:https';
import { Refusal } from '@keystead/refusal';

/** Where the scheduler is and who we are there. `token` is a management token; certificates are PEM texts. */
export interface SchedulerAccess {
  readonly address: string;
  readonly token: string;
  readonly caCert: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

/** A token as the scheduler made it. */
export interface SchedulerToken {
  readonly accessorId: string;
  readonly secretId: string;
}

/** An answer of the scheduler that is not a success: its status and its plain-text reason. */
export class SchedulerRefused extends Error {
  override readonly name = 'SchedulerRefused';
  constructor(
    readonly status: number,
    readonly text: string,
  ) {
    super(`Unexpected response code: ${status} (${text})`);
  }
}

const answerLimitBytes = 32 * 1024 * 1024;

/** The calls of the scheduler's ACL API that the engine needs. Every call gives up after `timeoutMs`. */
export class SchedulerClient {
  constructor(
    private readonly access: SchedulerAccess,
    private readonly timeoutMs = 30_000,
  ) {}

  /** Makes a token. The name may be at most 256 bytes; a management token takes no policies. */
  async createToken(what: {
    name: string;
    type: 'client' | 'management';
    policies: readonly string[];
    global: boolean;
  }): Promise<SchedulerToken> {
    const policies = what.policies.length > 0 ? what.policies : null;
    const body = { Name: what.name, Type: what.type, Policies: policies, Global: what.global };
    const made = await this.json<{ AccessorID: string; SecretID: string }>('PUT', '/v1/acl/token', body);
    return { accessorId: made.AccessorID, secretId: made.SecretID };
  }

  /** Ends a token; one that is already gone counts as ended. */
  async deleteToken(accessorId: string): Promise<void> {
    try {
      await this.text('DELETE', `/v1/acl/token/${encodeURIComponent(accessorId)}`);
    } catch (error) {
      if (error instanceof SchedulerRefused && isGone(error)) return;
      throw error;
    }
  }

  /** Accessors of the tokens that carry exactly this name. */
  async accessorsNamed(name: string): Promise<string[]> {
    const tokens = await this.json<{ AccessorID: string; Name: string }[]>('GET', '/v1/acl/tokens');
    return tokens.filter((token) => token.Name === name).map((token) => token.AccessorID);
  }

  /** Names of the policies that exist there. */
  async policyNames(): Promise<string[]> {
    return (await this.json<{ Name: string }[]>('GET', '/v1/acl/policies')).map((policy) => policy.Name);
  }

  /** Type of the token we use: `management`, `client`, or `anonymous` where it is none. */
  async ownTokenType(): Promise<string> {
    const own = await this.json<{ AccessorID: string; Type: string }>('GET', '/v1/acl/token/self');
    return own.AccessorID === 'anonymous' ? 'anonymous' : own.Type;
  }

  /** Version of the server, such as `1.9.3`; needs the right to read its agent. */
  async version(): Promise<string> {
    const self = await this.json<{ config?: { Version?: { Version?: string } | string } }>('GET', '/v1/agent/self');
    const version = self.config?.Version;
    return (typeof version === 'object' ? version?.Version : version) ?? '';
  }

  /** Makes the first management token of a scheduler that has none; answers its secret. */
  async bootstrap(): Promise<string> {
    return (await this.json<{ SecretID: string }>('POST', '/v1/acl/bootstrap')).SecretID;
  }

  private async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const text = await this.text(method, path, body);
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new Refusal('upstream', `the scheduler at ${this.access.address} answered something that is not JSON`);
    }
  }

  private text(method: string, path: string, body?: unknown): Promise<string> {
    const base = new URL(this.access.address);
    const url = new URL(base.pathname.replace(/\/$/, '') + path, base);
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string> = { accept: 'application/json' };
    if (this.access.token) headers['x-nomad-token'] = this.access.token;
    if (payload !== undefined) headers['content-type'] = 'application/json';
    const options = { method, headers, signal: AbortSignal.timeout(this.timeoutMs), agent: false as const };
    const tls = {
      ca: this.access.caCert || undefined,
      cert: this.access.clientCert || undefined,
      key: this.access.clientKey || undefined,
    };
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(unreachable(this.access.address, method, url, error));
      const receive = (answer: http.IncomingMessage) => {
        const chunks: Buffer[] = [];
        let size = 0;
        answer.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > answerLimitBytes) request.destroy(new Error('the answer is larger than 32 MiB'));
          else chunks.push(chunk);
        });
        answer.on('error', fail);
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const status = answer.statusCode ?? 0;
          if (status >= 200 && status < 300) resolve(text);
          else reject(new SchedulerRefused(status, text.trim()));
        });
      };
      const request =
        url.protocol === 'https:'
          ? https.request(url, { ...options, ...tls }, receive)
          : http.request(url, options, receive);
      request.on('error', fail);
      request.end(payload);
    });
  }
}

/** True where the scheduler says that what should be deleted does not exist. */
function isGone(error: SchedulerRefused): boolean {
  return error.status === 404 || (error.status === 400 && error.text.includes('Cannot delete nonexistent tokens'));
}

/** What the caller may read of a failed call: a rejected request is theirs to mend (400), everything else is not (502). */
export function schedulerRefusal(error: unknown): unknown {
  if (!(error instanceof SchedulerRefused)) return error;
  const theirs = error.status >= 400 && error.status < 500 && ![401, 403, 408, 429].includes(error.status);
  return new Refusal(theirs ? 'invalid' : 'upstream', theirs ? error.message : `scheduler: ${error.message}`, [], {
    cause: error,
  });
}

function unreachable(address: string, method: string, url: URL, error: Error): Refusal {
  const timedOut = error.name === 'TimeoutError' || error.name === 'AbortError';
  const reason = timedOut ? 'no answer in time' : ((error as NodeJS.ErrnoException).code ?? error.message);
  return new Refusal('upstream', `scheduler at ${address} is unreachable: ${method} ${url.pathname}: ${reason}`, [], {
    cause: error,
  });
}
