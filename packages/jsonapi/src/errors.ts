import { type Issue, Refusal, type RefusalKind } from '@keystead/refusal';

/** One member of the `errors` list of a JSON:API error document. */
export interface ErrorObject {
  status: string;
  title: string;
  code?: string;
  detail?: string;
  source?: { pointer?: string; parameter?: string };
  meta?: Record<string, unknown>;
}

/** Status and title of every kind of refusal. No other place in a JSON:API service maps them. */
const ANSWERS: Record<RefusalKind, readonly [status: number, title: string]> = {
  malformed: [400, 'bad request'],
  unauthenticated: [401, 'unauthorized'],
  denied: [403, 'forbidden'],
  missing: [404, 'not found'],
  'unsupported-path': [404, 'not found'],
  'unsupported-operation': [404, 'not found'],
  conflict: [409, 'conflict'],
  transition: [409, 'transition not allowed'],
  precondition: [412, 'precondition failed'],
  'too-large': [413, 'payload too large'],
  late: [408, 'request timeout'],
  'media-type': [415, 'unsupported media type'],
  invalid: [422, 'unprocessable entity'],
  limited: [429, 'Too many requests'],
  sealed: [503, 'service unavailable'],
  'not-initialised': [503, 'service unavailable'],
  upstream: [502, 'bad gateway'],
  unavailable: [503, 'service unavailable'],
  timeout: [503, 'service unavailable'],
  'cap-exceeded': [500, 'internal server error'],
};

/** A refusal that names the missing permission to a caller who may see the target. */
export class MissingPermission extends Refusal {
  constructor(readonly permission: string) {
    super('missing', '');
  }
}

/** A refusal of an action for which the user of a session must recently have confirmed their identity. */
export class StepUpRequired extends Refusal {
  constructor() {
    super('denied', 'this requires recent authentication: enter your password or a code again');
  }
}

/** A member's token has a type that the organization does not accept; non-members get "not found". */
export class TokenKindRefused extends Refusal {
  constructor(why: string) {
    super('unauthenticated', why);
  }
}

/** A refusal of one attribute in the older wording, which clients match as a whole. */
export class ValidationFailed extends Refusal {
  constructor(name: string, sentence: string) {
    super('invalid', 'invalid attributes', [{ path: [name], message: `Validation failed: ${sentence}` }]);
  }
}

/** Where the parts of a parsed body were: attribute or relationship name to JSON pointer. */
export type Pointers = ReadonlyMap<string, string>;

/**
 * A refusal of one attribute or relationship, by its name inside the service. The message continues a sentence that
 * begins with the attribute.
 */
export function invalid(name: string | readonly string[], message: string): Refusal {
  return new Refusal('invalid', 'invalid attribute', [{ path: typeof name === 'string' ? [name] : name, message }]);
}

/** A refusal of several attributes at once, one error object each. */
export function invalidAll(issues: readonly Issue[]): Refusal {
  return new Refusal('invalid', 'invalid attribute', issues);
}

/** A refusal of a query parameter: status 400, with the parameter as its source. */
export function badParameter(parameter: string, message: string): Refusal {
  return new Refusal('malformed', message, [{ path: ['?', parameter], message }]);
}

/** The HTTP status of a refusal. */
export function statusOf(kind: RefusalKind): number {
  return ANSWERS[kind][0];
}

const DASHED = /[A-Z]/g;

/** `sessionTimeout` to `session-timeout`. */
export function dashed(name: string): string {
  return name.replace(DASHED, (letter) => `-${letter.toLowerCase()}`);
}

/** `session-timeout`, `session_timeout` or `sessionTimeout` to `Session timeout`. */
export function humanised(name: string): string {
  const words = dashed(name).replace(/[-_]/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const STARTS_SENTENCE = /^[A-Z]/;

function detailOf(issue: Issue): string {
  const name = [...issue.path].reverse().find((part) => typeof part === 'string') ?? '';
  return STARTS_SENTENCE.test(issue.message) || name === ''
    ? issue.message
    : `${humanised(String(name))} ${issue.message}`;
}

function pointerOf(issue: Issue, pointers?: Pointers): string {
  if (issue.path[0] === 'data') return `/${issue.path.join('/')}`;
  const [first, ...rest] = issue.path.map(String);
  const start = pointers?.get(first ?? '') ?? `/data/attributes/${dashed(first ?? '')}`;
  return [start, ...rest.map(dashed)].join('/');
}

function issueObject(refusal: Refusal, issue: Issue, pointers?: Pointers): ErrorObject {
  const [status, title] = ANSWERS[refusal.kind];
  if (issue.path[0] === '?') {
    return { status: String(status), title, detail: issue.message, source: { parameter: String(issue.path[1]) } };
  }
  const isAttribute = issue.path.length > 0 && !(issue.path[0] === 'data' && issue.path.length < 3);
  const prefix = refusal instanceof ValidationFailed ? refusal.message : 'invalid attribute';
  return {
    status: String(status),
    title: refusal.kind === 'invalid' && isAttribute ? prefix : title,
    detail: isAttribute ? detailOf(issue) : issue.message,
    source: { pointer: pointerOf(issue, pointers) },
  };
}

/**
 * The error objects of a refusal: one for each issue, or one for the whole request. `reasons` adds `code` and
 * `meta.reason` if the caller may know why.
 */
export function errorObjects(
  refusal: Refusal,
  options: { pointers?: Pointers; reasons?: boolean } = {},
): ErrorObject[] {
  if (refusal.issues.length > 0) return refusal.issues.map((issue) => issueObject(refusal, issue, options.pointers));
  const [status, title] = ANSWERS[refusal.kind];
  const object: ErrorObject = { status: String(status), title };
  if (refusal instanceof MissingPermission && options.reasons === true) {
    return [{ ...object, code: 'permission-missing', meta: { reason: `this needs ${refusal.permission}` } }];
  }
  const keepsSilent = refusal.kind === 'missing' || refusal.kind === 'unauthenticated';
  if (refusal.message !== '' && (!keepsSilent || refusal instanceof TokenKindRefused)) {
    object.detail = refusal.message;
  }
  if (refusal instanceof StepUpRequired) object.code = 'step-up-required';
  return [object];
}
