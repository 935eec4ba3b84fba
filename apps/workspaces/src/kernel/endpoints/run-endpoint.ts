import { exactJson, parseExact } from '@keystead/envelope';
import {
  badParameter,
  cursorLinks,
  MissingPermission,
  pageLinks,
  pageOf,
  pagination,
  Query,
  type ResourceObject,
  StepUpRequired,
  TokenKindRefused,
} from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import { Access } from '../access/access';
import { findHolder, type LinkHolder } from '../access/current-access';
import type { Principal, PrincipalKind } from '../access/principal';
import { type Actor, actorOf, type Change } from '../audit/audit';
import { holderOfLink, type LinkVerb } from '../blobs/signed-urls';
import type { Database } from '../database/database';
import { requireRevision } from '../database/lock-row';
import type { Call, Endpoint, Includable, Listed, Raw, View } from './endpoint';
import type { Environment, SiteSettings } from './environment';
import { type Fragments, listDocument, resourceIn } from './fragments';
import { claimKey, type IdempotentCreate, isClaimed } from './idempotency';
import { includedFor } from './include';
import { withKeptSecrets } from './kept-secrets';
import { requireDeclared } from './parameters';
import { sparseFields, withFields } from './sparse-fields';

/** A request as the kernel sees it, independent of HTTP. */
export interface Request {
  readonly id: string;
  readonly method: string;
  /** With the prefix, without the query. */
  readonly path: string;
  readonly query: Query;
  readonly params: Record<string, string>;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly address: string;
  /** The client has disconnected. */
  isGone(): boolean;
  /** The caller; undefined for endpoints without authentication. */
  readonly principal: Principal | undefined;
  /** Looks up the caller again, for streams; undefined if the token or session has ended. */
  again?(): Promise<Principal | undefined>;
  /** The target, if its look-up has already started. */
  readonly early?: Promise<unknown>;
  /** The signed link that opens the endpoint. */
  readonly link?: UsedLink;
  /** The installation's settings when the request arrived. */
  readonly settings: SiteSettings;
  /** The parsed JSON body; undefined when it was empty. */
  readonly body: unknown;
  /** The body as a stream, for endpoints that request it. */
  readonly stream: AsyncIterable<Uint8Array> | undefined;
  /** Filled while parsing: the position of each part in the sent body, for error pointers. */
  pointers?: ReadonlyMap<string, string>;
}

/** What the kernel needs for every request. */
export interface Kernel {
  readonly db: Database;
  readonly env: Environment;
  readonly includables: ReadonlyMap<string, Includable>;
  readonly fragments: Fragments;
}

/** An answer before it becomes bytes. `etag` is the revision of the one resource shown. */
export interface EndpointResponse {
  readonly status: number;
  readonly body?: string | Buffer;
  readonly etag?: string;
  readonly raw?: Raw;
}

const onlyOthers = 'the organization does not accept user API tokens: use a team token, or sign in';
const onlyShorter =
  'the organization does not accept user API tokens with this lifetime: use one that expires earlier, or a team token';

const anonymous: Principal = { kind: 'user', id: '', name: '', tokenId: '', siteAdmin: false, twoFactor: false };

/** Kinds of tokens for one purpose, which may not call endpoints that are open to every other token. */
const forOneThing: readonly PrincipalKind[] = ['audit-trails', 'scim', 'agent', 'run'];

function refuseUnlessFor(endpoint: Endpoint, env: Environment, principal: Principal): void {
  const wrongEdition = endpoint.edition !== undefined && endpoint.edition !== env.edition;
  const limitsKinds = endpoint.auth === 'token' || forOneThing.includes(principal.kind);
  const wrongToken = limitsKinds && !endpoint.tokens.includes(principal.kind);
  // The dialect has its own kind of token and accepts no other. Only endpoints of agents accept tokens of agents.
  const isNone = endpoint.dialect !== undefined || principal.kind === 'agent';
  if (!wrongEdition && wrongToken && isNone) throw new Refusal('unauthenticated', '');
  if (wrongEdition || wrongToken) throw notFound();
}

/**
 * The environment of the endpoint, with the caller of this request. It is created for each request, which costs almost
 * nothing.
 */
function environmentFor(env: Environment, principal: Principal): Environment {
  const own: { -readonly [Name in keyof Environment]: Environment[Name] } = Object.create(env);
  own.holder = principal;
  return own;
}

/** The subject of an endpoint in the audit trail: the object in its path. */
function targetOf({ path }: Endpoint, target: unknown): Change['target'] {
  const { id = '', name = null } = (target ?? {}) as { id?: string; name?: string | null };
  return { type: /^\/(?:admin\/)?([\w-]+)/.exec(path)?.[1] ?? 'requests', id, name };
}

/** If administrators must have a second factor, those without one have only ordinary rights. */
function withinRules(principal: Principal, settings: SiteSettings): Principal {
  const lacks = principal.siteAdmin && settings.requireTwoFactorForAdmins && !principal.twoFactor;
  return lacks ? { ...principal, siteAdmin: false } : principal;
}

/** Starts the look-up of the target before the caller is known, if the endpoint allows it. */
export function loadEarly(
  { db, env }: Kernel,
  endpoint: Endpoint,
  params: Record<string, string>,
): Promise<unknown> | undefined {
  if (!endpoint.loadsEarly || endpoint.load === undefined) return undefined;
  const early = endpoint.load({ db, env, principal: anonymous, params, query: Query.parse('') });
  // A request that is refused before never awaits it.
  early.catch(() => undefined);
  return early;
}

async function loadTarget(
  endpoint: Endpoint,
  lookup: Parameters<NonNullable<Endpoint['load']>>[0],
  early: Promise<unknown> | undefined,
): Promise<unknown> {
  if (endpoint.load === undefined) return undefined;
  const target = await (early ?? endpoint.load(lookup));
  if (target === undefined || target === null) throw notFound();
  return endpoint.completes === undefined ? target : endpoint.completes(lookup, target);
}

/** A link with a valid signature: its holder, and the look-up of the holder's current state. */
export interface UsedLink {
  readonly holder: LinkHolder;
  readonly found: Promise<Principal | undefined>;
}

/** Checks the signed link of a request, for endpoints that links open, and starts the look-up of its holder. */
export function openLink(
  { db, env }: Kernel,
  { link, method, path }: Endpoint,
  params: Record<string, string>,
  query: Query,
): UsedLink | undefined {
  if (link === undefined) return undefined;
  const holder = holderOfLink(env, method as LinkVerb, { pattern: path, params, query: query.entries });
  if (holder === undefined) return undefined;
  const found = findHolder(db, holder);
  // A request that is refused before never awaits it.
  found.catch(() => undefined);
  return { holder, found };
}

/**
 * The holder of the signed link, for endpoints that can be called by link. Without a link, an endpoint that needs a
 * link is 404.
 */
async function holderBehind(endpoint: Endpoint, { env }: Kernel, request: Request): Promise<Principal | undefined> {
  const { link } = endpoint;
  const holder = request.link?.holder;
  const found = await request.link?.found;
  if (holder && !found) {
    const was = { ...anonymous, ...holder, name: holder.id };
    const target = targetOf(endpoint, { id: Object.values(request.params)[0] });
    await keepRefusedLink(env, endpoint, actorOf({ principal: was, request }), null, target);
  }
  if (!found && (link === 'only' || holder)) throw notFound();
  return found && { ...found, address: request.address };
}

/** Records that a link was refused because its holder has lost the right. */
async function keepRefusedLink(
  env: Environment,
  { method, path }: Endpoint,
  by: Actor,
  organizationId: string | null,
  target: Change['target'],
): Promise<void> {
  const change = { organizationId, action: 'link.refuse', target, after: { method, path } };
  await env.trail.refused(by, change, `${method} ${path} ${target.id}`);
}

function allow(endpoint: Endpoint, access: Access, target: unknown): void {
  if (endpoint.rule === undefined) {
    if (endpoint.load !== undefined && endpoint.visible !== undefined && !endpoint.visible(access, target)) {
      throw notFound();
    }
    return;
  }
  if (!endpoint.rule(access, target)) {
    const maySee = endpoint.requires !== undefined && endpoint.visible?.(access, target) === true;
    throw maySee ? new MissingPermission(endpoint.requires!) : notFound();
  }
}

/** At the console, irreversible changes need a recent proof of identity. */
function requireStepUp({ stepUp }: Endpoint, { console }: Principal, body: unknown, now: number): void {
  if (console === undefined || console.stepUpUntilMs > now) return;
  if (stepUp?.(body) === true) throw new StepUpRequired();
}

function parseBody(endpoint: Endpoint, request: Request, env: Environment): { value: unknown; id?: string } {
  if (endpoint.body === undefined) return { value: undefined };
  const { value, pointers, id } = endpoint.body.parse(request.body, env);
  request.pointers = pointers;
  return { value, id };
}

/** The document of a change must name the resource in the path, or none. */
async function requireSameId(
  { names }: Endpoint,
  id: string,
  lookup: Parameters<NonNullable<Endpoint['names']>>[0],
  target: unknown,
): Promise<void> {
  const { id: own, name } = (target ?? {}) as { id?: unknown; name?: unknown };
  const named = names ? [await names(lookup, target)] : [own, name, ...Object.values(lookup.params)];
  if (named.includes(id)) return;
  throw new Refusal('invalid', '', [{ path: ['data', 'id'], message: 'data.id must be the id in the path' }]);
}

const ETAG = /^(?:W\/)?"(\d+)"$/;

/** The revision in `If-Match`. `*` or no header requires nothing. */
function ifMatch(header: string | string[] | undefined): bigint | undefined {
  if (header === undefined || header === '*') return undefined;
  const revision = ETAG.exec(String(header).trim())?.[1];
  if (revision === undefined) throw new Refusal('precondition', 'If-Match does not name a revision of this resource');
  return BigInt(revision);
}

/** PostgreSQL stores no null characters, so nothing can match such a name. */
function requireStorable(params: Record<string, string>, query: Query): void {
  if (Object.values(params).some((value) => value.includes('\0'))) throw notFound();
  for (const [name, value] of query.entries) {
    if (value.includes('\0')) throw badParameter(name, `${name} must not hold a null character`);
  }
}

/** The life of a request, from its endpoint to the answer. */
export async function runEndpoint(kernel: Kernel, endpoint: Endpoint, request: Request): Promise<EndpointResponse> {
  const { db } = kernel;
  const caller = withinRules(request.principal ?? anonymous, request.settings);
  refuseUnlessFor(endpoint, kernel.env, caller);
  const { query } = request;
  requireStorable(request.params, query);
  requireDeclared(endpoint, query);
  const fields = sparseFields(endpoint, kernel.includables, query);
  const holder = endpoint.link === undefined ? undefined : await holderBehind(endpoint, kernel, request);
  const principal = holder === undefined ? caller : withinRules(holder, request.settings);
  const env = environmentFor(kernel.env, principal);
  /**
   * Records that an authenticated caller was refused access to an existing object. Returns the refusal for the
   * response. An organization's trail records only its members; other callers are in the trail of the installation.
   */
  const refused = async (
    refusal: unknown,
    organizationId: string | null,
    target: unknown,
    access?: Access,
  ): Promise<unknown> => {
    const by = actorOf({ principal, request });
    const about = targetOf(endpoint, target);
    if (holder !== undefined) {
      await keepRefusedLink(env, endpoint, by, organizationId, about);
      return notFound();
    }
    const isMember = organizationId !== null && access?.isMember(organizationId) === true;
    const foreign = isMember || organizationId === null ? {} : { organization: organizationId };
    const after = { method: endpoint.method, path: endpoint.path, ...foreign };
    const change = { organizationId: isMember ? organizationId : null, action: 'request.refuse', target: about, after };
    if (principal.id !== '') await env.trail.refused(by, change);
    return refusal;
  };
  if (endpoint.siteAdmin && !principal.siteAdmin) throw await refused(notFound(), null, undefined);
  const within = { ...kernel, env };
  const lookup = { db, env, principal, params: request.params, query };
  const accessOf = (who: Principal, ids: readonly string[]): Promise<Access> =>
    ids.length === 0 ? Promise.resolve(new Access(who, [], env.now())) : env.accessStore.load(who, ids);
  /** The organization that the endpoint itself checked, if its path contains none. */
  let askedAbout: { readonly id: string; readonly access: Access } | undefined;
  const accessTo = async (ids: readonly string[]): Promise<Access> => {
    const access = await accessOf(principal, ids);
    if (ids.length === 1) askedAbout = { id: ids[0]!, access };
    return access;
  };
  const { settings } = request;
  const wanted = endpoint.method === 'GET' ? undefined : ifMatch(request.headers['if-match']);
  /** The caller has the required right on the target. */
  const judge = async (who: Principal, early?: Promise<unknown>) => {
    const target = await loadTarget(endpoint, { ...lookup, principal: who }, early);
    const judged = target === undefined ? [] : endpoint.organizationsOf(target);
    const { epoch } = (target ?? {}) as { epoch?: string };
    const access =
      epoch !== undefined && judged.length === 1
        ? await env.accessStore.loadAt(who, judged[0]!, epoch)
        : await accessOf(who, judged);
    // Members learn that the kind of their token is the reason.
    const barred = judged.map((id) => access.refusedToken(id)).find((why) => why !== undefined);
    if (barred) throw new TokenKindRefused(barred === 'kind' ? onlyOthers : onlyShorter);
    try {
      allow(endpoint, access, target);
    } catch (refusal) {
      throw await refused(refusal, judged[0] ?? null, target, access);
    }
    requireRevision((target ?? {}) as { revision?: bigint | string }, wanted);
    return { target: target, access, judged };
  };
  const renew = async (): Promise<Access | undefined> => {
    const who = await request.again?.();
    if (who === undefined) return undefined;
    const now = withinRules(who, await env.settings());
    refuseUnlessFor(endpoint, env, now);
    if (endpoint.siteAdmin && !now.siteAdmin) throw notFound();
    return (await judge(now)).access;
  };
  const at = await judge(principal, request.early);
  const { value, id } = parseBody(endpoint, request, env);
  if (id !== undefined && endpoint.method === 'PATCH') await requireSameId(endpoint, id, lookup, at.target);
  const body = withKeptSecrets(endpoint, at.target, value);
  const call = {
    ...lookup,
    access: at.access,
    target: at.target,
    page: endpoint.paging === 'none' ? undefined : pageOf(query, endpoint.paging, endpoint.cursorKey !== undefined),
    sort: query.sort(endpoint.sort),
    include: [...endpoint.alwaysIncludes, ...query.include(endpoint.include)],
    fields,
    body,
    settings,
    ifMatch: wanted,
    request: {
      id: request.id,
      address: request.address,
      headers: request.headers,
      isGone: request.isGone,
      stream: request.stream,
    },
    asked: undefined,
    accessTo,
    renew,
  } satisfies Call<string, unknown, unknown> & { request: { stream: unknown } };
  requireStepUp(endpoint, principal, call.body, env.now());
  const turn = turnFor(endpoint, request.params, principal);
  // Checks again after waiting: earlier requests may have changed the target.
  const run = async (): Promise<unknown> => {
    if (turn === undefined) return runOnce(within, endpoint, request, call);
    return db.mutex.run(turn, async (waited) => {
      if (waited) Object.assign(call, await judge(principal));
      return runOnce(within, endpoint, request, { ...call, db: db.inTurn(turn) });
    });
  };
  let returned: unknown;
  try {
    returned = await run();
  } catch (refusal) {
    if (holder !== undefined || !isOfRight(endpoint, refusal)) throw refusal;
    const [id = askedAbout?.id ?? null] = at.judged;
    throw await refused(refusal, id, at.target, at.judged.length > 0 ? at.access : askedAbout?.access);
  }
  const result = endpoint.adds === undefined ? returned : endpoint.adds(returned, env);
  const { discloses } = endpoint;
  if (discloses !== undefined && (discloses.when?.(result) ?? true)) {
    const target = targetOf(endpoint, at.target);
    await env.trail.gave(actorOf({ principal, request }), {
      organizationId: at.judged[0] ?? null,
      action: discloses.action,
      target,
    });
  }
  // Such an endpoint cannot change its caller's rights, so they are not read again.
  const rights = endpoint.keepsAccess ? at.judged : [];
  return show(within, endpoint, request, call, result, rights);
}

/**
 * Whether an endpoint's error is about missing permissions, not only about the input. A read that finds nothing is not
 * a refusal.
 */
function isOfRight({ method }: Endpoint, refusal: unknown): boolean {
  if (refusal instanceof MissingPermission) return true;
  return method !== 'GET' && refusal instanceof Refusal && ['missing', 'denied'].includes(refusal.kind);
}

/** The name of a request's queue; names of organizations ignore case. */
function turnFor({ turn }: Endpoint, params: Record<string, string>, caller: Principal): string | undefined {
  return turn?.replace(/:(\w+)/g, (_, name: string) => (name === 'caller' ? caller.id : params[name]!.toLowerCase()));
}

/** Runs the endpoint. With an idempotency key, it runs at most once a day for the same caller, path and body. */
async function runOnce(
  { db, includables, env }: Kernel,
  endpoint: Endpoint,
  request: Request,
  call: Call<string, unknown, unknown>,
): Promise<unknown> {
  const key = request.headers['idempotency-key'];
  if (key === undefined || endpoint.method === 'GET') {
    return endpoint.run(endpoint.asks === undefined ? call : { ...call, asked: await endpoint.asks(call) });
  }
  if (!endpoint.idempotent) throw new Refusal('malformed', 'this request does not take an Idempotency-Key');
  const create: IdempotentCreate = {
    principal: `${call.principal.kind} ${call.principal.id}`,
    path: `${request.method} ${request.path}`,
    key: String(key),
    body: request.body,
  };
  const now = env.now();
  const asks = endpoint.asks !== undefined && !(await isClaimed(db, create, now));
  const asked = asks ? await endpoint.asks!(call) : undefined;
  return claimKey(db, create, {
    now,
    mac: (text) => env.keyring.mac('workspace-idempotent-body', text),
    run: (tx) => endpoint.run({ ...call, db: tx, asked }),
    idOf: (item) => endpoint.serializer!.spec.id(item),
    async find(id) {
      const { type } = endpoint.serializer!;
      const found = includables.get(type);
      if (found === undefined)
        throw new Error(`${type} are created once per Idempotency-Key, and there is no way to find them again`);
      const [item] = await found.load(db, [id], env);
      if (item === undefined) return undefined;
      // The creator may have lost the right to see it since.
      const access = await call.accessTo((found.organizationsOf ?? endpoint.organizationsOf)(item));
      return found.visible(access, item) ? item : undefined;
    },
  });
}

async function show(
  kernel: Kernel,
  endpoint: Endpoint,
  request: Request,
  call: Call<string, unknown, unknown>,
  result: unknown,
  known: readonly string[],
): Promise<EndpointResponse> {
  if (endpoint.shows === 'raw') return { status: (result as Raw).status, raw: result as Raw };
  if (endpoint.shows === 'nothing') return { status: endpoint.status };
  // Deleted since it was changed.
  if (result === undefined) throw notFound();
  const { env } = kernel;
  const listed = endpoint.shows === 'many' ? (result as Listed<unknown>) : undefined;
  const items = listed?.items ?? (result === null ? [] : [result]);
  const serializer = endpoint.serializer!;
  const ids = organizationsOf(endpoint, items);
  const access = ids.every((id) => known.includes(id)) ? call.access : await call.accessTo(ids);
  const view: View = {
    access,
    edition: env.edition,
    aliases: env.aliases,
    publicUrl: env.publicUrl,
    settings: call.settings,
    defaultFeatureSet: env.defaultFeatureSet,
  };
  const { cached } = endpoint;
  const etag = listed === undefined ? etagOf(result) : undefined;
  if (cached !== undefined && isPlain(endpoint, call) && call.fields === undefined && result !== null) {
    const document = kernel.fragments.get(fragmentKey(cached, serializer, result, view));
    if (document !== undefined) return { status: endpoint.status, body: document, etag };
  }
  const documents = cached && (await cachedDocuments(kernel, cached, serializer, items, view));
  if (listed === undefined && result !== null && documents?.length === 0) throw notFound();
  let resources = documents === undefined ? items.map((item) => serializer.resource(item, view)) : undefined;
  const rest: Record<string, unknown> = {};
  if (call.include.length > 0 || call.fields !== undefined) {
    // The caller may see the resource, so included ones of the same organization need no second check.
    const accessTo = (more: readonly string[]) =>
      more.length > 0 && more.every((id) => ids.includes(id)) ? Promise.resolve(access) : call.accessTo(more);
    const context = { db: kernel.db, env, includables: kernel.includables, view, accessTo };
    resources ??= documents!.map((document) => parseExact(resourceIn(document).toString()) as ResourceObject);
    const included = await includedFor(context, resources, call.include);
    const shown = (all: ResourceObject[]) => (call.fields ? all.map((one) => withFields(one, call.fields!)) : all);
    if (call.include.length > 0) rest.included = shown(included);
    resources = shown(resources);
  }
  if (listed !== undefined) {
    describeList(rest, env.publicUrl + request.path, endpoint, call, listed);
  } else if (endpoint.documentMeta !== undefined && result !== null) {
    rest.meta = endpoint.documentMeta(result);
  }
  const after = exactJson(rest);
  const [document] = documents ?? [];
  if (resources === undefined && (listed !== undefined || (document !== undefined && after === '{}'))) {
    return { status: endpoint.status, body: listed === undefined ? document : listDocument(documents!, after), etag };
  }
  const texts = (resources ?? []).map((resource) => exactJson(resource));
  if (resources === undefined && document !== undefined) texts.push(resourceIn(document).toString());
  const data = listed === undefined ? (texts[0] ?? 'null') : `[${texts.join(',')}]`;
  const body = after === '{}' ? `{"data":${data}}` : `{"data":${data},${after.slice(1)}`;
  return { status: endpoint.status, body, etag };
}

/** Whether the response is a single resource. */
function isPlain({ shows, documentMeta }: Endpoint, { include }: Call<string, unknown, unknown>): boolean {
  return shows === 'one' && include.length === 0 && documentMeta === undefined;
}

function etagOf(result: unknown): string | undefined {
  const { revision } = (result ?? {}) as { revision?: bigint | string };
  return revision === undefined ? undefined : `W/"${revision}"`;
}

function fragmentKey(
  { key }: NonNullable<Endpoint['cached']>,
  { type }: NonNullable<Endpoint['serializer']>,
  stamp: unknown,
  view: View,
): string {
  return `${type} ${key(stamp, view)}`;
}

/** The organizations of some items, without duplicates. */
function organizationsOf(endpoint: Endpoint, items: readonly unknown[]): readonly string[] {
  if (items.length === 1) return endpoint.organizationsOf(items[0]) ?? [];
  return [...new Set(items.flatMap((item) => endpoint.organizationsOf(item) ?? []))];
}

/** The documents of stamps, in their order: from the cache, or serialized now, with one load for all missing ones. */
async function cachedDocuments(
  { db, env, fragments }: Kernel,
  cached: NonNullable<Endpoint['cached']>,
  serializer: NonNullable<Endpoint['serializer']>,
  stamps: readonly unknown[],
  view: View,
): Promise<Buffer[]> {
  const keyOf = (stamp: unknown): string => fragmentKey(cached, serializer, stamp, view);
  const { load, idOf, whole } = cached;
  const documents = new Map<string, Buffer>();
  const missing: unknown[] = [];
  const write = (item: unknown): void => {
    const text = exactJson(serializer.resource(item, view));
    // An item read now may be newer than its stamp, so it is stored under its own revisions.
    documents.set(idOf(item), fragments.set(keyOf(item), text));
  };
  for (const stamp of stamps) {
    const document = fragments.get(keyOf(stamp));
    const item = document === undefined ? whole?.(stamp) : undefined;
    if (document !== undefined) {
      documents.set(idOf(stamp), document);
    } else if (item !== undefined) {
      write(item);
    } else {
      missing.push(stamp);
    }
  }
  if (missing.length > 0) {
    for (const item of await load(db, missing, env)) {
      write(item);
    }
  }
  return stamps.flatMap((stamp) => documents.get(idOf(stamp)) ?? []);
}

function describeList(
  document: Record<string, unknown>,
  url: string,
  { cursorKey, serializer }: Endpoint,
  call: Call<string, unknown, unknown>,
  listed: Listed<unknown>,
): void {
  const meta: Record<string, unknown> = { ...listed.meta };
  if (call.page?.after !== undefined) {
    const last = listed.more ? listed.items.at(-1) : undefined;
    const next = last === undefined ? undefined : { id: serializer!.spec.id(last), key: cursorKey!(last) };
    document.links = cursorLinks(url, call.query, call.page, next);
  } else if (call.page !== undefined && listed.total !== undefined) {
    const numbers = pagination(call.page, listed.total);
    document.links = pageLinks(url, call.query, numbers);
    meta.pagination = listed.total === 0 && listed.hasNoPageWhenEmpty ? { ...numbers, 'total-pages': 0 } : numbers;
  }
  if (Object.keys(meta).length > 0) {
    document.meta = meta;
  }
}
