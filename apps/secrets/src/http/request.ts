import type { IncomingMessage } from 'node:http';
import { readBearer } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { clientAddress, readBody, requestId, type TrustedProxies } from '@keystead/server';
import type { Request } from '../pipeline/request';
import type { Verb } from '../sdk/call';
import { type BodyFields, parseJsonBody } from './json-body';
import type { Target } from './url';

/** Bodies above it are refused with 413. */
export const maxBodyBytes = 32 * 1024 * 1024;
/** Bodies above it are read a few at a time: read, they take many times their length. */
const largeBodyBytes = 2 * 1024 * 1024;

/** What reading a request depends on. */
export interface RequestRules {
  /** Also understand the header names of the product family (`X-Vault-*`). */
  readonly familyHeaders: boolean;
  readonly trustedProxies: TrustedProxies;
}

const noFields: BodyFields = { fields: {}, exact: false };
const noMfa: readonly string[] = [];
const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts = new Set(['', '0', 'f', 'F', 'false', 'FALSE', 'False']);

/** Whether reading this request needs its body first. */
export function hasBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

/**
 * Turns an HTTP request into a kernel request. `body` is what `readFields` gave for verbs with a body.
 * Throws `malformed` for a list parameter that is no boolean, `unsupported-operation` for verbs nobody knows.
 */
export function readRequest(
  req: IncomingMessage,
  target: Target,
  body: BodyFields | undefined,
  rules: RequestRules,
): Request {
  const { query } = target;
  const verb = verbOf(req.method!, target);
  const { headers } = req;
  const header = (name: string): string | undefined => {
    const own = headers[`x-service-${name}`] as string | undefined;
    const family = rules.familyHeaders ? (headers[`x-vault-${name}`] as string | undefined) : undefined;
    if (own !== undefined && family !== undefined && own !== family) {
      throw new Refusal('malformed', `the headers x-service-${name} and x-vault-${name} have different values`);
    }
    return own ?? family;
  };
  const path = verb === 'list' && !target.path.endsWith('/') ? `${target.path}/` : target.path;
  const read = body ?? (query === undefined ? noFields : { fields: queryFields(query, verb), exact: false });
  const mfa = header('mfa');
  return {
    id: requestId(req),
    verb,
    path,
    namespace: header('namespace') ?? '',
    token: header('token') || readBearer(headers.authorization),
    wrapTtl: header('wrap-ttl') || undefined,
    mfa: mfa === undefined ? noMfa : mfa.split(',').map((item) => item.trim()),
    fields: read.fields,
    exact: read.exact,
    address: clientAddress(req, rules.trustedProxies),
    help: query !== undefined && trueTexts.has(query.get('help') ?? ''),
    route: undefined,
  };
}

/**
 * Reads the fields of a body: JSON, or a form; a large one once `turn` resolves. Throws `BodyTooLarge`, `malformed`,
 * `media-type`, and what `turn` throws.
 */
export async function readFields(req: IncomingMessage, turn: () => Promise<unknown>): Promise<BodyFields> {
  const type = req.headers['content-type'] ?? '';
  if (req.method === 'PATCH') requireMergePatch(type);
  const bytes = await readBody(req, { limit: maxBodyBytes, large: { above: largeBodyBytes, turn } });
  if (bytes.length === 0) return noFields;
  const text = bytes.toString('utf8');
  // curl calls every body a form unless told otherwise: what begins like JSON is JSON, as clients have always relied on.
  if (type.startsWith('application/x-www-form-urlencoded') && !/^\s*[{[]/.test(text)) {
    return { fields: fromQuery(new URLSearchParams(text)), exact: false };
  }
  return parseJsonBody(text);
}

function requireMergePatch(type: string): void {
  const media = type.split(';')[0]!.trim().toLowerCase();
  if (media === '') throw new Refusal('malformed', 'mime: no media type');
  if (media !== 'application/merge-patch+json') {
    throw new Refusal('media-type', `PATCH requires Content-Type of application/merge-patch+json, provided ${media}`);
  }
}

function verbOf(method: string, { path, query }: Target): Verb {
  switch (method) {
    case 'GET':
      return query === undefined ? 'read' : readOrList(query);
    case 'HEAD':
      // Load balancers ask so; nothing else has an answer without a body.
      if (path === 'sys/health') return 'read';
      throw new Refusal('unsupported-operation', '');
    case 'LIST':
      return 'list';
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
    throw new Refusal('unsupported-operation', '');
  }
  if (list === null) return 'read';
  if (trueTexts.has(list)) return 'list';
  if (falseTexts.has(list)) return 'read';
  throw new Refusal('malformed', '');
}

function queryFields(query: URLSearchParams, verb: Verb): Record<string, unknown> {
  const fields = fromQuery(query);
  if (verb === 'list') {
    delete fields.list;
    // The longest page that the policies and the listing allow.
    if (fields.limit === 'max') fields.limit = '0';
  }
  delete fields.help;
  return fields;
}

function fromQuery(query: URLSearchParams): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of query) {
    const before = Object.hasOwn(fields, key) ? fields[key] : undefined;
    const now = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
    Object.defineProperty(fields, key, { value: now, enumerable: true, configurable: true, writable: true });
  }
  return fields;
}
