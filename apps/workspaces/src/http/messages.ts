import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseExact } from '@keystead/envelope';
import {
  type ErrorObject,
  errorObjects,
  LargeText,
  maxListMembers,
  parseWithLargeTexts,
  StepUpRequired,
  statusOf,
} from '@keystead/jsonapi';
import { isConnectionLoss } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import {
  atPace,
  BodyAborted,
  BodyLate,
  BodyTooLarge,
  contentCoding,
  GateFull,
  JsonTooMuch,
  nextTurn,
  readBody,
  scanJson,
} from '@keystead/server';
import type { Dialect } from '../kernel/endpoints/dialect';
import {
  bodyBytes,
  bodyValues,
  type Endpoint,
  type LargeBody,
  type Raw,
  unknownBody,
} from '../kernel/endpoints/endpoint';
import { plainTypeOf, typeAsAccepted } from '../kernel/endpoints/plain-types';
import type { RateVerdict } from '../kernel/endpoints/rate-limit';
import type { EndpointResponse } from '../kernel/endpoints/run-endpoint';

const DEEPEST = 64;

const ACCEPTED = ['application/vnd.api+json', 'application/json'] as const;

const utf8 = new TextDecoder('utf-8', { fatal: true });

function requireMediaType(header: string | undefined, accepted: readonly [string, ...string[]]): void {
  const type = (header ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (!accepted.includes(type)) throw new Refusal('media-type', `send ${accepted[0]}`);
}

/** Node has this function; the types that we compile with do not have it yet. */
const isWellFormed = (text: string): boolean => (text as unknown as { isWellFormed(): boolean }).isWellFormed();

/** The reason why the database cannot store a string: null characters or lone surrogates. */
function flawOf(text: string): string | undefined {
  if (text.includes('\0')) return 'contains a null character';
  return isWellFormed(text) ? undefined : 'contains an unpaired surrogate';
}

function requireText(text: string, at: readonly (string | number)[]): void {
  const flaw = flawOf(text);
  if (flaw !== undefined) {
    throw new Refusal(
      'malformed',
      `/${at.join('/')} ${flaw}`,
      at[0] === 'data' ? [{ path: [...at], message: flaw }] : [],
    );
  }
}

/**
 * Refuses strings that the database cannot store (null characters, lone surrogates) and lists that are too long for any
 * field. `at` is the path of the value; it is unchanged afterwards.
 */
function requireSound(value: unknown, at: (string | number)[]): void {
  if (typeof value === 'string') {
    requireText(value, at);
    return;
  }
  if (typeof value !== 'object' || value === null || value instanceof LargeText) return;
  if (Array.isArray(value)) {
    if (value.length > maxListMembers) {
      const where = at.map((step) => `/${typeof step === 'number' ? '*' : step}`).join('');
      throw new Refusal('too-large', `${where.slice(0, 1000)} contains more than ${maxListMembers} members`);
    }
    for (let index = 0; index < value.length; index++) {
      at.push(index);
      requireSound(value[index], at);
      at.pop();
    }
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    requireText(key, at);
    at.push(key);
    requireSound(inner, at);
    at.pop();
  }
}

/**
 * Reads and parses the JSON body of an endpoint; undefined if it is empty. Unknown senders may send less. A large body
 * is not read until `turn` resolves. Throws `malformed`, `media-type`, `too-large`, `BodyTooLarge`, `BodyLate`, or what
 * `turn` throws.
 */
export async function readJson(
  req: IncomingMessage,
  { largeBody, dialect }: Pick<Endpoint, 'largeBody' | 'dialect'>,
  isKnown: boolean,
  turn: () => Promise<unknown>,
): Promise<unknown> {
  const most = isKnown ? bodyBytes : unknownBody.bytes;
  const bytes =
    largeBody === undefined || !isKnown ? await readBody(req, { limit: most }) : await readLarge(req, largeBody, turn);
  if (bytes.length === 0) return undefined;
  requirePlain(req);
  requireMediaType(req.headers['content-type'], dialect?.mediaTypes ?? ACCEPTED);
  await lookOver(bytes, isKnown ? bodyValues : unknownBody.values);
  try {
    const large = bytes.length > bodyBytes;
    const value: unknown = large
      ? parseWithLargeTexts(bytes, parseExact)
      : (largeBody ? parseExact : JSON.parse)(utf8.decode(bytes));
    if (large) {
      await nextTurn();
    }
    requireSound(value, []);
    return value;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('malformed', 'the body is not valid JSON', [], { cause: error });
  }
}

/** Compressed bodies are not supported. Throws `media-type`. */
function requirePlain(req: IncomingMessage): void {
  if (contentCoding(req)) throw new Refusal('media-type', 'Content-Encoding: send the body as it is, not compressed');
}

/** The body of an endpoint that reads it as a stream. Throws `media-type`. */
export function readStream(req: IncomingMessage): AsyncIterable<Uint8Array> {
  requirePlain(req);
  return atPace(req);
}

async function lookOver(bytes: Buffer, values: number): Promise<void> {
  try {
    await scanJson(bytes, { values, levels: DEEPEST });
  } catch (error) {
    if (!(error instanceof JsonTooMuch)) throw error;
    if (error.bound === 'values')
      throw new Refusal('too-large', `the request body contains more than ${values} values`);
    throw new Refusal('malformed', `the document is nested deeper than ${DEEPEST} levels`);
  }
}

async function readLarge(req: IncomingMessage, { bytes, instead }: LargeBody, turn: () => Promise<unknown>) {
  try {
    return await readBody(req, { limit: bytes, large: { above: bodyBytes, turn } });
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw error;
    throw new Refusal('too-large', `${error.message}; ${instead}`);
  }
}

/** The API version that responses contain. */
const API_VERSION = '2.6';
/** The release of the reference product that has the same interface, in its older and newer numbering. */
const RELEASE = 'v202404-2';
const NUMBERED_RELEASE = '2.0.1';
const JSON_API = 'application/vnd.api+json; charset=utf-8';

/** Headers that depend on the settings of the service. They are computed once. */
export function fixedHeaders(edition: string, aliases: boolean): readonly string[] {
  const headers = ['X-API-Version', API_VERSION, 'X-App-Name', edition === 'hosted' ? 'Keystead Cloud' : 'Keystead'];
  if (aliases) {
    // Existing clients choose their features by these names.
    headers.push('TFP-API-Version', API_VERSION);
    headers.push('TFP-AppName', edition === 'hosted' ? 'HCP Terraform' : 'Terraform Enterprise');
    if (edition === 'self-hosted') {
      headers.push('X-TFE-Version', RELEASE, 'X-TFE-Current-Version', NUMBERED_RELEASE);
    }
  }
  headers.push('Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff');
  return headers;
}

/** The headers of every response: fixed ones, request id, rate limit. */
export function commonHeaders(fixed: readonly string[], requestId: string, rate: RateVerdict): string[] {
  return [
    ...fixed,
    'X-Request-Id',
    requestId,
    'X-RateLimit-Limit',
    String(rate.limit),
    'X-RateLimit-Remaining',
    String(rate.remaining),
    'X-RateLimit-Reset',
    rate.limit === 0 ? '0.0' : rate.resetSeconds.toFixed(3),
  ];
}

/** Writes an answer. Returns a promise if this takes long. */
export function sendAnswer(
  res: ServerResponse,
  answer: EndpointResponse,
  headers: string[],
): Promise<void> | undefined {
  if (answer.raw !== undefined) return sendRaw(res, answer.raw, headers);
  if (answer.body === undefined) {
    res.writeHead(answer.status, headers);
    res.end();
    return undefined;
  }
  if (answer.etag !== undefined) headers.push('ETag', answer.etag);
  sendText(res, answer.status, JSON_API, answer.body, headers);
  return undefined;
}

/** How long the headers are sent before the body, so that a client reads them separately. */
const apartMs = 2;
/**
 * The maximum number of bytes of a body that a client reads together with the headers: the Go client reads 4 KB in
 * total.
 */
const alongBytes = 2048;

/** The errors of a stream whose client disconnected before or while it was sent. */
const clientLeft: ReadonlySet<string> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE']);

async function sendRaw(res: ServerResponse, raw: Raw, headers: string[]): Promise<void> {
  for (const [name, value] of Object.entries(raw.headers)) {
    if (name !== 'Content-Type' || plainTypeOf(value) === undefined) headers.push(name, value);
    else headers.push(name, typeAsAccepted(value, res.req.headers.accept), 'Vary', 'Accept');
  }
  if (raw.body === undefined || typeof raw.body === 'string' || Buffer.isBuffer(raw.body)) {
    if (raw.status !== 204 && raw.status !== 304) {
      headers.push('Content-Length', String(Buffer.byteLength(raw.body ?? '')));
    }
    res.writeHead(raw.status, headers);
    if (raw.headersFirst && Buffer.byteLength(raw.body ?? '') > alongBytes) {
      res.flushHeaders();
      await sleep(apartMs);
    }
    res.end(raw.body);
    return;
  }
  res.writeHead(raw.status, headers);
  if (res.req.method === 'HEAD') {
    const { body } = raw;
    if ('destroy' in body && typeof body.destroy === 'function') body.destroy();
    res.end();
    return;
  }
  try {
    await pipeline(raw.body, res);
  } catch (error) {
    if (!clientLeft.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

function sendText(res: ServerResponse, status: number, type: string, text: string | Buffer, headers: string[]): void {
  const length = typeof text === 'string' ? Buffer.byteLength(text) : text.length;
  headers.push('Content-Type', type, 'Content-Length', String(length));
  res.writeHead(status, headers);
  res.end(text);
}

/** Redirects a caller to a node that can write. 307 keeps the method and the body. */
export function sendToPrimary(res: ServerResponse, address: string, headers: string[]): void {
  res.writeHead(307, [...headers, 'Location', address, 'Content-Length', '0']).end();
}

/** The refusal behind an error; undefined for a fault. */
export function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof BodyTooLarge) return new Refusal('too-large', error.message);
  if (error instanceof GateFull) return new Refusal('unavailable', error.message);
  if (error instanceof BodyLate) return new Refusal('late', error.message);
  if (error instanceof BodyAborted) return new Refusal('malformed', error.message);
  if (isConnectionLoss(error)) return new Refusal('unavailable', 'storage is unavailable', [], { cause: error });
  return undefined;
}

/**
 * Writes the error document of a refusal in the dialect of the path. Without a refusal, the document reports an
 * internal error.
 */
export function sendRefusal(
  res: ServerResponse,
  refusal: Refusal | undefined,
  headers: string[],
  options: Parameters<typeof errorObjects>[1] & { dialect?: Dialect } = {},
): void {
  const spoken = options.dialect?.refusal(refusal);
  const fault: ErrorObject[] = [{ status: '500', title: 'internal server error' }];
  const errors = refusal === undefined ? fault : errorObjects(refusal, options);
  const status = spoken?.status ?? (refusal === undefined ? 500 : statusOf(refusal.kind));
  if (status === 503) {
    headers.push('Retry-After', '1');
  }
  if (refusal instanceof StepUpRequired) {
    headers.push('X-Keystead-Step-Up', 'required');
  }
  const type = options.dialect?.mediaTypes[0] ?? JSON_API;
  sendText(res, status, type, spoken?.text ?? JSON.stringify({ errors }), headers);
}

/** The response to a request over the rate limit. Its status is a number, as clients expect. */
export function sendLimited(res: ServerResponse, headers: string[], dialect?: Dialect): void {
  const detail = "You have exceeded the API's rate limit.";
  if (dialect !== undefined) {
    sendRefusal(res, new Refusal('limited', detail), headers, { dialect });
    return;
  }
  const error = { detail, status: 429, title: 'Too many requests' };
  sendText(res, 429, JSON_API, JSON.stringify({ errors: [error] }), headers);
}
