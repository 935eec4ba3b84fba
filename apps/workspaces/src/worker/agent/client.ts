import http from 'node:http';
import https from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isRefusal, Refusal, type RefusalKind } from '@keystead/refusal';
import { agentPrefix } from '../../resources/runs/agents/protocol';
import { connectionsTo, type ServerTrust } from './proxy';

/** A request to the service. */
export interface AgentRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below the prefix of agents. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** A body that is sent as JSON. */
  readonly json?: object;
  /** A body that is sent unchanged. */
  readonly bytes?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal;
  /** How long the connection may be silent. */
  readonly silenceMs?: number;
}

const usualSilenceMs = 60_000;
const largestText = 64 * 1024 * 1024;

/** Whether an error means that the job has ended or was given to another agent. */
export const isLost = (error: unknown): boolean => isRefusal(error) && error.kind === 'transition';
/**
 * Whether an error means that nothing is left to report, because the job is lost or the agent is no longer registered.
 */
export const isOver = (error: unknown): boolean =>
  isLost(error) || (isRefusal(error) && ['denied', 'missing', 'unauthenticated'].includes(error.kind));

/** A response whose body has not been read. */
export interface Got {
  readonly status: number;
  readonly body: Readable;
}

const kinds: Readonly<Record<number, RefusalKind>> = {
  400: 'malformed',
  401: 'unauthenticated',
  403: 'denied',
  404: 'missing',
  409: 'transition',
  413: 'too-large',
  422: 'invalid',
};

/** Sends requests of an agent, through a proxy if there is one. */
export class AgentClient {
  private readonly connections: http.Agent;

  constructor(
    private readonly address: URL,
    private readonly token: string,
    proxy: URL | undefined,
    trust: ServerTrust = {},
  ) {
    this.connections = connectionsTo(address, proxy, trust);
  }

  /**
   * Sends a request. The caller reads the body of the response. Throws a `Refusal` for a final refusal, and another
   * error for failures that may be retried.
   */
  async ask(sent: AgentRequest): Promise<Got> {
    const answer = await this.send(sent);
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return { status, body: answer };
    const reason = reasonOf(await textOf(answer, 1024 * 1024).catch(() => ''));
    const kind = Object.hasOwn(kinds, status) ? kinds[status] : undefined;
    if (kind) throw new Refusal(kind, reason || `${sent.method} ${sent.path} answered ${status}`);
    throw new Error(`${sent.method} ${sent.path} answered ${status}${reason === '' ? '' : `: ${reason}`}`);
  }

  /** Sends a request and returns the JSON of the response; undefined if it has no body. */
  async json(sent: AgentRequest): Promise<unknown> {
    const { status, body } = await this.ask(sent);
    const text = await textOf(body, largestText);
    return status === 204 ? undefined : JSON.parse(text);
  }

  /** Closes idle connections. */
  close(): void {
    this.connections.destroy();
  }

  private send({
    method,
    path,
    query,
    headers,
    json,
    bytes,
    signal,
    silenceMs,
  }: AgentRequest): Promise<http.IncomingMessage> {
    const base = this.address.pathname.replace(/(?<!\/)\/+$/, '');
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    const text = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
    const whole = text ?? (bytes instanceof Uint8Array ? bytes : undefined);
    const type = text ? 'application/json' : bytes === undefined ? undefined : 'application/octet-stream';
    // TLS runs inside the proxy's tunnel.
    const asking = (this.connections instanceof https.Agent ? https : http).request({
      host: this.address.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: this.address.port || (this.address.protocol === 'https:' ? 443 : 80),
      method,
      path: `${base}${agentPrefix}${path}${search}`,
      agent: this.connections,
      signal,
      headers: {
        Host: this.address.host,
        Authorization: `Bearer ${this.token}`,
        Accept: 'application/json',
        ...(type === undefined ? {} : { 'Content-Type': type }),
        ...(whole === undefined ? {} : { 'Content-Length': String(whole.length) }),
        ...headers,
      },
    });
    asking.setTimeout(silenceMs ?? usualSilenceMs, () => asking.destroy(new Error('the service does not answer')));
    return new Promise((resolve, reject) => {
      asking.once('response', resolve);
      asking.once('error', reject);
      if (whole !== undefined || bytes === undefined) asking.end(whole);
      else pipeline(Readable.from(bytes as AsyncIterable<Uint8Array>), asking).catch(reject);
    });
  }
}

async function textOf(stream: Readable, limit: number): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream) {
    size += (piece as Buffer).length;
    if (size > limit) throw new Error('the response is too large');
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** The message of the service, without the message of a proxy. */
function reasonOf(text: string): string {
  try {
    const { errors } = JSON.parse(text) as { errors?: { title?: string; detail?: string }[] };
    return (errors ?? [])
      .map(({ detail, title }) => detail || title || '')
      .join('; ')
      .slice(0, 1000);
  } catch {
    return '';
  }
}
