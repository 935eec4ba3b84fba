/** Every kind of deliberate "no". A service maps it to a status in one place. */
export type RefusalKind =
  | 'malformed'
  | 'unauthenticated'
  | 'denied'
  | 'missing'
  | 'unsupported-path'
  | 'unsupported-operation'
  | 'conflict'
  | 'transition'
  | 'precondition'
  | 'too-large'
  | 'late'
  | 'media-type'
  | 'invalid'
  | 'limited'
  | 'sealed'
  | 'not-initialised'
  | 'upstream'
  | 'unavailable'
  | 'timeout'
  | 'cap-exceeded';

/** The HTTP status of each kind, unless clients expect another status. */
export const usualStatus: Readonly<Record<RefusalKind, number>> = {
  malformed: 400,
  unauthenticated: 401,
  denied: 403,
  missing: 404,
  'unsupported-path': 404,
  'unsupported-operation': 405,
  conflict: 409,
  transition: 409,
  precondition: 412,
  'too-large': 413,
  late: 408,
  'media-type': 415,
  invalid: 422,
  limited: 429,
  sealed: 503,
  'not-initialised': 503,
  upstream: 502,
  unavailable: 503,
  timeout: 504,
  'cap-exceeded': 500,
};

/** One invalid input: its position (keys from the outside in, as the client sent them) and the error. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** An answer of "no" that the caller may read. Any other thrown error is a fault and becomes a 500 without details. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly kind: RefusalKind,
    message: string,
    /** One issue per invalid input; empty if the whole request is refused. */
    readonly issues: readonly Issue[] = [],
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** A read-only node got a request that is not a read. If it knows a writing node, it redirects the caller there. */
export class PrimaryNeeded extends Refusal {
  constructor() {
    super(
      'unavailable',
      'this node is read-only (it uses a standby of the database): send the request to a node that can write',
    );
  }
}

/** The target of the request does not exist, or the caller may not know that it does. */
export const notFound = (): Refusal => new Refusal('missing', '');

/** True for errors that were thrown on purpose and may be shown to the caller. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof Refusal;
}
