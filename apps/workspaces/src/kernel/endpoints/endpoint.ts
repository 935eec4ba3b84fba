import {
  type AttributeShape,
  type BodyShape,
  type Page,
  type Query,
  type Relation,
  type RelationShape,
  type Serializer,
  type SerializerSpec,
  serializer,
} from '@keystead/jsonapi';
import type { Access } from '../access/access';
import type { Policy, Rule } from '../access/policy';
import type { Principal, PrincipalKind } from '../access/principal';
import type { Database } from '../database/database';
import type { Edition } from '../installation/edition';
import type { Dialect } from './dialect';
import type { Environment, SiteSettings } from './environment';

/** The context of serializers in addition to the item: the caller and the settings of the service. */
export interface View {
  readonly access: Access;
  readonly edition: Edition;
  readonly aliases: boolean;
  readonly publicUrl: string;
  readonly settings: SiteSettings;
  readonly defaultFeatureSet: string;
}

/**
 * How one kind of resource is shown. The compiler checks the attributes against its type: `serializerOf<Team>()({ type:
 * 'teams', … })`.
 */
export const serializerOf =
  <Item>() =>
  <S extends AttributeShape, R extends RelationShape = Record<never, Relation>>(
    spec: SerializerSpec<Item, View, S, R>,
  ): Serializer<Item, View> =>
    serializer(spec);

type ParamNames<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<`/${Rest}`>
  : P extends `${string}:${infer Name}`
    ? Name
    : never;

/** The parameters of a path pattern, by name: `/workspaces/:workspace_id`. */
export type Params<P extends string> = { readonly [Name in ParamNames<P>]: string };

/** The argument of `load`. */
export interface Lookup<P extends string> {
  readonly db: Database;
  readonly env: Environment;
  readonly principal: Principal;
  readonly params: Params<P>;
  readonly query: Query;
}

/** The argument of `load` for any path that has these parameters. */
export interface LookupBy<Name extends string> extends Omit<Lookup<string>, 'params'> {
  readonly params: { readonly [N in Name]: string };
}

/** The attributes and relationships that a request asks for, by type of resource. */
export type SparseFields = ReadonlyMap<string, ReadonlySet<string>>;

/** The argument of `run`: the caller, the target, and the parsed request. */
export interface Call<P extends string, Body, Target> extends Lookup<P> {
  /** The caller's access to the target's organization. */
  readonly access: Access;
  readonly target: Target;
  readonly body: Body;
  /** Undefined for the whole list. */
  readonly page: Page | undefined;
  readonly sort: readonly { key: string; descending: boolean }[];
  readonly include: readonly string[];
  /** Undefined if resources are shown completely. */
  readonly fields: SparseFields | undefined;
  readonly settings: SiteSettings;
  /** The revision that the target must have, from `If-Match`. */
  readonly ifMatch: bigint | undefined;
  readonly request: {
    readonly id: string;
    readonly address: string;
    readonly headers: NodeJS.Dict<string | string[]>;
    /** Whether the client has disconnected. */
    isGone(): boolean;
    /** The body as a stream, for endpoints that request this. Throws `late` if it arrives too slowly. */
    readonly stream?: AsyncIterable<Uint8Array>;
  };
  /**
   * The caller's current access to the target's organization; undefined as soon as they may no longer make this
   * request.
   */
  renew(): Promise<Access | undefined>;
  /** The result of the endpoint's `asks`. */
  readonly answer: unknown;
  /** The caller's access to other organizations. */
  accessTo(organizationIds: readonly string[]): Promise<Access>;
}

/** A page of a list with its total, or a whole list without `total`. */
export interface Listed<T> {
  readonly items: readonly T[];
  readonly total?: number;
  /** For a page that begins after an item: whether more items follow. */
  readonly more?: boolean;
  readonly meta?: Record<string, unknown>;
  /** Set if a list without items has no page, as clients of this endpoint expect. Other empty lists have one page. */
  readonly hasNoPageWhenEmpty?: true;
}

/** An answer that is not a JSON:API document. */
export interface Raw {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body?: string | Buffer | NodeJS.ReadableStream;
  /**
   * Whether the headers are sent shortly before a body of more than 2 KB. If headers and body are sent together, the Go
   * client treats the first 3 KB, which arrive with the headers, as the whole body, and asks again for the rest.
   */
  readonly headersFirst?: boolean;
}

/** A response of an endpoint in the API description. Without a type, it has no body. */
export interface Described {
  readonly description: string;
  readonly type?: string;
  readonly schema?: Readonly<Record<string, unknown>>;
}

/** Answers by status that are not JSON:API documents. */
export type Answers = Readonly<Record<number, Described>>;

export type HttpMethod = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
export type Shows = 'one' | 'many' | 'nothing' | 'raw';

/**
 * How the items that `run` returns become cached text. `run` can then return small stamps: the data for permission
 * rules, and the revisions that show whether the text is current.
 */
export interface Cached<Stamp, Item> {
  /** The id, and everything else that the text depends on and that is the same for all callers. */
  version(stamp: Stamp): string;
  /** Everything else that the text depends on, which may differ between callers: rights, settings, the time. */
  rights(stamp: Stamp, view: View): string;
  /** The item itself, if `run` returned an item instead of a stamp. */
  whole?(stamp: Stamp): Item | undefined;
  /** The complete items of some stamps, in any order; deleted ones are left out. */
  load(db: Database, stamps: readonly Stamp[], env: Environment): Promise<readonly Item[]>;
  idOf(item: Stamp | Item): string;
}

/** The default limit of a JSON body: a variable of 256 KiB fits, however it is escaped. */
export const bodyBytes = 2 * 1024 * 1024;

/** The maximum number of values of any kind, at any depth, in a body. */
export const bodyValues = 50_000;

/** The limits of a body from callers who are not signed in. They are sufficient for signing in. Decision 0060. */
export const unknownBody = { bytes: 64 * 1024, values: 1000 } as const;

/**
 * The size limit of an endpoint that takes large bodies. They queue with large uploads, and their long strings arrive
 * as `LargeText`.
 */
export interface LargeBody {
  readonly bytes: number;
  /** The end of a sentence that says what to do instead of sending a larger body. */
  readonly instead: string;
}

/** A disclosure of content by an endpoint, which the audit trail records. */
export interface Disclosure<Result> {
  /** The action of the event: `state-version.download`. */
  readonly action: string;
  /** Whether a result causes an event; by default every result does. */
  when?(result: Result): boolean;
}

/** The content of one declaration. The rest comes from `endpoints()` and the verb. */
export interface Declaration<P extends string, Body, Target, Result, RuleName extends string, T> {
  summary: string;
  spec?: string;
  auth?: 'token' | 'optional' | 'none';
  /** The only edition in which the endpoint exists. In the other edition it answers 404. */
  edition?: Edition;
  /**
   * The kinds of tokens that may call the endpoint; callers with other tokens get 404. Default: all kinds except those
   * for audit trails.
   */
  tokens?: readonly PrincipalKind[];
  /** Whether the endpoint is only for site administrators; other callers get 404. */
  siteAdmin?: boolean;
  status?: number;
  paging?: 'always' | 'optional' | 'none';
  /**
   * Query parameters in addition to page, sort and include, with their meaning; `[i]` is any number. Undeclared
   * parameters are refused, not ignored.
   */
  query?: Readonly<Record<string, string>>;
  sort?: readonly string[];
  /** The sort key of a list, in addition to the id. Pages can then begin after an item (`page[after]`). */
  cursorKey?: (item: T) => string;
  include?: readonly string[];
  alwaysIncludes?: readonly string[];
  body?: BodyShape<Body>;
  /** Whether the body is not read before `run`, so that `run` can stream it. */
  streams?: boolean;
  /**
   * Set if a streamed body is accepted even if its sender loses the right while it arrives: because it describes
   * changes that were already made, or because `run` itself checks this in the end.
   */
  acceptsLate?: true;
  /**
   * Whether the endpoint can be called without a token, through a link that is signed for its verb and path.
   * `or-token`: also with a token that satisfies `requires`.
   */
  link?: 'only' | 'or-token';
  /**
   * Adds data that only the response to the create contains. A repetition with the same `Idempotency-Key` gets the
   * data, too.
   */
  adds?: (item: T, env: Environment) => T;
  /** Set if the endpoint accepts bodies larger than the few MiB that all endpoints accept. */
  largeBody?: LargeBody;
  /** Whether the endpoint accepts `Idempotency-Key`; by default, only creates do. */
  idempotent?: boolean;
  /** Statuses of refusals in addition to those that every endpoint of its kind has. */
  refuses?: readonly number[];
  /**
   * Responses by status that are not JSON:API documents, for the API description. `raw` must declare all except
   * refusals.
   */
  answers?: Answers;
  /** The media type of a streamed body, for the API description. */
  takes?: string;
  /** Set if `run` itself adds a pagination without totals to `meta`. */
  uncounted?: boolean;
  /** The rule the caller must satisfy on the target. */
  requires?: RuleName | Rule<Target>;
  /** Whether the caller may know that the target exists. Default: the rule of `endpoints()`. */
  visible?: Rule<Target>;
  /** Organizations whose rules apply. Default: those of `endpoints()`. */
  organizationsOf?: (target: Target) => readonly string[];
  load?: (lookup: Lookup<P>) => Promise<Target | undefined | null>;
  /** The only id that a document of a change may contain, if this is neither the id of the target nor in the path. */
  names?: (lookup: Lookup<P>, target: Target) => Promise<string | undefined> | string;
  /**
   * Calls to other systems before a create writes anything; `run` gets the result as `answer`. They run outside the
   * transaction of a create with an `Idempotency-Key`, and not at all if the key was used before.
   */
  asks?: (call: Call<P, Body, Target>) => Promise<unknown>;
  run: (call: Call<P, Body, Target>) => Promise<Result>;
  /** How the response is serialized. Default: the serializer of `endpoints()`. */
  serializer?: Serializer<T, View>;
  /** Set if `load` needs only the path, so that it can begin while the caller is still being identified. */
  loadsEarly?: boolean;
  /** Adds data that depends on the caller to the result of `load`. */
  completes?: (lookup: Lookup<P>, found: NoInfer<Target>) => Promise<NoInfer<Target>> | NoInfer<Target>;
  /**
   * Set for changes that cannot be undone, and for credentials that outlive the session. A user of the console must
   * have confirmed their identity within the last few minutes. A function can decide depending on the body. Does not
   * apply to tokens.
   */
  stepUp?: true | ((body: Body) => boolean);
  /** Contents whose recipients the audit trail records. */
  discloses?: Disclosure<NoInfer<Result>>;
  /** Set if the answer is shown with the rights that the caller had before the change, so that they are not read again. */
  keepsAccess?: boolean;
  /**
   * False if the change takes no turns, because it is decided in batches or under the lock of the resource. All other
   * changes take turns with changes of the same resource (`turnOf`); creates do not.
   */
  turns?: false;
  /** Set if the endpoint answers from cached text. In this case `run` returns stamps. */
  cached?: Cached<never, unknown>;
  /** Top-level `meta` of an answer with one resource. */
  documentMeta?: (item: T) => Record<string, unknown> | undefined;
  /** Whether the path is outside of `/api/v2`. */
  outside?: boolean;
  /** Set if its bodies and refusals follow a standard other than JSON:API. */
  dialect?: Dialect;
}

/** A declaration of any kind of item, target and body. */
type Uniform = Declaration<string, unknown, unknown, unknown, string, unknown>;

/** Properties that every endpoint has, even if its declaration leaves them out. */
type Filled =
  | (
      | 'outside'
      | 'auth'
      | 'tokens'
      | 'siteAdmin'
      | 'status'
      | 'paging'
      | 'query'
      | 'sort'
      | 'include'
      | 'alwaysIncludes'
    )
  | ('streams' | 'idempotent' | 'refuses' | 'answers' | 'uncounted' | 'organizationsOf' | 'loadsEarly' | 'keepsAccess');

/** A declared endpoint, with everything that the kernel, the documentation and the tests need. */
export type Endpoint = Readonly<Required<Pick<Uniform, Filled>>> &
  Readonly<Omit<Uniform, Filled | 'requires' | 'cached' | 'stepUp' | 'turns'>> & {
    readonly method: HttpMethod;
    /** The path below `/api/v2`, or the whole path if `outside` is set. */
    readonly path: string;
    readonly shows: Shows;
    /** The name of the rule, if it has one. */
    readonly requires?: string;
    readonly rule?: Rule<unknown>;
    readonly cached?: Cached<unknown, unknown>;
    /** Whether a body requires a recent confirmation of identity. */
    readonly stepUp?: (body: unknown) => boolean;
    /** The name of the queue in which it takes turns, with parameter names; see `turnOf`. */
    readonly turn: string | undefined;
  };

/** The properties that the endpoints of a resource share. */
export interface Shared<Item, Target> {
  /** Whether the caller may know that a target exists. */
  visible?: Rule<Target>;
  /** The organizations whose rules apply to an item or a target. Default: its `organizationId`. */
  organizationsOf?: (item: Item | Target) => readonly string[];
}

const everyKind: readonly PrincipalKind[] = ['user', 'team', 'organization'];

function ownOrganization(item: unknown): readonly string[] {
  const { organizationId } = (item ?? {}) as { organizationId?: string | null };
  return organizationId === undefined || organizationId === null ? [] : [organizationId];
}

const cursorQuery = {
  'page[after]':
    'Instead of a page number: the id of the last item of the previous page, or the value in `links.next`; empty for the first page. Such pages have no totals.',
};

const linkQuery = { expires: 'When the link expires, in seconds since 1970.', signature: 'The secret of the link.' };

/**
 * The queue of an endpoint, named after the resource in its path, also for paths of administrators. A path that names
 * no resource is about the caller or the installation.
 */
function turnOf(path: string, siteAdmin: boolean): string {
  const named = /^.*:\w+/.exec(path)?.[0] ?? (siteAdmin ? path : '/users/:caller');
  return named.replace(/^\/admin(?=\/.*:)/, '');
}

function declare(
  policy: Policy<unknown>,
  serializer: Serializer<unknown, View> | undefined,
  shared: Shared<unknown, unknown>,
  method: HttpMethod,
  shows: Shows,
  status: number,
  path: string,
  declaration: Uniform,
): Endpoint {
  const { requires } = declaration;
  const rule = typeof requires === 'string' ? policy[requires] : requires;
  if (declaration.link === 'or-token' && rule === undefined) {
    throw new Error(`${method} ${path} accepts a signed URL or a token, and does not declare what the token needs`);
  }
  if (typeof requires === 'string' && rule === undefined) {
    throw new Error(`${method} ${path} requires ${requires}, which is not a rule of its policy`);
  }
  const idempotent =
    declaration.idempotent ?? (method === 'POST' && shows === 'one' && (declaration.status ?? status) === 201);
  const adds = idempotent || declaration.auth === 'none' || declaration.streams === true;
  return {
    method,
    path,
    outside: declaration.outside ?? false,
    dialect: declaration.dialect,
    summary: declaration.summary,
    spec: declaration.spec,
    auth: declaration.auth ?? (declaration.link === undefined ? 'token' : 'optional'),
    edition: declaration.edition,
    tokens: declaration.tokens ?? everyKind,
    siteAdmin: declaration.siteAdmin ?? false,
    status: declaration.status ?? status,
    shows,
    paging: shows === 'many' ? (declaration.paging ?? 'always') : 'none',
    query: {
      ...declaration.query,
      ...(declaration.cursorKey === undefined ? {} : cursorQuery),
      ...(declaration.link === undefined || path.includes('/:signature') ? {} : linkQuery),
    },
    sort: declaration.sort ?? [],
    cursorKey: declaration.cursorKey,
    include: declaration.include ?? [],
    alwaysIncludes: declaration.alwaysIncludes ?? [],
    body: declaration.body,
    streams: declaration.streams ?? false,
    acceptsLate: declaration.acceptsLate,
    link: declaration.link,
    adds: declaration.adds,
    largeBody: declaration.largeBody,
    idempotent,
    refuses: declaration.refuses ?? [],
    answers: declaration.answers ?? {},
    takes: declaration.takes,
    uncounted: declaration.uncounted ?? false,
    requires: typeof requires === 'string' ? requires : undefined,
    serializer: declaration.serializer ?? serializer,
    organizationsOf: declaration.organizationsOf ?? shared.organizationsOf ?? ownOrganization,
    visible: declaration.visible ?? shared.visible,
    rule,
    load: declaration.load,
    names: declaration.names,
    asks: declaration.asks,
    run: declaration.run,
    documentMeta: declaration.documentMeta,
    cached: declaration.cached as Endpoint['cached'],
    loadsEarly: declaration.loadsEarly ?? false,
    completes: declaration.completes,
    keepsAccess: declaration.keepsAccess ?? method === 'GET',
    discloses: declaration.discloses,
    stepUp: declaration.stepUp === true ? () => true : declaration.stepUp,
    turn:
      method === 'GET' || adds || declaration.turns === false
        ? undefined
        : turnOf(path, declaration.siteAdmin === true),
  };
}

/**
 * The functions that a resource uses to declare its endpoints, bound to its policy and its serializer.
 *
 * `get`, `post` (201), `patch` and `put` answer with one resource, `list` with many, `remove` and `command` (204) with
 * nothing, `action` is a POST that answers with the resource (200), and the responses of `raw` are those in its
 * `answers`.
 */
export function endpoints<Item, Target, RuleName extends string>(
  policy: Policy<Target, RuleName>,
  serializer: Serializer<Item, View> | undefined,
  shared: Shared<Item, Target> = {},
) {
  const word =
    <D>(method: HttpMethod, shows: Shows, status: number) =>
    <P extends string, Body = undefined, On = Target, Shown = Item>(
      path: P,
      declaration: Declaration<
        P,
        Body,
        On,
        D extends 'many' ? Listed<Shown> : D extends 'one' ? Shown | null : D extends 'raw' ? Raw : void,
        RuleName,
        Shown
      > &
        (D extends 'raw' ? { answers: Answers } : unknown),
    ): Endpoint =>
      declare(
        policy as unknown as Policy<unknown>,
        serializer,
        shared as unknown as Shared<unknown, unknown>,
        method,
        shows,
        status,
        path,
        declaration as unknown as Uniform,
      );
  return {
    get: word<'one'>('GET', 'one', 200),
    list: word<'many'>('GET', 'many', 200),
    post: word<'one'>('POST', 'one', 201),
    patch: word<'one'>('PATCH', 'one', 200),
    put: word<'one'>('PUT', 'one', 200),
    action: word<'one'>('POST', 'one', 200),
    remove: word<'nothing'>('DELETE', 'nothing', 204),
    command: (method: HttpMethod) => word<'nothing'>(method, 'nothing', 204),
    /** Declares a change that answers with a list. */
    change: (method: HttpMethod) => word<'many'>(method, 'many', 200),
    raw: (method: HttpMethod) => word<'raw'>(method, 'raw', 200),
  };
}

/** How resources of one type are loaded and shown when another answer includes them. */
export interface Includable<T = unknown> {
  readonly serializer: Serializer<T, View>;
  load(db: Database, ids: readonly string[], env: Environment): Promise<readonly T[]>;
  /**
   * The items of each owner, if owners only link to their items. A response that includes the items also lists them in
   * the owner.
   */
  loadOf?(db: Database, ownerIds: readonly string[]): Promise<ReadonlyMap<string, readonly T[]>>;
  visible(access: Access, item: T): boolean;
  organizationsOf?(item: T): readonly string[];
}

/** An entry of the registry: endpoints, and the resources that other responses can include. */
export interface Resource {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  readonly includable?: Readonly<Record<string, Includable>>;
}

/** Checks the item type of an includable, and then drops it for the registry. */
export function includable<T>(described: Includable<T>): Includable {
  return described;
}

/** Declares one endpoint at several paths that differ only in how the target is found: by id and by name. */
export function both<D extends object>(
  word: (path: never, declaration: never) => Endpoint,
  places: Readonly<Record<string, (lookup: never) => Promise<unknown>>>,
  declaration: D,
): Endpoint[] {
  const declareAt = word as unknown as (path: string, declaration: object) => Endpoint;
  return Object.entries(places).map(([path, load]) => declareAt(path, { ...declaration, load }));
}
