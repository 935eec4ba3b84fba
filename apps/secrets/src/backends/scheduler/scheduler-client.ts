import http from 'node:http';
import https from 'node:https';
import { usualReach } from '@keystead/outside';
import { isRefusal, Refusal } from '@keystead/refusal';
import { Circuit, NotNow, type OutsideParts, plainParts, Throttle, Unreachable } from '../../sdk/outside';

/** Defaults from the environment of the service. */
export interface SchedulerDefaults {
  readonly address: string;
  readonly token: string;
}

/** The address of the scheduler, and the mount's credentials. `token` is a management token; certificates are PEM. */
export interface SchedulerAccess {
  readonly address: string;
  readonly token: string;
  readonly caCert: string;
  readonly clientCert: string;
  readonly clientKey: string;
  /** The generation of the configuration: facts that were cached under another generation are not used. */
  readonly generation?: string;
}

/** A token that the scheduler issued. */
export interface SchedulerToken {
  readonly accessorId: string;
  readonly secretId: string;
}

/** An error response of the scheduler: its status and its plain-text reason. */
export class SchedulerRefused extends Error {
  override readonly name = 'SchedulerRefused';
  constructor(
    readonly status: number,
    readonly text: string,
    readonly retryAfterSeconds = 0,
  ) {
    super(`Unexpected response code: ${status} (${text})`);
  }
}

const answerLimitBytes = 32 * 1024 * 1024;
const attempts = 3;
const longestPauseMs = 5_000;
/** How long a scheduler is not called after it throttles us without naming a time. */
const throttledRestMs = 10_000;
/** The maximum length of an error message, because some proxies respond with whole pages. */
const longestText = 500;
const retryableStatuses = new Set([408, 429, 500, 502, 503, 504]);
/** The statuses that a proxy answers if its scheduler is unavailable. */
const proxyStatuses = new Set([502, 503, 504]);

/** The dependencies of a scheduler client. All clients of a scheduler share its circuit. */
export interface SchedulerDeps {
  readonly timeoutMs: number;
  /** The pause before the second attempt. It doubles for each further attempt. */
  readonly pauseMs: number;
  readonly parts: OutsideParts;
  readonly circuit: Circuit;
  readonly throttle: Throttle;
  /** Keeps connections alive for the next call; without an agent, every call opens one. */
  readonly agent: http.Agent | false;
}

interface SchedulerRequest {
  /** The names of the fault points before and after the call. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** True for a call that must not be repeated, because it would take effect twice. */
  readonly once?: boolean;
}

/**
 * The calls of the scheduler's ACL API that the engine needs. Repeatable calls are tried up to three times if the
 * scheduler fails; a call with all its attempts ends at its time limit.
 */
export class SchedulerClient {
  private readonly deps: SchedulerDeps;

  constructor(
    private readonly access: SchedulerAccess,
    deps: Partial<SchedulerDeps> = {},
  ) {
    const { parts = plainParts } = deps;
    const circuit = new Circuit(`scheduler at ${access.address}`, parts.clock);
    this.deps = { timeoutMs: 30_000, pauseMs: 250, parts, circuit, throttle: new Throttle(), agent: false, ...deps };
  }

  /** Creates a token. The name may have at most 256 bytes; a management token has no policies. */
  async createToken(what: {
    name: string;
    type: 'client' | 'management';
    policies: readonly string[];
    global: boolean;
  }): Promise<SchedulerToken> {
    const policies = what.policies.length > 0 ? what.policies : null;
    const body = { Name: what.name, Type: what.type, Policies: policies, Global: what.global };
    const request = { name: 'create', method: 'PUT', path: '/v1/acl/token', body, once: true };
    const created = await this.json<{ AccessorID?: unknown; SecretID?: unknown }>(request);
    const { AccessorID: accessorId, SecretID: secretId } = created ?? {};
    if (typeof accessorId !== 'string' || typeof secretId !== 'string' || !accessorId || !secretId) {
      throw this.nonsense('no token');
    }
    return { accessorId, secretId };
  }

  /** Revokes a token; a missing one is treated as revoked. */
  async deleteToken(accessorId: string): Promise<void> {
    try {
      const path = `/v1/acl/token/${encodeURIComponent(accessorId)}`;
      await this.text({ name: 'delete', method: 'DELETE', path });
    } catch (error) {
      if (error instanceof SchedulerRefused && isGone(error)) return;
      throw error;
    }
  }

  /** Accessors of the tokens with exactly this name. */
  async accessorsNamed(name: string): Promise<string[]> {
    const tokens = await this.list<{ AccessorID: string; Name: string }>('tokens', '/v1/acl/tokens');
    return tokens.filter((token) => token.Name === name).map((token) => token.AccessorID);
  }

  /** Names of the policies that exist in the scheduler. */
  async policyNames(): Promise<string[]> {
    return (await this.list<{ Name: string }>('policies', '/v1/acl/policies')).map((policy) => policy.Name);
  }

  /** Type of the token we use: `management`, `client`, or `anonymous`. */
  async ownTokenType(): Promise<string> {
    const request = { name: 'self', method: 'GET', path: '/v1/acl/token/self' };
    const ownToken = await this.json<{ AccessorID?: string; Type?: string }>(request);
    return ownToken?.AccessorID === 'anonymous' ? 'anonymous' : (ownToken?.Type ?? '');
  }

  /** The version of the server, such as `1.9.3`. The token must be allowed to read its agent. */
  async version(): Promise<string> {
    const request = { name: 'version', method: 'GET', path: '/v1/agent/self' };
    const self = await this.json<{ config?: { Version?: { Version?: string } | string } }>(request);
    const version = self?.config?.Version;
    return (typeof version === 'object' ? version?.Version : version) ?? '';
  }

  /** Creates the first management token of a scheduler that has none; returns its secret. */
  async bootstrap(): Promise<string> {
    const request = { name: 'bootstrap', method: 'POST', path: '/v1/acl/bootstrap', once: true };
    const created = await this.json<{ SecretID?: string }>(request);
    if (!created?.SecretID) throw this.nonsense('no token');
    return created.SecretID;
  }

  /** Throws `NotNow` if this scheduler must not be called, before an intent is recorded that needs it. */
  checkCircuit(): void {
    this.deps.circuit.check();
  }

  private async list<T>(name: string, path: string): Promise<T[]> {
    const found = await this.json<unknown>({ name, method: 'GET', path });
    if (!Array.isArray(found)) throw this.nonsense('no list');
    return found as T[];
  }

  private async json<T>(request: SchedulerRequest): Promise<T | undefined> {
    const text = await this.text(request);
    try {
      return (JSON.parse(text) as T | null) ?? undefined;
    } catch {
      throw this.nonsense('something that is not JSON');
    }
  }

  private nonsense(what: string): Refusal {
    return new Refusal('upstream', `the scheduler at ${this.access.address} answered ${what}`);
  }

  private async text(request: SchedulerRequest): Promise<string> {
    const { circuit, pauseMs, parts, timeoutMs, throttle } = this.deps;
    await throttle.take();
    const signal = AbortSignal.timeout(timeoutMs);
    await parts.fault(`scheduler:${request.name}`);
    for (let attempt = 1; ; attempt++) {
      try {
        const text = await circuit.run(
          (span) => this.send(request, signal, span?.traceparent),
          (error) => (error instanceof SchedulerRefused ? undefined : reasonOf(error)),
        );
        await throttle.take();
        await parts.fault(`scheduler:${request.name}:done`);
        return text;
      } catch (error) {
        const waitMs = pauseBefore(error, request, attempt, pauseMs);
        if (waitMs === undefined || signal.aborted) throw this.inOwnWords(error, request);
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }

  private inOwnWords(error: unknown, { method, path }: SchedulerRequest): unknown {
    if (isRefusal(error)) return error;
    if (error instanceof SchedulerRefused) {
      if (proxyStatuses.has(error.status)) return new Unreachable(`scheduler: ${shortened(error)}`, error);
      if (error.status !== 429) return error;
      const restMs = error.retryAfterSeconds * 1000 || throttledRestMs;
      return new NotNow(`scheduler: ${shortened(error)}`, restMs, error);
    }
    const text = `scheduler at ${this.access.address} is unreachable: ${method} ${path}: ${reasonOf(error)}`;
    return new Unreachable(text, error);
  }

  private send(
    { method, path, body }: SchedulerRequest,
    signal: AbortSignal,
    traceparent: string | undefined,
  ): Promise<string> {
    const base = new URL(this.access.address);
    const url = new URL(base.pathname.replace(/\/$/, '') + path, base);
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string> = { accept: 'application/json' };
    if (this.access.token) headers['x-nomad-token'] = this.access.token;
    if (traceparent !== undefined) headers.traceparent = traceparent;
    if (payload !== undefined) headers['content-type'] = 'application/json';
    const options = { method, headers, signal, agent: this.deps.agent, ...usualReach.toward(url.hostname) };
    const tls = {
      ca: this.access.caCert || undefined,
      cert: this.access.clientCert || undefined,
      key: this.access.clientKey || undefined,
    };
    return new Promise((resolve, reject) => {
      const receive = (answer: http.IncomingMessage) => {
        const chunks: Buffer[] = [];
        let size = 0;
        answer.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > answerLimitBytes) request.destroy(new Error('the answer is larger than 32 MiB'));
          else chunks.push(chunk);
        });
        answer.on('error', reject);
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const status = answer.statusCode ?? 0;
          if (status >= 200 && status < 300) resolve(text);
          else reject(new SchedulerRefused(status, text.trim(), Number(answer.headers['retry-after']) || 0));
        });
      };
      const request =
        url.protocol === 'https:'
          ? https.request(url, { ...options, ...tls }, receive)
          : http.request(url, options, receive);
      request.on('error', reject);
      request.end(payload);
    });
  }
}

/** Milliseconds until the next attempt of a call that failed; undefined if another attempt is useless or unsafe. */
function pauseBefore(error: unknown, { once }: SchedulerRequest, attempt: number, pauseMs: number): number | undefined {
  if (attempt >= attempts || isRefusal(error)) return undefined;
  const refused = error instanceof SchedulerRefused ? error : undefined;
  // A throttled call was not carried out; any other failed call may have been.
  if (once ? refused?.status !== 429 : refused && !retryableStatuses.has(refused.status)) return undefined;
  const askedMs = (refused?.retryAfterSeconds ?? 0) * 1000;
  if (askedMs > longestPauseMs) return undefined;
  return askedMs || pauseMs * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
}

function reasonOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException;
  return name === 'TimeoutError' || name === 'AbortError' ? 'no answer in time' : (code ?? message);
}

/** True if the object to delete does not exist in the scheduler. Versions before 0.12 answer 500 in this case. */
function isGone(error: SchedulerRefused): boolean {
  const refused = error.status === 400 || error.status === 500;
  return error.status === 404 || (refused && error.text.includes('Cannot delete nonexistent tokens'));
}

const shortened = ({ message }: SchedulerRefused): string =>
  message.length > longestText ? `${message.slice(0, longestText)}…` : message;

/** The refusal for a failed call: 400 if the scheduler rejected the request, otherwise 502. */
export function schedulerRefusal(error: unknown): unknown {
  if (!(error instanceof SchedulerRefused)) return error;
  const text = shortened(error);
  const isCallersFault = error.status >= 400 && error.status < 500 && ![401, 403, 408, 429].includes(error.status);
  return new Refusal(isCallersFault ? 'invalid' : 'upstream', isCallersFault ? text : `scheduler: ${text}`, [], {
    cause: error,
  });
}
