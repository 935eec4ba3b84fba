import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions, request as requestHttps } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { jsonText, parseExact } from '@keystead/envelope';
import { exitCodes, Problem } from '../../problem';
import type { TlsSettings } from '../../settings';
import { tlsOptions } from '../../tls';
import { isWorthAskingAgain, isWorthRepeating, waitOf } from '../patience';
import { Refused } from '../refused';
import type { RequestPace } from './pace';

/** The address of a server of the secrets API, and the token for it. */
export interface ServerSettings {
  /** Its name in messages. */
  readonly name: string;
  readonly address: string;
  readonly token: string;
  /** Path without slashes at its ends; empty for the root. */
  readonly namespace: string;
  readonly tls: TlsSettings;
  /** The prefix of its headers. */
  readonly headers: 'X-Vault' | 'X-Service';
  readonly pace: RequestPace;
}

/** The data of a response. Numbers keep their digits. */
export type Data = Record<string, unknown>;

/** The parts of an answer's body that an import reads. */
interface Body {
  readonly data?: Data | null;
  readonly errors?: unknown;
  readonly warnings?: unknown;
}

/** A reused connection was already closed, so the server did not read the request. */
class Stale extends Error {}

const CALL_TIMEOUT_MS = 120_000;
const LONGEST_ANSWER = 256 * 1024 * 1024;
const PAGE = 1_000;
/** How servers answer for a path without content, or for an unknown path. */
const ABSENT = [404, 405, 501];

/** A client of the secrets API with retries: it waits out rate limits and transient failures. */
export class SecretsServer {
  constructor(
    private readonly settings: ServerSettings,
    private readonly agent = agentFor(settings),
  ) {}

  get name(): string {
    return this.settings.name;
  }

  get namespace(): string {
    return this.settings.namespace;
  }

  /** The same server, one namespace deeper. */
  within(child: string): SecretsServer {
    const namespace = [this.namespace, child].filter(Boolean).join('/');
    return new SecretsServer({ ...this.settings, namespace }, this.agent);
  }

  /** The content of a path; undefined if there is none. */
  async find(path: string, query: Record<string, string> = {}): Promise<Data | undefined> {
    return (await this.ask('GET', path, { query, absent: ABSENT }))?.data ?? undefined;
  }

  /** The names below a path, page by page if the server supports pages. */
  async *names(path: string): AsyncGenerator<string> {
    for (let after = '', first: string | undefined; ; ) {
      const query = { list: 'true', limit: `${PAGE}`, ...(after ? { after } : {}) };
      const keys = (await this.find(path, query))?.keys ?? [];
      if (!Array.isArray(keys)) throw new Problem(`${this.name}: the names at ${path} are not a list`);
      // A server that ignores pages returns the same names again.
      if (keys.length === 0 || String(keys[0]) === first) return;
      first = String(keys[0]);
      for (const key of keys) yield String(key);
      if (keys.length !== PAGE) return;
      after = String(keys.at(-1));
    }
  }

  /** Writes, and returns data and warnings of the answer. */
  async write(path: string, body: Data): Promise<{ data: Data; warnings: string[] }> {
    const answer = await this.ask('POST', path, { body });
    const warnings = Array.isArray(answer?.warnings) ? answer.warnings.map(String) : [];
    return { data: answer?.data ?? {}, warnings };
  }

  close(): void {
    this.agent.destroy();
  }

  private async ask(
    method: string,
    path: string,
    { body, query = {}, absent = [] }: { body?: Data; query?: Record<string, string>; absent?: readonly number[] } = {},
  ): Promise<Body | undefined> {
    const { address } = this.settings;
    const what = `${this.name}: ${method} ${this.namespace ? `${this.namespace}/` : ''}${path}`;
    const segments = path.split('/');
    // A name chosen by the other server must not lead to another path here.
    if (segments.includes('..') || segments.includes('.')) {
      throw new Refused(what, 400, [{ detail: 'a name that leads elsewhere is not followed' }]);
    }
    const target = new URL(`${address}/v1/${segments.map(encodeURIComponent).join('/')}`);
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
    const text = body === undefined ? undefined : jsonText(body);
    const { status, text: answerText, location } = await this.send(method, target, text);
    const answer = answerText === '' ? undefined : bodyIn(answerText);
    // For a deleted version, the body of the 404 holds the metadata.
    if (absent.includes(status)) return answer?.data ? answer : undefined;
    if (location) throw new Problem(`${what}: it redirects to ${location}: use that address`, exitCodes.unreachable);
    if (status < 200 || status >= 300) {
      const reasons = Array.isArray(answer?.errors) ? answer.errors.map(oneLine) : [];
      const refused = new Refused(
        what,
        status,
        (reasons.length > 0 ? reasons : ['no reason given']).map((detail) => ({ detail })),
      );
      if (status === 503) throw new Problem(refused.message, exitCodes.unreachable);
      throw refused;
    }
    if (answerText !== '' && !answer) {
      throw new Problem(`${what}: the answer is not JSON: is this a secrets service?`, exitCodes.unreachable);
    }
    return answer;
  }

  private async send(
    method: string,
    target: URL,
    text: string | undefined,
  ): Promise<{ status: number; text: string; location?: string }> {
    for (let attempt = 1; ; attempt += 1) {
      await this.settings.pace.turn();
      let headers: Headers | undefined;
      try {
        const message = await this.call(method, target, text);
        const status = message.statusCode ?? 0;
        headers = new Headers(pick(message, ['retry-after', 'x-ratelimit-reset']));
        const body = await readText(message);
        const location = status >= 300 && status < 400 ? originOf(message.headers.location) : undefined;
        if (!isWorthRepeating(method, status, attempt)) return { status, text: body, location };
      } catch (error) {
        if (error instanceof Problem) throw error;
        if (!(isWorthAskingAgain(method, attempt) || (error instanceof Stale && attempt === 1))) {
          throw new Problem(`${this.name} cannot be reached: ${(error as Error).message}`, exitCodes.unreachable);
        }
      }
      await sleep(waitOf(headers, attempt));
    }
  }

  private call(method: string, target: URL, text: string | undefined): Promise<IncomingMessage> {
    const { headers: prefix, token, namespace } = this.settings;
    const headers = {
      [`${prefix}-Token`]: token,
      [`${prefix}-Request`]: 'true',
      ...(namespace ? { [`${prefix}-Namespace`]: namespace } : {}),
      ...(text === undefined
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': `${Buffer.byteLength(text)}` }),
    };
    const options = {
      method,
      headers,
      agent: this.agent,
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    };
    return new Promise((resolve, reject) => {
      const send = target.protocol === 'https:' ? requestHttps : requestHttp;
      const call = send(target, options, resolve);
      call.on('error', (error: NodeJS.ErrnoException) => {
        reject(call.reusedSocket && error.code === 'ECONNRESET' ? new Stale(error.message) : error);
      });
      call.end(text);
    });
  }
}

function agentFor({ address, tls }: ServerSettings): HttpAgent | HttpsAgent {
  if (!address.startsWith('https:')) return new HttpAgent({ keepAlive: true });
  return new HttpsAgent({ keepAlive: true, ...(tlsOptions(tls) as HttpsAgentOptions) });
}

async function readText(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LONGEST_ANSWER) throw new Problem('the answer is longer than 256 MiB', exitCodes.unreachable);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function bodyIn(text: string): Body | undefined {
  try {
    const parsed = parseExact(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Body) : undefined;
  } catch {
    return undefined;
  }
}

function pick(message: IncomingMessage, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (message.headers[name] === undefined ? [] : [[name, String(message.headers[name])]])),
  );
}

const originOf = (location: string | undefined): string =>
  location && URL.canParse(location) ? new URL(location).origin : 'somewhere else';

/** A server's reasons for a refusal, on one line. */
const oneLine = (text: unknown): string => String(text).replace(/\s+/g, ' ').trim();
