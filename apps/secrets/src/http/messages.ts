import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readBearer } from '@keystead/auth';
import { envelope, errorBody, injected, tellingErrorBody } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import {
  BadClientCertificate,
  type CertificateRules,
  clientAddress,
  clientCertificates,
  type Gate,
  type GatePlace,
  requestId,
  sentRequestId,
} from '@keystead/server';
import { maxPathLength, SentPath } from '../kernel/routing/sent-path';
import { Misguided } from '../pipeline/authorize';
import { timedOut } from '../pipeline/in-flight';
import { nothingSent, type Outcome, type Request, type RequestFields, statusOf } from '../pipeline/request';
import { isListing, type Verb } from '../sdk/call';
import type { LongBody } from '../sdk/reply';
import { pairFields, readFields } from './read-fields';

/** The settings for reading requests. */
export interface RequestRules extends CertificateRules {
  /** Whether the header names of the product family (`X-Vault-*`) are also accepted. */
  readonly familyHeaders: boolean;
}

/** The session of a console page, for requests that send no token. */
export interface PageSession {
  readonly token: string;
  readonly steppedUp: boolean;
}

const noMfa: readonly string[] = [];
const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts = new Set(['', '0', 'f', 'F', 'false', 'FALSE', 'False']);

/** A request of the kernel that arrives by HTTP. */
export class HttpRequest implements Request {
  readonly id: string;
  readonly sentId: string | undefined;
  readonly verb: Verb;
  readonly headOnly: boolean;
  readonly path: SentPath;
  readonly namespace: string;
  readonly token: string | undefined;
  readonly session: PageSession | undefined;
  readonly wrapTtl: string | undefined;
  readonly mfa: readonly string[];
  sent: RequestFields;
  readonly readBody: Request['readBody'];
  readonly ifNoneMatch: string | undefined;
  readonly address: string;
  readonly help: boolean;
  route: string | undefined = undefined;
  rateHeaders: Request['rateHeaders'] = undefined;
  private isAnswered = false;
  /** The place of a large body. */
  private place: GatePlace | undefined = undefined;

  /**
   * A token in the request takes precedence over a session. Throws `malformed` for a list parameter that is not a
   * boolean, and `unsupported-operation` for unknown verbs.
   */
  constructor(
    private readonly req: IncomingMessage,
    target: Target,
    private readonly rules: RequestRules,
    private readonly largeBodies: Gate,
    session?: PageSession,
  ) {
    const { query } = target;
    const { headers } = req;
    const verb = verbOf(req.method!, target);
    const inBody = verb === 'write' || verb === 'patch';
    const mfa = headerOf(req, rules, 'x-service-mfa', 'x-vault-mfa');
    const wrapTtl = headerOf(req, rules, 'x-service-wrap-ttl', 'x-vault-wrap-ttl') || undefined;
    if (wrapTtl !== undefined && headerOf(req, rules, 'x-service-wrap-format', 'x-vault-wrap-format')) {
      throw new Refusal('invalid', 'X-Service-Wrap-Format: only tokens are supported; omit the header');
    }
    const token = headerOf(req, rules, 'x-service-token', 'x-vault-token') || readBearer(headers.authorization);
    this.id = requestId(req);
    this.sentId = sentRequestId(req);
    this.verb = verb;
    this.headOnly = req.method === 'HEAD';
    this.path = target.path;
    this.namespace = headerOf(req, rules, 'x-service-namespace', 'x-vault-namespace') ?? '';
    this.token = token ?? session?.token;
    this.session = token === undefined ? session : undefined;
    this.wrapTtl = wrapTtl;
    this.mfa = mfa === undefined ? noMfa : mfa.split(',').map((item) => item.trim());
    this.sent = inBody || query === undefined ? nothingSent : inQuery(query, verb, target.search!);
    this.readBody = inBody ? this.bodyReader() : undefined;
    this.ifNoneMatch = headers['if-none-match'];
    this.address = clientAddress(req, rules.trustedProxies);
    this.help = query !== undefined && trueTexts.has(query.get('help') ?? '');
  }

  header(name: string): readonly string[] | undefined {
    return this.req.headersDistinct[name];
  }

  certificates(): readonly Buffer[] {
    return certificatesOf(this.req, this.rules);
  }

  // Not in the constructor, which would allocate memory for the closure even if there is no body.
  private bodyReader(): Request['readBody'] {
    return (bounds) => readFields(this.req, bounds, () => this.takeTurn());
  }

  /** Waits for the turn of a large body, which lasts until the request is answered. Throws `timeout` if it is. */
  private takeTurn(): Promise<void> {
    if (this.isAnswered) throw timedOut();
    this.place = this.largeBodies.place(this.token);
    return this.place.enter();
  }

  end(): void {
    this.isAnswered = true;
    this.place?.leave();
  }
}

function headerOf(
  { headers }: IncomingMessage,
  { familyHeaders }: RequestRules,
  own: string,
  family: string,
): string | undefined {
  const ownValue = headers[own] as string | undefined;
  const familyValue = familyHeaders ? (headers[family] as string | undefined) : undefined;
  if (ownValue !== undefined && familyValue !== undefined && ownValue !== familyValue) {
    throw new Refusal('malformed', `the headers ${own} and ${family} have different values`);
  }
  return ownValue ?? familyValue;
}

function certificatesOf(req: IncomingMessage, rules: RequestRules): readonly Buffer[] {
  try {
    return clientCertificates(req, rules);
  } catch (error) {
    if (error instanceof BadClientCertificate) throw new Refusal('invalid', error.message);
    throw error;
  }
}

function verbOf(method: string, { query }: Target): Verb {
  switch (method) {
    case 'GET':
      return query === undefined ? 'read' : readOrList(query);
    case 'HEAD':
      return 'read';
    case 'LIST':
      return 'list';
    case 'SCAN':
      return 'scan';
    case 'POST':
    case 'PUT':
      return 'write';
    case 'DELETE':
      return 'delete';
    case 'PATCH':
      return 'patch';
    case 'OPTIONS':
      throw new Refusal('invalid', 'cannot handle internal-only request operation');
    default:
      throw new Refusal('unsupported-operation', '');
  }
}

function readOrList(query: URLSearchParams): Verb {
  const list = query.get('list');
  const scan = query.get('scan');
  if (scan !== null && trueTexts.has(scan)) {
    if (list !== null && trueTexts.has(list)) throw new Refusal('malformed', '');
    return 'scan';
  }
  if (list === null) return 'read';
  if (trueTexts.has(list)) return 'list';
  if (falseTexts.has(list)) return 'read';
  throw new Refusal('malformed', '');
}

function inQuery(query: URLSearchParams, verb: Verb, text: string): RequestFields {
  const fields = pairFields(query);
  if (isListing(verb)) {
    delete fields.list;
    delete fields.scan;
    // The longest page that both the policies and the listing allow.
    if (fields.limit === 'max') fields.limit = '0';
  }
  delete fields.help;
  return { fields, exact: false, bytes: text.length, text };
}

/** The target of a request, below `/v1/`. */
export interface Target {
  readonly path: SentPath;
  readonly query: URLSearchParams | undefined;
  /** The query as sent; absent if there is none. */
  readonly search?: string;
}

/** The path was not in its simplest form; the client is redirected to that form. */
export class Detour {
  constructor(readonly location: string) {}
}

/**
 * Splits and decodes a request URL below `/v1/`. Doubled slashes and dot segments are answered with a redirect unless
 * `readBase64` can read the path. Throws `malformed` for forbidden characters, broken escapes, and paths that are too
 * long.
 */
export function readTarget(
  url: string,
  readBase64: ((text: string) => SentPath | undefined) | undefined,
): Target | Detour {
  const mark = url.indexOf('?');
  const rawPath = mark < 0 ? url.slice(4) : url.slice(4, mark);
  // Decoding never makes a path longer, so a path that is too long is not decoded.
  if (rawPath.length > maxPathLength) throw new Refusal('malformed', `path is longer than ${maxPathLength} characters`);
  const text = rawPath.includes('%') ? decode(rawPath) : rawPath;
  const read = SentPath.read(text);
  const path = read instanceof SentPath ? read : readBase64?.(text);
  if (!path) {
    const { detour } = read as Exclude<typeof read, SentPath>;
    return new Detour(`/v1/${detour.map(encodeURIComponent).join('/')}${mark < 0 ? '' : url.slice(mark)}`);
  }
  if (mark < 0 || mark === url.length - 1) return { path, query: undefined };
  const search = url.slice(mark + 1);
  return { path, query: new URLSearchParams(search), search };
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new Refusal('malformed', 'path contains an invalid escape');
  }
}

const fixedHeaders = [
  'Cache-Control',
  'no-store',
  'Content-Type',
  'application/json',
  'Strict-Transport-Security',
  'max-age=31536000; includeSubDomains',
];

/** Writes a response. `extra` contains headers in addition to the fixed ones, as a flat list of names and values. */
export function send(res: ServerResponse, status: number, body: string | Uint8Array, extra?: readonly string[]): void {
  const headers = extra === undefined ? fixedHeaders : withExtra(extra);
  if (status === 204 || status === 304 || (body === '' && res.req.method === 'HEAD')) {
    res.writeHead(status, headers);
    res.end();
    return;
  }
  res.writeHead(status, [...headers, 'Content-Length', String(Buffer.byteLength(body))]);
  res.end(res.req.method === 'HEAD' ? undefined : body);
}

// A header given explicitly replaces the fixed one of its name.
function withExtra(extra: readonly string[]): string[] {
  const names = new Set(extra.filter((_item, i) => i % 2 === 0).map((name) => name.toLowerCase()));
  const otherHeaders = fixedHeaders.filter((_item, i) => !names.has(fixedHeaders[i - (i % 2)]!.toLowerCase()));
  return [...otherHeaders, ...extra];
}

/** Writes the outcome of a request. Returns a promise if this takes long. */
export function sendOutcome(
  res: ServerResponse,
  outcome: Outcome,
  extra: readonly string[] | undefined,
): Promise<void> | undefined {
  const additions = outcome.headers || outcome.contentType ? headersOf(outcome, extra) : extra;
  if (outcome.long) return sendLong(res, outcome.status, additions, outcome.long);
  if (outcome.stream && res.req.method !== 'HEAD') sendStream(res, outcome.status, additions, outcome.stream);
  else send(res, outcome.status, bodyOf(outcome), additions);
  return undefined;
}

/** Reads the next part when the client has received the last. */
async function sendLong(
  res: ServerResponse,
  status: number,
  headers: readonly string[] | undefined,
  { bytes, parts }: LongBody,
): Promise<void> {
  res.writeHead(status, [...(headers ? withExtra(headers) : fixedHeaders), 'Content-Length', String(bytes)]);
  if (res.req.method === 'HEAD') res.end();
  else await pipeline(Readable.from(parts()), res);
}

function sendStream(
  res: ServerResponse,
  status: number,
  headers: readonly string[] | undefined,
  begin: NonNullable<Outcome['stream']>,
): void {
  res.writeHead(status, headers === undefined ? fixedHeaders : withExtra(headers));
  res.flushHeaders();
  const leave = begin({
    write: (text) => void res.write(text),
    end: () => void res.end(),
    get unread() {
      return res.writableLength;
    },
  });
  res.once('close', leave);
}

/** The body of an outcome; empty if it has none. */
function bodyOf(outcome: Outcome): string | Uint8Array {
  if (outcome.envelope) return outcome.injected ? injected(outcome.envelope) : envelope(outcome.envelope);
  if (outcome.stored !== undefined) return outcome.stored;
  if (outcome.bare === undefined) return '';
  if (typeof outcome.bare === 'string' || outcome.bare instanceof Uint8Array) return outcome.bare;
  return `${JSON.stringify(outcome.bare)}\n`;
}

function headersOf(outcome: Outcome, extra: readonly string[] | undefined): string[] {
  const headers = [...(extra ?? [])];
  for (const [name, value] of Object.entries(outcome.headers ?? {})) headers.push(name, value);
  if (outcome.contentType) headers.push('Content-Type', outcome.contentType);
  return headers;
}

/**
 * Writes a refusal: its status and its message, if it has one. If a retry may help, a header contains the time to wait.
 */
export function sendRefusal(res: ServerResponse, refusal: Refusal, extra?: readonly string[]): void {
  const headers = refusal.kind === 'unavailable' ? ['Retry-After', '1', ...(extra ?? [])] : extra;
  const messages = refusal.message === '' ? [] : [refusal.message];
  const body =
    refusal instanceof Misguided
      ? tellingErrorBody(messages, { requestId: requestId(res.req), warnings: [refusal.warning] })
      : errorBody(messages);
  send(res, statusOf[refusal.kind], body, headers);
}
