import type { SentPath } from '../kernel/routing/sent-path';
import type { Verb } from '../sdk/call';
import type { WholeBody } from '../sdk/path';

/** How much of a body is read. */
export interface BodyBounds {
  readonly bytes: number;
  /** Values of any kind, at any depth. */
  readonly values: number;
  /** Where the body is not JSON of fields. */
  readonly wholeBody?: WholeBody;
}

/** What came with a request: the fields of its body, or of its query. */
export interface RequestFields {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Some numbers in `fields` are held by their digits. */
  readonly exact: boolean;
  /** Length of what `fields` were read from. */
  readonly bytes: number;
  /** What `fields` were read from. */
  readonly text: string | Uint8Array;
}

/** A request as the kernel knows it: no HTTP left in it. */
export interface Request {
  readonly id: string;
  /** The id that the caller gave it. */
  readonly sentId?: string;
  readonly verb: Verb;
  /** Sent as HEAD: a read, whose body is not wanted. */
  readonly headOnly: boolean;
  /** May begin with a namespace's path. */
  readonly path: SentPath;
  /** Namespace named by header; empty for root. */
  readonly namespace: string;
  readonly token: string | undefined;
  /** Of a request that a page of the console makes with its session: `token` is the session's. */
  readonly session:
    | {
        /** The person has proven again who they are. */
        readonly steppedUp: boolean;
      }
    | undefined;
  /** As sent; undefined when the answer is not to be wrapped. */
  readonly wrapTtl: string | undefined;
  /** Second factors sent along with a login, one per entry: `method[:passcode]`. */
  readonly mfa: readonly string[];
  /** Body fields of writes, query fields of everything else; nothing while a body has not been read. */
  sent: RequestFields;
  /** Reads the body, if it is within the bounds; absent for verbs without one. Throws refusals. */
  readonly readBody: ((bounds: BodyBounds) => Promise<RequestFields>) | undefined;
  /** The version of the answer that the caller has. */
  readonly ifNoneMatch: string | undefined;
  readonly address: string;
  /** The values of a header, by its name in lower case; undefined if it was not sent. */
  readonly header: (name: string) => readonly string[] | undefined;
  /**
   * The certificates that the client has shown, as DER: its own first. Throws `invalid` if a proxy sent none as one.
   */
  readonly certificates: () => readonly Buffer[];
  /** `?help=1`: the path's own description instead of its answer. */
  readonly help: boolean;
  /** Name of the route, for log and metrics: a pattern, never a path. Set once it is known where the request leads. */
  route?: string;
  /** Rate-limit headers of the answer; set where they are wanted and a limit counts the request. */
  rateHeaders?: Readonly<Record<string, string>>;
}

type Marks = Readonly<Record<string, true | null>>;

// A request is shown as several calls, and all requests without a body share the same fields.
const marks = new WeakMap<object, Marks>();

/** Which fields were sent: null, or true for anything else. */
export function markSent(fields: RequestFields['fields']): Marks {
  let marked = marks.get(fields);
  if (marked === undefined) {
    marked = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value === null ? null : true]));
    marks.set(fields, marked);
  }
  return marked;
}
