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
import type { BodyBounds, Request, RequestFields } from '../pipeline/request';
import { isListing, type Verb } from '../sdk/call';
import { pairFields } from './form-body';
import type { Target } from './url';

/** What reading a request depends on. */
export interface RequestRules extends CertificateRules {
  /** Also understand the header names of the product family (`X-Vault-*`). */
  readonly familyHeaders: boolean;
}

/** What a page of the console asks with, where it sends no token. */
export interface PageSession {
  readonly token: string;
  readonly steppedUp: boolean;
}

const nothing: RequestFields = { fields: {}, exact: false, bytes: 0, text: '' };
const noMfa: readonly string[] = [];
const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts = new Set(['', '0', 'f', 'F', 'false', 'FALSE', 'False']);

/**
 * Turns an HTTP request into a kernel request. `readBody` reads the fields of verbs with a body, once it is known how
 * much of it the sender may have read. A token that is sent counts before a session.
 * Throws `malformed` for a list parameter that is not a boolean, `unsupported-operation` for unknown verbs.
 */
export function readRequest(
  req: IncomingMessage,
  target: Target,
  rules: RequestRules,
  readBody: (bounds: BodyBounds) => Promise<RequestFields>,
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
    throw new Refusal('invalid', 'X-Service-Wrap-Format: the only format is a token; leave the header out');
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
    // The longest page that the policies and the listing allow.
    if (fields.limit === 'max') fields.limit = '0';
  }
  delete fields.help;
  return { fields, exact: false, bytes: text.length, text };
}
