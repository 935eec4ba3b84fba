import type { IncomingMessage } from 'node:http';
import { readBearer } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import {
  BadClientCertificate,
  type CertificateRules,
  clientAddress,
  clientCertificates,
  requestId,
  sentRequestId,
} from '@keystead/server';
import { maxPathLength, SentPath } from '../kernel/routing/sent-path';
import type { Request, RequestFields } from '../pipeline/request';
import { isListing, type Verb } from '../sdk/call';
import { pairFields } from './read-fields';

/** What reading a request needs. */
export interface RequestRules extends CertificateRules {
  /** Also understand the header names of the product family (`X-Vault-*`). */
  readonly familyHeaders: boolean;
}

/** The session of a console page, for requests that send no token. */
export interface PageSession {
  readonly token: string;
  readonly steppedUp: boolean;
}

const nothing: RequestFields = { fields: {}, exact: false, bytes: 0, text: '' };
const noMfa: readonly string[] = [];
const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts = new Set(['', '0', 'f', 'F', 'false', 'FALSE', 'False']);

/**
 * Turns an HTTP request into a kernel request. `readBody` reads the fields of a body, after the caller's limit is
 * known. A token in the request takes precedence over a session. Throws `malformed` for a list parameter that is not a
 * boolean, and `unsupported-operation` for unknown verbs.
 */
export function readRequest(
  req: IncomingMessage,
  target: Target,
  rules: RequestRules,
  readBody: NonNullable<Request['readBody']>,
  session?: PageSession,
): Request {
  const { query } = target;
  const verb = verbOf(req.method!, target);
  const { headers } = req;
  const header = (name: string): string | undefined => {
    const ownHeader = headers[`x-service-${name}`] as string | undefined;
    const family = rules.familyHeaders ? (headers[`x-vault-${name}`] as string | undefined) : undefined;
    if (ownHeader !== undefined && family !== undefined && ownHeader !== family) {
      throw new Refusal('malformed', `the headers x-service-${name} and x-vault-${name} have different values`);
    }
    return ownHeader ?? family;
  };
  const inBody = verb === 'write' || verb === 'patch';
  const mfa = header('mfa');
  const wrapTtl = header('wrap-ttl') || undefined;
  if (wrapTtl !== undefined && header('wrap-format')) {
    throw new Refusal('invalid', 'X-Service-Wrap-Format: only tokens are supported; omit the header');
  }
  const token = header('token') || readBearer(headers.authorization);
  return {
    id: requestId(req),
    sentId: sentRequestId(req),
    verb,
    headOnly: req.method === 'HEAD',
    path: target.path,
    namespace: header('namespace') ?? '',
    token: token ?? session?.token,
    session: token === undefined ? session : undefined,
    wrapTtl,
    mfa: mfa === undefined ? noMfa : mfa.split(',').map((item) => item.trim()),
    sent: inBody || query === undefined ? nothing : inQuery(query, verb, target.search!),
    readBody: inBody ? readBody : undefined,
    ifNoneMatch: headers['if-none-match'],
    address: clientAddress(req, rules.trustedProxies),
    header: (name) => req.headersDistinct[name],
    certificates: () => certificatesOf(req, rules),
    help: query !== undefined && trueTexts.has(query.get('help') ?? ''),
    route: undefined,
  };
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
export function readTarget(url: string, readBase64: (text: string) => SentPath | undefined): Target | Detour {
  const mark = url.indexOf('?');
  const rawPath = mark < 0 ? url.slice(4) : url.slice(4, mark);
  // Decoding never makes a path longer, so a path that is too long is not decoded.
  if (rawPath.length > maxPathLength) throw new Refusal('malformed', `path is longer than ${maxPathLength} characters`);
  const text = rawPath.includes('%') ? decode(rawPath) : rawPath;
  const read = SentPath.read(text);
  const path = read instanceof SentPath ? read : readBase64(text);
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
