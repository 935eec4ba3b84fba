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
import { requireDeclared, sparseFields, withFields } from './parameters';

/** A request as the kernel sees it, independent of HTTP. */
export interface Request {
  readonly id: string;
  readonly method: string;
  /** The path with the prefix and without the query. */
  readonly path: string;
  readonly query: Query;
  readonly params: Record<string, string>;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly address: string;
  /** Whether the client has disconnected. */
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
  /** Whether parts of the streamed body have not arrived yet. */
  readonly isArriving: boolean;
  /** Filled while parsing: the position of each part in the sent body, for error pointers. */
  pointers?: ReadonlyMap<string, string>;
}

/** The dependencies of the kernel for every request. */
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

/** Kinds of tokens that are for a single purpose, and may not call endpoints that are open to every other token. */
const forOneThing: readonly PrincipalKind[] = ['audit-trails', 'scim', 'agent', 'run'];

function refuseUnlessFor(endpoint: Endpoint, env: Environment, principal: Principal): void {
  const wrongEdition = endpoint.edition !== undefined && endpoint.edition !== env.edition;
  const limitsKinds = endpoint.auth === 'token' || forOneThing.includes(principal.kind);
  const wrongToken = limitsKinds && !endpoint.tokens.includes(principal.kind);
  // An endpoint with a dialect accepts only its own kind of token. Only endpoints of agents accept tokens of agents.
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

/** If the settings require a second factor of administrators, an administrator without one has only ordinary rights. */
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
  // Nothing awaits this promise if the request is refused first. This avoids an unhandled rejection.
  early.catch(() => undefined);
  return early;
}

function loadTarget(
  endpoint: Endpoint,
  lookup: Parameters<NonNullable<Endpoint['load']>>[0],
  early: Promise<unknown> | undefined,
): Promise<unknown> | undefined {
  if (endpoint.load === undefined) return undefined;
  return (early ?? endpoint.load(lookup)).then((target) => {
    if (target === undefined || target === null) throw notFound();
    return endpoint.completes === undefined ? target : endpoint.completes(lookup, target);
  });
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
  // Nothing awaits this promise if the request is refused first. This avoids an unhandled rejection.
  found.catch(() => undefined);
  return { holder, found };
}

/**
 * The holder of the signed link, for endpoints that can be called by link. Without a link, an endpoint that needs a
 * link answers 404.
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

/** The pieces of a body. It does not end unless its sender may still make the request. */
async function* confirmed(
  stream: AsyncIterable<Uint8Array>,
  confirm: () => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  yield* stream;
  await confirm();
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

/** In the console, irreversible changes require a recent proof of identity. */
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

/** Throws if the document of a change names another resource than the path. */
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
  /** The refusal that was recorded last. */
  let recorded: unknown;
  /**
   * Records that an authenticated caller was refused access to an existing object. Returns the refusal for the
   * response. An organization's trail records only its members; refusals of other callers are recorded in the trail of
   * the installation.
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
    recorded = refusal;
    return refusal;
  };
  if (endpoint.siteAdmin && !principal.siteAdmin) throw await refused(notFound(), null, undefined);
  const within = { ...kernel, env };
  const lookup = { db, env, principal, params: request.params, query };
  const accessOf = (who: Principal, ids: readonly string[]): Access | Promise<Access> =>
    ids.length === 0 ? new Access(who, [], env.now()) : env.accessStore.load(who, ids);
  /** The organization for which the endpoint itself checked access, if its path contains no organization. */
  let askedAbout: { readonly id: string; readonly access: Access } | undefined;
  const accessTo = async (ids: readonly string[]): Promise<Access> => {
    const access = await accessOf(principal, ids);
    if (ids.length === 1) askedAbout = { id: ids[0]!, access };
    return access;
  };
  const { settings } = request;
  const expectedRevision = endpoint.method === 'GET' ? undefined : ifMatch(request.headers['if-match']);
  /** Checks that the caller has the required right on the target. */
  const judge = async (who: Principal, early?: Promise<unknown>) => {
    const loading = loadTarget(endpoint, { ...lookup, principal: who }, early);
    const target = loading && (await loading);
    const organizationIds = target === undefined ? [] : endpoint.organizationsOf(target);
    const { epoch } = (target ?? {}) as { epoch?: string };
    const found =
      epoch !== undefined && organizationIds.length === 1
        ? env.accessStore.loadAt(who, organizationIds[0]!, epoch)
        : accessOf(who, organizationIds);
    const access = found instanceof Promise ? await found : found;
    // For members, the error names the kind of their token as the reason.
    const refusal = organizationIds.map((id) => access.refusedToken(id)).find((why) => why !== undefined);
    if (refusal) throw new TokenKindRefused(refusal === 'kind' ? onlyOthers : onlyShorter);
    try {
      allow(endpoint, access, target);
    } catch (refusal) {
      throw await refused(refusal, organizationIds[0] ?? null, target, access);
    }
    requireRevision((target ?? {}) as { revision?: bigint | string }, expectedRevision);
    return { target: target, access, judged: organizationIds };
  };
  const renew = async (): Promise<Access | undefined> => {
    const who = await request.again?.();
    if (who === undefined) return undefined;
    const now = withinRules(who, await env.settings());
    refuseUnlessFor(endpoint, env, now);
    if (endpoint.siteAdmin && !now.siteAdmin) throw notFound();
    return (await judge(now)).access;
  };
  /** Decides again after a streamed body has arrived, because its sender may have lost the right in the meantime. */
  const confirm = async (): Promise<unknown> => {
    const link = request.link && { holder: request.link.holder, found: findHolder(db, request.link.holder) };
    const now = link && (await holderBehind(endpoint, kernel, { ...request, link }));
    return now === undefined ? renew() : judge(withinRules(now, await env.settings()));
  };
  const isConfirmed = request.isArriving && principal.id !== '' && endpoint.acceptsLate !== true;
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
    ifMatch: expectedRevision,
    request: {
      id: request.id,
      address: request.address,
      headers: request.headers,
      isGone: request.isGone,
      stream: request.stream && (isConfirmed ? confirmed(request.stream, confirm) : request.stream),
    },
    answer: undefined,
    accessTo,
    renew,
  } satisfies Call<string, unknown, unknown> & { request: { stream: unknown } };
  requireStepUp(endpoint, principal, call.body, env.now());
  const turn = turnFor(endpoint, request.params, principal);
  // Checks the rights again after waiting, because earlier requests may have changed the target.
  const inTurn = (name: string): Promise<unknown> =>
    db.mutex.run(name, async (waited) => {
      if (waited) Object.assign(call, await judge(principal));
      return runOnce(within, endpoint, request, { ...call, db: db.inTurn(name) });
    });
  let returned: unknown;
  try {
    returned = await (turn === undefined ? runOnce(within, endpoint, request, call) : inTurn(turn));
  } catch (refusal) {
    if (holder !== undefined || refusal === recorded || !isOfRight(endpoint, refusal)) throw refusal;
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
  const rights = endpoint.keepsAccess ? at.judged : [];
  return show(within, endpoint, request, call, result, rights);
}

/**
 * Whether an endpoint's error is about missing permissions, not only about the input. If a read does not find the
 * target, this is not a refusal.
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
function runOnce(kernel: Kernel, endpoint: Endpoint, request: Request, call: Call<string, unknown, unknown>): unknown {
  const key = request.headers['idempotency-key'];
  if (key !== undefined && endpoint.method !== 'GET') return runByKey(kernel, endpoint, request, call, String(key));
  if (endpoint.asks === undefined) return endpoint.run(call);
  return endpoint.asks(call).then((answer) => endpoint.run({ ...call, answer }));
}

async function runByKey(
  { db, includables, env }: Kernel,
  endpoint: Endpoint,
  request: Request,
  call: Call<string, unknown, unknown>,
  key: string,
): Promise<unknown> {
  if (!endpoint.idempotent) throw new Refusal('malformed', 'this request does not take an Idempotency-Key');
  const create: IdempotentCreate = {
    principal: `${call.principal.kind} ${call.principal.id}`,
    path: `${request.method} ${request.path}`,
    key,
    body: request.body,
  };
  const now = env.now();
  const asks = endpoint.asks !== undefined && !(await isClaimed(db, create, now));
  const answer = asks ? await endpoint.asks!(call) : undefined;
  return claimKey(db, create, {
    now,
    mac: (text) => env.keyring.mac('workspace-idempotent-body', text),
    run: (tx) => endpoint.run({ ...call, db: tx, answer }),
    idOf: (item) => endpoint.serializer!.spec.id(item),
    async find(id) {
      const { type } = endpoint.serializer!;
      const found = includables.get(type);
      if (found === undefined)
        throw new Error(`${type} are created once per Idempotency-Key, and there is no way to find them again`);
      const [item] = await found.load(db, [id], env);
      if (item === undefined) return undefined;
      // The creator may no longer have the right to see it.
      const access = await call.accessTo((found.organizationsOf ?? endpoint.organizationsOf)(item));
      return found.visible(access, item) ? item : undefined;
    },
  });
}

/**
 * The response with a result. `checkedIds` are the organizations in which the caller's access was checked and has not
 * changed.
 */
function show(
  kernel: Kernel,
  endpoint: Endpoint,
  request: Request,
  call: Call<string, unknown, unknown>,
  result: unknown,
  checkedIds: readonly string[],
): EndpointResponse | Promise<EndpointResponse> {
  if (endpoint.shows === 'raw') return { status: (result as Raw).status, raw: result as Raw };
  if (endpoint.shows === 'nothing') return { status: endpoint.status };
  // Someone deleted the resource after this request had changed it.
  if (result === undefined) throw notFound();
  const items = endpoint.shows === 'many' ? (result as Listed<unknown>).items : result === null ? [] : [result];
  const ids = organizationsOf(endpoint, items);
  const { env, fragments } = kernel;
  const showTo = (access: Access): EndpointResponse | Promise<EndpointResponse> => {
    const view: View = {
      access,
      edition: env.edition,
      aliases: env.aliases,
      publicUrl: env.publicUrl,
      settings: call.settings,
      defaultFeatureSet: env.defaultFeatureSet,
    };
    const { cached, serializer, status } = endpoint;
    const isCached = cached !== undefined && isPlain(endpoint, call) && call.fields === undefined && result !== null;
    const document = isCached ? fragments.get(fragmentKey(cached, serializer!, result, view)) : undefined;
    return document === undefined
      ? serialize(kernel, endpoint, request, call, result, items, ids, view)
      : { status, body: document, etag: etagOf(result) };
  };
  return ids.every((id) => checkedIds.includes(id)) ? showTo(call.access) : call.accessTo(ids).then(showTo);
}

async function serialize(
  kernel: Kernel,
  endpoint: Endpoint,
  request: Request,
  call: Call<string, unknown, unknown>,
  result: unknown,
  items: readonly unknown[],
  ids: readonly string[],
  view: View,
): Promise<EndpointResponse> {
  const { env } = kernel;
  const { access } = view;
  const { cached } = endpoint;
  const serializer = endpoint.serializer!;
  const listed = endpoint.shows === 'many' ? (result as Listed<unknown>) : undefined;
  const about = listed
    ? aboutList(env.publicUrl + request.path, endpoint, call, listed)
    : endpoint.documentMeta !== undefined && result !== null
      ? { meta: endpoint.documentMeta(result) }
      : {};
  const isWhole = call.include.length === 0 && call.fields === undefined;
  if (listed && cached && isWhole) {
    return {
      status: endpoint.status,
      body: await listFromCache(kernel, cached, serializer, items, view, exactJson(about)),
    };
  }
  const etag = listed === undefined ? etagOf(result) : undefined;
  const documents = cached && (await documentsFor(kernel, cached, serializer, items, view)).documents;
  if (listed === undefined && result !== null && documents?.length === 0) throw notFound();
  let resources = documents === undefined ? items.map((item) => serializer.resource(item, view)) : undefined;
  let rest: Record<string, unknown> = about;
  if (!isWhole) {
    // The caller may see the resource, so access to included resources of the same organization is not read again.
    const accessTo = (more: readonly string[]) =>
      more.length > 0 && more.every((id) => ids.includes(id)) ? Promise.resolve(access) : call.accessTo(more);
    const context = { db: kernel.db, env, includables: kernel.includables, view, accessTo };
    resources ??= documents!.map((document) => parseExact(resourceIn(document).toString()) as ResourceObject);
    const included = await includedFor(context, resources, call.include);
    const shown = (all: ResourceObject[]) => (call.fields ? all.map((one) => withFields(one, call.fields!)) : all);
    if (call.include.length > 0) rest = { included: shown(included), ...about };
    resources = shown(resources);
  }
  const after = exactJson(rest);
  const [document] = documents ?? [];
  if (resources === undefined && document !== undefined && after === '{}') {
    return { status: endpoint.status, body: document, etag };
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
  { version, rights }: NonNullable<Endpoint['cached']>,
  { type }: NonNullable<Endpoint['serializer']>,
  stamp: unknown,
  view: View,
): string {
  return `${type} ${version(stamp)} ${rights(stamp, view)}`;
}

/** The organizations of some items, without duplicates. */
function organizationsOf(endpoint: Endpoint, items: readonly unknown[]): readonly string[] {
  if (items.length === 1) return endpoint.organizationsOf(items[0]) ?? [];
  return [...new Set(items.flatMap((item) => endpoint.organizationsOf(item) ?? []))];
}

/** The document of a list without included resources. `rest` is the text that follows its resources. */
async function listFromCache(
  kernel: Kernel,
  cached: NonNullable<Endpoint['cached']>,
  serializer: NonNullable<Endpoint['serializer']>,
  stamps: readonly unknown[],
  view: View,
  rest: string,
): Promise<Buffer> {
  const { fragments } = kernel;
  const rights = stamps.map((stamp) => cached.rights(stamp, view));
  const key = fragments.pageKey(stamps, `${serializer.type} ${rest} ${rights.join(' ')}`);
  const page = key === undefined ? undefined : fragments.get(key);
  if (page !== undefined) return page;
  const { documents, areCurrent } = await documentsFor(kernel, cached, serializer, stamps, view);
  const document = listDocument(documents, rest);
  // An item that was loaded now may be newer than its stamp, and callers may have other rights on the newer item.
  if (areCurrent && key !== undefined) fragments.store(key, document);
  return document;
}

/**
 * The documents of the items with these stamps, in the same order. Documents that are not in the cache are loaded
 * together and serialized. `areCurrent` is true if no document was loaded.
 */
async function documentsFor(
  { db, env, fragments }: Kernel,
  cached: NonNullable<Endpoint['cached']>,
  serializer: NonNullable<Endpoint['serializer']>,
  stamps: readonly unknown[],
  view: View,
): Promise<{ documents: Buffer[]; areCurrent: boolean }> {
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
  const found = stamps.flatMap((stamp) => documents.get(idOf(stamp)) ?? []);
  return { documents: found, areCurrent: missing.length === 0 };
}

/** The links and the `meta` of a list. */
function aboutList(
  url: string,
  { cursorKey, serializer }: Endpoint,
  call: Call<string, unknown, unknown>,
  listed: Listed<unknown>,
): { links?: unknown; meta?: object } {
  const meta: Record<string, unknown> = { ...listed.meta };
  let links: unknown;
  if (call.page?.after !== undefined) {
    const last = listed.more ? listed.items.at(-1) : undefined;
    const next = last === undefined ? undefined : { id: serializer!.spec.id(last), key: cursorKey!(last) };
    links = cursorLinks(url, call.query, call.page, next);
  } else if (call.page !== undefined && listed.total !== undefined) {
    const numbers = pagination(call.page, listed.total);
    links = pageLinks(url, call.query, numbers);
    meta.pagination = listed.total === 0 && listed.hasNoPageWhenEmpty ? { ...numbers, 'total-pages': 0 } : numbers;
  }
  return { links, meta: Object.keys(meta).length > 0 ? meta : undefined };
}
