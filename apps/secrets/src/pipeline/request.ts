import type { Envelope } from '@keystead/envelope';
import { PrimaryNeeded, Refusal, type RefusalKind, usualStatus } from '@keystead/refusal';
import type { AuditedRequest } from '../kernel/audit/audit';
import type { Identified } from '../kernel/policy/access';
import type { AccessList, Operation as Capability, Decision } from '../kernel/policy/types';
import type { RouteMatch, SentPath } from '../kernel/routing/sent-path';
import type { TokenRecord } from '../kernel/tokens/types';
import type { CallerToken, Verb } from '../sdk/call';
import type { WholeBody } from '../sdk/path';
import type { LongBody, StreamSink } from '../sdk/reply';
import type { Kernel } from './kernel';

/** How much of a body is read. */
export interface BodyBounds {
  readonly bytes: number;
  /** Values of any kind, at any depth. */
  readonly values: number;
  /** The name and type of the whole body, if it is not a JSON object of fields. */
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
  /**
   * Computed when first needed. It is stored here because a request may become several calls. All requests without a
   * body share this object.
   */
  marks?: Marks;
}

type Marks = Readonly<Record<string, true | null>>;

/** Nothing was sent. */
export const nothingSent: RequestFields = { fields: {}, exact: false, bytes: 0, text: '' };

/** A request as the kernel knows it, without anything of HTTP. */
export interface Request {
  readonly id: string;
  /** The id that the caller gave the request. */
  readonly sentId?: string;
  readonly verb: Verb;
  /** Sent as HEAD: a read whose response has no body. */
  readonly headOnly: boolean;
  /** The path, which may begin with a namespace's path. */
  readonly path: SentPath;
  /** Namespace named by header; empty for root. */
  readonly namespace: string;
  readonly token: string | undefined;
  /** Set for requests that a console page makes with its session: `token` is the session's. */
  readonly session:
    | {
        /** The user has recently confirmed their identity. */
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
  /** The version of the answer that the caller already has, from `If-None-Match`. */
  readonly ifNoneMatch: string | undefined;
  readonly address: string;
  /** The values of a header, by its name in lower case; undefined if it was not sent. */
  header(name: string): readonly string[] | undefined;
  /**
   * The client certificates as DER, the client's own first. Throws `invalid` if a proxy sent something else in their
   * place.
   */
  certificates(): readonly Buffer[];
  /** `?help=1`: returns a description of the path instead of executing the request. */
  readonly help: boolean;
  /** Name of the route, for log and metrics: a pattern, never a path. Set once the target is known. */
  route?: string;
  /** Rate-limit headers of the response; set if they are enabled and a limit applies. */
  rateHeaders?: Readonly<Record<string, string>>;
}

/** The fields that were sent: null for fields sent as null, true for all others. */
export function markSent(sent: RequestFields): Marks {
  sent.marks ??= Object.fromEntries(
    Object.entries(sent.fields).map(([name, value]) => [name, value === null ? null : true]),
  );
  return sent.marks;
}

/** The limits for callers without a known token. Logins, key shares and wrapping tokens need no more. */
const unknownCaller: BodyBounds = { bytes: 64 * 1024, values: 1000 };
/** The limits for known callers and operations with declared fields. */
const declaredFields: BodyBounds = { bytes: 2 * 1024 * 1024, values: 50_000 };
/** The limits for operations that store the whole body. */
const freeForm: BodyBounds = { bytes: 32 * 1024 * 1024, values: 50_000 };

const text = 'http: request body too large';

/**
 * How much of a request's body is read, after its target and sender are known: 64 KiB from unknown senders, otherwise 2
 * MiB, or 32 MiB for operations that store the whole body or accept large ones. Decision 0060.
 */
export function boundsOf(match: RouteMatch, authenticated: boolean): BodyBounds {
  const { operation } = match;
  const bounds = !authenticated
    ? unknownCaller
    : operation?.freeform || operation?.largeBody
      ? freeForm
      : declaredFields;
  return operation?.wholeBody ? { ...bounds, wholeBody: operation.wholeBody } : bounds;
}

/** The limits while the service is sealed, because then no caller is known. */
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

/** The decision of the policies about a request. */
export interface Grant {
  /** The operation of the request: create or update, if the path distinguishes them. */
  readonly capability: Capability;
  /** Whether the caller has sudo on this path, for handlers that require it. */
  readonly sudo: boolean;
  /** The required state of the entry at commit, if the caller may only create it or only change it. */
  readonly guard: 'absent' | 'present' | undefined;
  readonly decision: Decision | undefined;
  /** The result of the path's `stored`, if the decision depended on it. */
  readonly stored?: unknown;
}

/** The data of a request. Each step adds its result; a request that ends early is audited with the results so far. */
export interface RequestContext {
  readonly match: RouteMatch | undefined;
  wrapTtlSeconds: number;
  /** The record of its token, before its rights were checked. */
  token: TokenRecord | undefined;
  bearer: Bearer | undefined;
  grant: Grant | undefined;
  /** The content of its audit lines, from its request line on; absent if there is no audit device. */
  entry: AuditedRequest | undefined;
}

/** The context after the target is known. */
export interface Located extends RequestContext {
  readonly match: RouteMatch;
}

/** A context for the first step, with or without its result. */
export function contextOf<M extends RouteMatch | undefined>(match: M): RequestContext & { readonly match: M } {
  return { match, wrapTtlSeconds: 0, token: undefined, bearer: undefined, grant: undefined, entry: undefined };
}

/** The context before the first step. */
export const emptyContext: RequestContext = Object.freeze(contextOf(undefined));

/** The result of a request: everything the HTTP edge needs to answer it. */
export interface Outcome {
  readonly status: number;
  /** The content of an enveloped answer. */
  readonly envelope?: Envelope;
  readonly injected?: boolean;
  /** The content of a bare answer: text and bytes as they are, anything else as JSON. */
  readonly bare?: unknown;
  readonly contentType?: string;
  /** A long body that replaces `bare`: see `RawReply`. */
  readonly long?: LongBody;
  /** The body is a stream: see `RawReply`. */
  readonly stream?: (sink: StreamSink) => () => void;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text of an envelope that was stored earlier. */
  readonly stored?: string;
}

/**
 * Statuses of refusals in this service. Its clients expect 403 for unauthenticated requests, too, and 400 for conflicts
 * and invalid requests; all other statuses are the usual ones.
 */
export const statusOf: Readonly<Record<RefusalKind, number>> = {
  ...usualStatus,
  unauthenticated: 403,
  conflict: 400,
  transition: 400,
  invalid: 400,
};

/** The status of a refusal: callers who need another node are redirected, if this node knows where. */
export const refusedStatus = ({ standby }: Kernel, refusal: Refusal): number =>
  refusal instanceof PrimaryNeeded && standby?.primaryUrl !== undefined ? 307 : statusOf[refusal.kind];
