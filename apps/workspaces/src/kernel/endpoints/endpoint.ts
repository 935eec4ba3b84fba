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

/** What serializers know besides the item: who asks, and how the service is set up. */
export interface View {
  readonly access: Access;
  readonly edition: Edition;
  readonly aliases: boolean;
  readonly publicUrl: string;
  readonly settings: SiteSettings;
  readonly defaultFeatureSet: string;
}

/** How one kind of resource is shown; the compiler holds the rest to its shape: `serializerOf<Team>()({ type: 'teams', … })`. */
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

/** What `load` is given. */
export interface Lookup<P extends string> {
  readonly db: Database;
  readonly env: Environment;
  readonly principal: Principal;
  readonly params: Params<P>;
  readonly query: Query;
}

/** The same for any path that has these parameters. */
export interface LookupBy<Name extends string> extends Omit<Lookup<string>, 'params'> {
  readonly params: { readonly [N in Name]: string };
}

/** The attributes and relationships that a request asks for, by type of resource. */
export type SparseFields = ReadonlyMap<string, ReadonlySet<string>>;

/** What `run` is given: the caller, the target, and the parsed request. */
export interface Call<P extends string, Body, Target> extends Lookup<P> {
  /** Loaded for the target's organization. */
  readonly access: Access;
  readonly target: Target;
  readonly body: Body;
  /** Undefined: the whole list. */
  readonly page: Page | undefined;
  readonly sort: readonly { key: string; descending: boolean }[];
  readonly include: readonly string[];
  /** Undefined: resources are shown whole. */
  readonly fields: SparseFields | undefined;
  readonly settings: SiteSettings;
  /** The revision the caller requires the target to have, from `If-Match`. */
  readonly ifMatch: bigint | undefined;
  readonly request: {
    readonly id: string;
    readonly address: string;
    readonly headers: NodeJS.Dict<string | string[]>;
    /** The client has left. */
    isGone(): boolean;
    /** The body as it comes, where the endpoint streams it; throws `late` when it comes too slowly. */
    readonly stream?: AsyncIterable<Uint8Array>;
  };
  /** Access to the target's organization, for the caller as they are now; undefined once they may not do this any more. */
  renew(): Promise<Access | undefined>;
  /** What `asks` of the endpoint answered. */
  readonly asked: unknown;
  /** The caller's access to other organizations. */
  accessTo(organizationIds: readonly string[]): Promise<Access>;
}

/** A page of a list with its total, or a whole list (`total` left out). */
export interface Listed<T> {
  readonly items: readonly T[];
  readonly total?: number;
  /** Of a page that begins behind an item: whether more follow. */
  readonly more?: boolean;
  readonly meta?: Record<string, unknown>;
  /** A list without items has no page, as clients of this one expect; other lists have one. */
  readonly hasNoPageWhenEmpty?: true;
}

/** An answer that is not a JSON:API document. */
export interface Raw {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body?: string | Buffer | NodeJS.ReadableStream;
  /**
   * Sent a moment before a body of more than 2 KB: the Go client takes what came along with the headers, some 3 KB, for all there
   * is, and asks again for what follows.
   */
  readonly headersFirst?: boolean;
}

/** An answer of an endpoint as its description shows it; without a type it has no body. */
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
 * How items that `run` answers are turned into cached text. `run` may then answer with light stamps: what a caller's
 * rules look at, and the revisions that tell whether a text is still right.
 */
export interface Cached<Stamp, Item> {
  /** Everything that decides the text, besides type and setup. */
  key(stamp: Stamp, view: View): string;
  /** The item itself, where `run` answered with it instead of a stamp. */
  whole?(stamp: Stamp): Item | undefined;
  /** The whole items of some stamps, in any order; those gone meanwhile left out. */
  load(db: Database, stamps: readonly Stamp[], env: Environment): Promise<readonly Item[]>;
  idOf(item: Stamp | Item): string;
}

/** The largest JSON body of an endpoint that says nothing else: a variable of 256 KiB, however it is escaped. */
export const bodyBytes = 2 * 1024 * 1024;

/** Most values of any kind, at any depth, in a body. */
export const bodyValues = 50_000;

/** The same for callers who are not signed in: signing in needs no more. Decision 0060. */
export const unknownBody = { bytes: 64 * 1024, values: 1000 } as const;

/**
 * How large a body of an endpoint may be that takes large ones. They wait where large uploads do, and their long texts
 * come as `LargeText`.
 */
export interface LargeBody {
  readonly bytes: number;
  /** What to do about a larger one; the end of a sentence. */
  readonly instead: string;
}

/** What an endpoint gives out that the trail keeps. */
export interface Disclosure<Result> {
  /** The action of the event: `state-version.download`. */
  readonly action: string;
  /** For which answers; all, unless told. */
  when?(result: Result): boolean;
}

/** What one declaration holds; the rest is given by `endpoints()` and the verb. */
export interface Declaration<P extends string, Body, Target, Result, RuleName extends string, T> {
  summary: string;
  spec?: string;
  auth?: 'token' | 'optional' | 'none';
  /** Only this edition has it; in the other it is 404. */
  edition?: Edition;
  /** Kinds of token that may call it; others get 404. All kinds but those for audit trails, unless told. */
  tokens?: readonly PrincipalKind[];
  /** Only for site administrators; others get 404. */
  siteAdmin?: boolean;
  status?: number;
  paging?: 'always' | 'optional' | 'none';
  /**
   * Query parameters besides page, sort and include, with their meaning; `[i]` is any number. A parameter that is not
   * declared is refused rather than ignored.
   */
  query?: Readonly<Record<string, string>>;
  sort?: readonly string[];
  /** What a list is ordered by at an item, besides its id: pages may then begin behind an item (`page[after]`). */
  cursorKey?: (item: T) => string;
  include?: readonly string[];
  alwaysIncludes?: readonly string[];
  body?: BodyShape<Body>;
  /** The body is left on the wire for `run` to read. */
  streams?: boolean;
  /**
   * Opens by a link signed for its verb and path, without a token: only so, or also by a token that satisfies
   * `requires`.
   */
  link?: 'only' | 'or-token';
  /** What the answer to a create shows and no later one; also when it is sent again under its `Idempotency-Key`. */
  adds?: (item: T, env: Environment) => T;
  /** Takes bodies larger than the few MiB that every endpoint takes. */
  largeBody?: LargeBody;
  /** Accepts `Idempotency-Key`; creates do, unless told. */
  idempotent?: boolean;
  /** Statuses of refusals besides those that every endpoint of its kind has. */
  refuses?: readonly number[];
  /**
   * Answers by status that are not JSON:API documents, for the description; `raw` must name all that are not refusals.
   */
  answers?: Answers;
  /** The media type of a body that is streamed, for the description. */
  takes?: string;
  /** `run` puts a pagination without totals into `meta` itself. */
  uncounted?: boolean;
  /** The rule the caller must satisfy on the target. */
  requires?: RuleName | Rule<Target>;
  /** Whether the caller may know that the target exists; the rule of `endpoints()` unless told. */
  visible?: Rule<Target>;
  /** Organizations the rules look at; those of `endpoints()` unless told. */
  organizationsOf?: (target: Target) => readonly string[];
  load?: (lookup: Lookup<P>) => Promise<Target | undefined | null>;
  /** The one id that a document of a change may name, if it is not that of the target, nor in the path. */
  names?: (lookup: Lookup<P>, target: Target) => Promise<string | undefined> | string;
  /**
   * What a create asks other systems before it writes anything; `run` gets the answer as `asked`. It runs outside the
   * transaction of a create with an `Idempotency-Key`, and not at all when the key was used before.
   */
  asks?: (call: Call<P, Body, Target>) => Promise<unknown>;
  run: (call: Call<P, Body, Target>) => Promise<Result>;
  /** How the answer is shown; the serializer of `endpoints()` unless told. */
  serializer?: Serializer<T, View>;
  /** `load` looks at nothing but the path, so it can begin while the caller is still being recognised. */
  loadsEarly?: boolean;
  /**
   * For what cannot be undone, and what makes a credential that outlives the session: a person at the console must have
   * proved minutes ago who they are. A function says for which bodies. Does not apply to tokens.
   */
  stepUp?: true | ((body: Body) => boolean);
  /** Contents that the trail keeps who was given. */
  discloses?: Disclosure<NoInfer<Result>>;
  /** The change gives and takes no rights, so access need not be read again. */
  keepsAccess?: boolean;
  /**
   * False: takes no turns, because it decides in batches, or under the lock of what it changes. Every other change takes
   * turns with changes of the same resource (`turnOf`); creates do not.
   */
  turns?: false;
  /** Answers from cached text; `run` answers with stamps then. */
  cached?: Cached<never, unknown>;
  /** Top-level `meta` of an answer with one resource. */
  documentMeta?: (item: T) => Record<string, unknown> | undefined;
  /** Path outside `/api/v2`. */
  outside?: boolean;
  /** It takes bodies and refuses as another standard than JSON:API has it. */
  dialect?: Dialect;
}

/** A declaration of any kind of item, target and body. */
type Uniform = Declaration<string, unknown, unknown, unknown, string, unknown>;

/** What an endpoint has a value for although its declaration says nothing. */
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

/** A declared endpoint: everything the kernel, the documentation and the tests need to know about it. */
export type Endpoint = Readonly<Required<Pick<Uniform, Filled>>> &
  Readonly<Omit<Uniform, Filled | 'requires' | 'cached' | 'stepUp' | 'turns'>> & {
    readonly method: HttpMethod;
    /** Below `/api/v2`, unless `outside`. */
    readonly path: string;
    readonly shows: Shows;
    /** The name of the rule, where it has one. */
    readonly requires?: string;
    readonly rule?: Rule<unknown>;
    readonly cached?: Cached<unknown, unknown>;
    /** For which bodies. */
    readonly stepUp?: (body: unknown) => boolean;
    /** The turns it takes, with the names of parameters in it; see `turnOf`. */
    readonly turn: string | undefined;
  };

/** What the endpoints of a resource share. */
export interface Shared<Item, Target> {
  /** Whether the caller may know that a target exists. */
  visible?: Rule<Target>;
  /** The organizations whose rules matter for an item or a target; its `organizationId` unless told. */
  organizationsOf?: (item: Item | Target) => readonly string[];
}

const everyKind: readonly PrincipalKind[] = ['user', 'team', 'organization'];

function ownOrganization(item: unknown): readonly string[] {
  const { organizationId } = (item ?? {}) as { organizationId?: string | null };
  return organizationId === undefined || organizationId === null ? [] : [organizationId];
}

const cursorQuery = {
  'page[after]':
    'Instead of a page number: the id of the last item seen, or what `links.next` names; empty for the first page. Such pages have no totals.',
};

const linkQuery = { expires: 'When the link ends, in seconds since 1970.', signature: 'The secret of the link.' };

/**
 * The name under which an endpoint takes turns: the resource that its path names, for administrators and others alike. A
 * path that names none is about the caller, or the installation.
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
  given: Uniform,
): Endpoint {
  const { requires } = given;
  const rule = typeof requires === 'string' ? policy[requires] : requires;
  if (given.link === 'or-token' && rule === undefined) {
    throw new Error(`${method} ${path} opens by a link or a token, and says of no token what it needs`);
  }
  if (typeof requires === 'string' && rule === undefined) {
    throw new Error(`${method} ${path} requires ${requires}, which is not a rule of its policy`);
  }
  const idempotent = given.idempotent ?? (method === 'POST' && shows === 'one' && (given.status ?? status) === 201);
  const adds = idempotent || given.auth === 'none' || given.streams === true;
  return {
    method,
    path,
    outside: given.outside ?? false,
    dialect: given.dialect,
    summary: given.summary,
    spec: given.spec,
    auth: given.auth ?? (given.link === undefined ? 'token' : 'optional'),
    edition: given.edition,
    tokens: given.tokens ?? everyKind,
    siteAdmin: given.siteAdmin ?? false,
    status: given.status ?? status,
    shows,
    paging: shows === 'many' ? (given.paging ?? 'always') : 'none',
    query: {
      ...given.query,
      ...(given.cursorKey === undefined ? {} : cursorQuery),
      ...(given.link === undefined || path.includes('/:signature') ? {} : linkQuery),
    },
    sort: given.sort ?? [],
    cursorKey: given.cursorKey,
    include: given.include ?? [],
    alwaysIncludes: given.alwaysIncludes ?? [],
    body: given.body,
    streams: given.streams ?? false,
    link: given.link,
    adds: given.adds,
    largeBody: given.largeBody,
    idempotent,
    refuses: given.refuses ?? [],
    answers: given.answers ?? {},
    takes: given.takes,
    uncounted: given.uncounted ?? false,
    requires: typeof requires === 'string' ? requires : undefined,
    serializer: given.serializer ?? serializer,
    organizationsOf: given.organizationsOf ?? shared.organizationsOf ?? ownOrganization,
    visible: given.visible ?? shared.visible,
    rule,
    load: given.load,
    names: given.names,
    asks: given.asks,
    run: given.run,
    documentMeta: given.documentMeta,
    cached: given.cached as Endpoint['cached'],
    loadsEarly: given.loadsEarly ?? false,
    keepsAccess: given.keepsAccess ?? method === 'GET',
    discloses: given.discloses,
    stepUp: given.stepUp === true ? () => true : given.stepUp,
    turn: method === 'GET' || adds || given.turns === false ? undefined : turnOf(path, given.siteAdmin === true),
  };
}

/**
 * The vocabulary in which a resource declares its endpoints: its policy, its serializer, and the words.
 *
 * `get`, `post` (201), `patch` and `put` answer with one resource, `list` with many, `remove` and `command` (204) with
 * nothing, `action` is a POST that answers with the resource (200), `raw` answers as its `answers` say.
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
      given: Declaration<
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
        given as unknown as Uniform,
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
    /** Changes something and answers with a list. */
    change: (method: HttpMethod) => word<'many'>(method, 'many', 200),
    raw: (method: HttpMethod) => word<'raw'>(method, 'raw', 200),
  };
}

/** How resources of one type are fetched and shown when another answer includes them. */
export interface Includable<T = unknown> {
  readonly serializer: Serializer<T, View>;
  load(db: Database, ids: readonly string[], env: Environment): Promise<readonly T[]>;
  /** The items of each owner, where owners only link to them: answers that include them then name them as well. */
  loadOf?(db: Database, ownerIds: readonly string[]): Promise<ReadonlyMap<string, readonly T[]>>;
  visible(access: Access, item: T): boolean;
  organizationsOf?(item: T): readonly string[];
}

/** One entry of the registry: endpoints, and what other answers may include of it. */
export interface Resource {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  readonly includable?: Readonly<Record<string, Includable>>;
}

/** States the item type of an includable, for the registry to forget. */
export function includable<T>(described: Includable<T>): Includable {
  return described;
}

/** Declares one endpoint at several paths that differ only in how the target is found: by id and by name. */
export function both<D extends object>(
  word: (path: never, given: never) => Endpoint,
  places: Readonly<Record<string, (lookup: never) => Promise<unknown>>>,
  declaration: D,
): Endpoint[] {
  const declareAt = word as unknown as (path: string, given: object) => Endpoint;
  return Object.entries(places).map(([path, load]) => declareAt(path, { ...declaration, load }));
}
