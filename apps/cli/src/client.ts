import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { exactJson, parseExact } from '@keystead/envelope';
import { exitCodes, Problem } from './problem';
import { type CliSettings, findToken } from './settings';
import { tlsOptions } from './tls';

/** A service's response: its status and the parsed body, which is undefined if there was none. */
export interface ServiceResponse {
  status: number;
  body: ResponseBody | undefined;
}

/** The envelope of the secrets service, or a raw body of one of its system endpoints. */
export interface ResponseBody {
  data?: Record<string, unknown> | null;
  auth?: TokenAuth | null;
  warnings?: string[] | null;
  errors?: string[];
  [key: string]: unknown;
}

/** The answer to a login or a new token. */
export interface TokenAuth {
  client_token: string;
  accessor: string;
  policies: string[] | null;
  lease_duration: number;
  renewable: boolean;
  mfa_requirement?: MfaRequirement | null;
  [key: string]: unknown;
}

/** A login that waits for second factors: for each enforcement, a list of methods, one of which is sufficient. */
export interface MfaRequirement {
  mfa_request_id: string;
  mfa_constraints: Record<string, { any: { type: string; id: string; name?: string; uses_passcode: boolean }[] }>;
}

export interface CallOptions {
  body?: unknown;
  query?: Record<string, string>;
  /** Statuses other than 2xx that are not a failure. */
  accept?: readonly number[];
  /** Call without the stored token, for example before a login. */
  anonymous?: boolean;
  /** Do not wrap the response, even if this command line requests wrapping. */
  unwrapped?: boolean;
  /** A token for this call only, instead of the caller's. */
  token?: string;
  contentType?: string;
  /** The answer is text, returned as `text`. */
  text?: boolean;
}

const TIMEOUT_MS = 95_000;

/** Calls the secrets service. Throws `Problem` if it cannot be reached or refuses. */
export class Client {
  constructor(private readonly settings: CliSettings) {}

  get(path: string, options: CallOptions = {}): Promise<ServiceResponse> {
    return this.call('GET', path, options);
  }

  /** The keys below a path. With `deep`, also the keys in its subfolders, with the path of the subfolder. */
  async list(
    path: string,
    options: CallOptions = {},
    deep = false,
  ): Promise<ServiceResponse & { names: readonly string[] }> {
    const query = { ...options.query, [deep ? 'scan' : 'list']: 'true' };
    const answer = await this.call('GET', path, { ...options, query });
    const names = answer.body?.data?.keys ?? [];
    if (!Array.isArray(names)) throw notOurs('the names are not a list');
    return { ...answer, names: names.map(String) };
  }

  post(path: string, body: unknown = {}, options: CallOptions = {}): Promise<ServiceResponse> {
    return this.call('POST', path, { ...options, body });
  }

  put(path: string, body: unknown = {}, options: CallOptions = {}): Promise<ServiceResponse> {
    return this.call('PUT', path, { ...options, body });
  }

  /** Changes the given fields and leaves the rest. */
  patch(path: string, body: unknown, options: CallOptions = {}): Promise<ServiceResponse> {
    return this.call('PATCH', path, { ...options, body, contentType: 'application/merge-patch+json' });
  }

  delete(path: string, options: CallOptions = {}): Promise<ServiceResponse> {
    return this.call('DELETE', path, options);
  }

  private async call(method: string, path: string, options: CallOptions): Promise<ServiceResponse> {
    const url = new URL(`${this.settings.address}/v1/${encodePath(path)}`);
    for (const [name, value] of Object.entries(options.query ?? {})) url.searchParams.set(name, value);
    const text = options.body === undefined ? undefined : exactJson(options.body);
    const message = await this.send(method, url, text, options);
    const answerText = await readText(message);
    const answer = { status: message.statusCode ?? 0, body: bodyOf(answerText, options) };
    const fine = answer.status >= 200 && answer.status < 300;
    if (!fine && !options.accept?.includes(answer.status)) {
      throw refusal(method, path, answer, options.anonymous ? 'none needed' : this.tokenFrom(options));
    }
    return answer;
  }

  /** The source of the token, for error messages; undefined if there is none. */
  private tokenFrom({ token }: CallOptions): string | undefined {
    const { tokenVariable, tokenFile } = this.settings;
    if (token) return 'the command';
    return findToken(this.settings) && (tokenVariable ?? tokenFile);
  }

  private send(method: string, url: URL, text: string | undefined, options: CallOptions): Promise<IncomingMessage> {
    const { settings } = this;
    const { anonymous = false, unwrapped = anonymous, contentType = 'application/json' } = options;
    const token = anonymous ? undefined : (options.token ?? findToken(settings));
    const headers: Record<string, string> = {
      'X-Service-Request': 'true',
      ...(token ? { 'X-Service-Token': token } : {}),
      ...(settings.namespace ? { 'X-Service-Namespace': settings.namespace } : {}),
      ...(settings.wrapTtl && !unwrapped ? { 'X-Service-Wrap-TTL': settings.wrapTtl } : {}),
      ...(text === undefined ? {} : { 'Content-Type': contentType, 'Content-Length': `${Buffer.byteLength(text)}` }),
    };
    const secure = url.protocol === 'https:';
    const tls = secure ? tlsOptions(settings.tls) : {};
    return new Promise((resolve, reject) => {
      const send = secure ? requestHttps : requestHttp;
      const call = send(url, { method, headers, ...tls, timeout: TIMEOUT_MS }, resolve);
      call.on('timeout', () => call.destroy(new Error('no answer in time')));
      call.on('error', (error) => {
        reject(new Problem(`${settings.address} cannot be reached: ${unreachable(error)}`, exitCodes.unreachable));
      });
      call.end(text);
    });
  }
}

function encodePath(path: string): string {
  return path.replace(/^\/+/, '').replace(/^v1\//, '').split('/').map(encodeURIComponent).join('/');
}

async function readText(message: IncomingMessage): Promise<string> {
  let text = '';
  message.setEncoding('utf8');
  for await (const chunk of message) text += chunk;
  return text;
}

function bodyOf(answerText: string, { text }: CallOptions): ResponseBody | undefined {
  return text ? { text: answerText } : parseBody(answerText);
}

function parseBody(text: string): ResponseBody | undefined {
  if (text === '') return undefined;
  let body: unknown;
  try {
    body = parseExact(text);
  } catch {
    throw notOurs('the answer is not JSON');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw notOurs('the answer is not a JSON object');
  return body as ResponseBody;
}

/** The error for an answer that does not come from the service. */
export const notOurs = (what: string): Problem =>
  new Problem(`${what}: is this address the secrets service?`, exitCodes.unreachable);

/** A whole number from a response. Throws `Problem` if there is none. */
export function numberIn(body: ResponseBody, name: string): number {
  const value = body[name];
  if (!Number.isSafeInteger(value)) throw notOurs(`the answer does not say ${name}`);
  return value as number;
}

/** The reason why there was no response, and what may help. */
function unreachable(error: NodeJS.ErrnoException): string {
  // The TLS library's message is for developers.
  const noTls = /ERR_SSL|EPROTO/.test(`${error.code} ${error.message}`);
  const reason = noTls ? 'it does not answer in TLS' : error.message || String(error.code);
  const advice = adviceByCode.find(([code]) => code.test(`${error.code} ${reason}`))?.[1];
  return advice ? `${reason} (${advice})` : reason;
}

const adviceByCode: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED|ENOTFOUND|EAI_AGAIN/, 'is it running there? Set another address with --address or SERVICE_ADDR'],
  [/SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED/, 'set the CA of its certificate with --ca-cert or SERVICE_CACERT'],
  [/ERR_SSL|EPROTO/, 'does it speak plain http?'],
  [/ECONNRESET|socket hang up|HPE_/, 'does it speak https?'],
];

function refusal(method: string, path: string, { status, body }: ServiceResponse, tokenFrom?: string): Problem {
  const reasons = (Array.isArray(body?.errors) ? body.errors : [])
    .map((text) =>
      String(text)
        .replace(/^\d+ errors? occurred:\s*\* /, '')
        .trim(),
    )
    .filter(Boolean);
  const hints = (Array.isArray(body?.warnings) ? body.warnings : []).map(String);
  const reason = [...reasons, ...hints].join('; ') || (status === 404 ? 'there is nothing here' : 'no reason given');
  const advice = adviceOn(status, reason, tokenFrom);
  return new Problem(`${method} ${path}: ${status}: ${reason}${advice && ` (${advice})`}`, exitCodes.refused);
}

function adviceOn(status: number, reason: string, tokenFrom: string | undefined): string {
  if (status === 403 && !tokenFrom) return 'no token was sent: run keystead login';
  if (status === 403)
    return `with the token of ${tokenFrom}; keystead token capabilities PATH shows its capabilities, keystead login gets another`;
  if (status === 400 && /not found in the catalog/.test(reason)) return 'docs/not-built.md says what there is instead';
  if (status === 503 && /sealed/.test(reason)) return 'keystead operator unseal';
  if (status === 503 && /initiali/.test(reason)) return 'keystead operator init';
  return '';
}
