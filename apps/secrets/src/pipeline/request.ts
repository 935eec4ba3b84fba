import type { Envelope } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import type { AuditedRequest } from '../kernel/audit/audit';
import type { Identified } from '../kernel/policy/access';
import type { Operation as Capability } from '../kernel/policy/capability';
import type { AccessList, Decision } from '../kernel/policy/types';
import type { RouteMatch, SentPath } from '../kernel/routing/sent-path';
import type { TokenRecord } from '../kernel/tokens/types';
import type { CallerToken, Verb } from '../sdk/call';
import type { WholeBody } from '../sdk/path';
import type { LongBody, StreamSink } from '../sdk/reply';

/** How much of a body is read. */
export interface BodyBounds {
  readonly bytes: number;
  /** Values of any kind, at any depth. */
  readonly values: number;
  /** Set if the body is not a JSON object of fields. */
  readonly wholeBody?: WholeBody;
}

/** The fields of a request: those of its body, or of its query. */
export interface RequestFields {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Some numbers in `fields` are kept as their digits. */
  readonly exact: boolean;
  /** Length of the text behind `fields`. */
  readonly bytes: number;
  /** The text or bytes behind `fields`. */
  readonly text: string | Uint8Array;
  /** Set when they are first needed: a request becomes several calls, and all requests without a body share this. */
  marks?: Marks;
}

type Marks = Readonly<Record<string, true | null>>;

/** A request as the kernel knows it, without anything of HTTP. */
export interface Request {
  readonly id: string;
  /** The id that the caller gave it. */
  readonly sentId?: string;
  readonly verb: Verb;
  /** Sent as HEAD: a read whose response has no body. */
  readonly headOnly: boolean;
  /** May begin with a namespace's path. */
  readonly path: SentPath;
  /** Namespace named by header; empty for root. */
  readonly namespace: string;
  readonly token: string | undefined;
  /** Set for requests that a console page makes with its session: `token` is the session's. */
  readonly session:
    | {
        /** The user has recently proven who they are once more. */
        readonly steppedUp: boolean;
      }
    | undefined;
  /** As sent; undefined if the response is not wrapped. */
  readonly wrapTtl: string | undefined;
  /** Second factors sent along with a login, one per entry: `method[:passcode]`. */
  readonly mfa: readonly string[];
  /** Body fields of writes, query fields of everything else; empty until the body has been read. */
  sent: RequestFields;
  /** Reads the body if it is within the limits; absent for verbs without a body. Throws refusals. */
  readonly readBody: ((bounds: BodyBounds) => RequestFields | Promise<RequestFields>) | undefined;
  /** The version of the answer that the caller already has. */
  readonly ifNoneMatch: string | undefined;
  readonly address: string;
  /** The values of a header, by its name in lower case; undefined if it was not sent. */
  readonly header: (name: string) => readonly string[] | undefined;
  /**
   * The client certificates as DER, the client's own first. Throws `invalid` if a proxy sent something else in their
   * place.
   */
  readonly certificates: () => readonly Buffer[];
  /** `?help=1`: returns a description of the path instead of executing the request. */
  readonly help: boolean;
  /** Name of the route, for log and metrics: a pattern, never a path. Set once the target is known. */
  route?: string;
  /** Rate-limit headers of the response; set if they are enabled and a limit applies. */
  rateHeaders?: Readonly<Record<string, string>>;
}

/** Which fields were sent: null for those sent as null, true for all others. */
export function markSent(sent: RequestFields): Marks {
  sent.marks ??= Object.fromEntries(
    Object.entries(sent.fields).map(([name, value]) => [name, value === null ? null : true]),
  );
  return sent.marks;
}

/** For callers without a known token. Logins, key shares and wrapping tokens need no more. */
const unknownCaller: BodyBounds = { bytes: 64 * 1024, values: 1000 };
/** For known callers and operations with declared fields. */
const declaredFields: BodyBounds = { bytes: 2 * 1024 * 1024, values: 50_000 };
/** For operations that store the whole body. */
const freeForm: BodyBounds = { bytes: 32 * 1024 * 1024, values: 50_000 };

const text = 'http: request body too large';

/** How much of a request's body is read, after its target and sender are known. Decision 0060. */
export function boundsOf(match: RouteMatch, authenticated: boolean): BodyBounds {
  const { operation } = match;
  const bounds = !authenticated
    ? unknownCaller
    : operation?.freeform || operation?.largeBody
      ? freeForm
      : declaredFields;
  return operation?.wholeBody ? { ...bounds, wholeBody: operation.wholeBody } : bounds;
}

/** While the service is sealed no caller is known. */
export const sealedBounds = unknownCaller;

/** Checks the fields of a query against the limits. Throws `too-large`. */
export function requireWithin({ fields, bytes }: RequestFields, { values }: BodyBounds): void {
  // A name and its separator take at least two bytes.
  if (bytes > 2 * values && Object.keys(fields).length > values) throw tooManyValues(values);
}

/** The refusal of a body with too many bytes; for the highest limit, in the wording that clients expect. */
export function tooManyBytes(limit: number): Refusal {
  if (limit === freeForm.bytes) return new Refusal('too-large', text);
  const mebibytes = limit / (1024 * 1024);
  return new Refusal('too-large', `${text}: more than ${mebibytes >= 1 ? `${mebibytes} MiB` : `${limit / 1024} KiB`}`);
}

/** The refusal of a body with too many values. */
export function tooManyValues(limit: number): Refusal {
  return new Refusal('too-large', `${text}: more than ${limit} values`);
}

/** A caller with a valid token. */
export interface Bearer {
  readonly record: TokenRecord;
  readonly facts: CallerToken;
  readonly access: AccessList;
  readonly identity: Identified | undefined;
  /** Token, entity and group policies together, sorted. */
  readonly policies: readonly string[];
}

/** What was decided about a request. */
export interface Grant {
  /** The operation of the request: create or update, if the path distinguishes them. */
  readonly capability: Capability;
  /** Whether the caller has sudo on this path, for handlers that require it. */
  readonly sudo: boolean;
  /** What must be true of the entry at commit, because the caller may only create it or only change it. */
  readonly guard: 'absent' | 'present' | undefined;
  readonly decision: Decision | undefined;
  /** What the path's `stored` found, if the decision depended on it. */
  readonly stored?: unknown;
}

/**
 * The data of a request. Each step returns an extended copy; a request that ends early is audited with the last copy.
 */
export interface RequestContext {
  readonly match: RouteMatch | undefined;
  readonly wrapTtlSeconds: number;
  /** The record of its token, before its rights were checked. */
  readonly token: TokenRecord | undefined;
  readonly bearer: Bearer | undefined;
  readonly grant: Grant | undefined;
  /** The content of its audit lines, from its request line on; absent if there is no audit device. */
  readonly entry: AuditedRequest | undefined;
}

/** The context after the target is known. */
export interface Located extends RequestContext {
  readonly match: RouteMatch;
}

/** Before the first step. */
export const emptyContext: RequestContext = {
  match: undefined,
  wrapTtlSeconds: 0,
  token: undefined,
  bearer: undefined,
  grant: undefined,
  entry: undefined,
};

/** The result of a request: everything the HTTP edge needs to answer it. */
export interface Outcome {
  readonly status: number;
  /** Enveloped answers. */
  readonly envelope?: Envelope;
  readonly injected?: boolean;
  /** Bare answers: text and bytes as they are, anything else as JSON. */
  readonly bare?: unknown;
  readonly contentType?: string;
  /** Instead of `bare`: see `RawReply`. */
  readonly long?: LongBody;
  /** The body is a stream: see `RawReply`. */
  readonly stream?: (sink: StreamSink) => () => void;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text of an envelope that was stored earlier. */
  readonly stored?: string;
}
