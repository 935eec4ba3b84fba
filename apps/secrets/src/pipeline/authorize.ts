import { Refusal } from '@keystead/refusal';
import type { Identified } from '../kernel/policy/access';
import type { Operation as Capability, Decision } from '../kernel/policy/types';
import { questionOf, type RouteMatch } from '../kernel/routing/sent-path';
import type { TokenRecord } from '../kernel/tokens/types';
import type { CallerToken } from '../sdk/call';
import type { AnyOperation } from '../sdk/path';
import { listed, listedText } from '../sdk/reply';
import { type Soon, soon } from '../sdk/soon';
import { withinCidrs } from '../sdk/token-params';
import type { Kernel } from './kernel';
import type { Bearer, Grant, Located, Request } from './request';

/**
 * Finds the record of the token that was sent; nothing is counted or changed yet.
 *
 * Undefined if the path requires no token, or if the token is optional and none was sent. Throws the same `denied` for
 * all other reasons: no token, an unknown or expired token, a token of another namespace, or a forbidden address.
 */
export function identify(kernel: Kernel, request: Request, match: RouteMatch): Soon<TokenRecord | undefined> {
  if (match.auth === 'none' || match.auth === 'wrapping') return undefined;
  if (request.token === undefined) {
    if (match.auth === 'optional') return undefined;
    throw denied();
  }
  return soon(kernel.tokens.find(request.token), (record) => usable(kernel, request, match, record));
}

function usable(kernel: Kernel, request: Request, match: RouteMatch, record: TokenRecord | undefined): TokenRecord {
  if (record === undefined) throw denied();
  if (record.boundCidrs.length > 0 && !withinCidrs(request.address, record.boundCidrs)) throw denied();
  if (!reaches(kernel, record, match)) throw denied();
  return record;
}

/** Counts one use of a token and looks up its permissions. Throws `denied`, also for the token of a disabled entity. */
export function authenticate(kernel: Kernel, found: TokenRecord): Soon<Bearer> {
  return found.usesLeft === undefined
    ? bearerOf(kernel, found)
    : kernel.tokens.spend(found).then((record) => bearerOf(kernel, record));
}

function bearerOf(kernel: Kernel, record: TokenRecord): Soon<Bearer> {
  if (record.entityId === undefined) return withAccess(kernel, record, undefined, record.policies);
  return soon(kernel.identity.find(record.entityId), (identity) => {
    if (identity === undefined || identity.disabled) throw denied();
    return withAccess(kernel, record, identity, unionOf(record.policies, identity));
  });
}

function withAccess(
  kernel: Kernel,
  record: TokenRecord,
  identity: Identified | undefined,
  policies: readonly string[],
): Soon<Bearer> {
  const query = { namespaceId: record.namespaceId, policies: record.policies, identity };
  return soon(kernel.access.of(query), (access) => ({
    record,
    facts: factsOf(record),
    access,
    identity,
    policies,
  }));
}

// Identities and policy lists are the same objects in all requests until they change.
const unions = new WeakMap<Identified, WeakMap<readonly string[], readonly string[]>>();

function unionOf(own: readonly string[], identity: Identified): readonly string[] {
  let unionsOfIdentity = unions.get(identity);
  if (!unionsOfIdentity) {
    unionsOfIdentity = new WeakMap();
    unions.set(identity, unionsOfIdentity);
  }
  let union = unionsOfIdentity.get(own);
  if (!union) {
    union = [...new Set([...own, ...identity.policies.flatMap(({ names }) => names)])].sort();
    unionsOfIdentity.set(own, union);
  }
  return union;
}

/** Whether a token is valid in a namespace: in its own and in those below it. */
function reaches(kernel: Kernel, record: TokenRecord, match: RouteMatch): boolean {
  if (record.namespaceId === match.namespace.uuid) return true;
  const own = kernel.namespaces.find(record.namespaceId);
  return own !== undefined && match.namespace.path.startsWith(own.path);
}

// Cached by record, which is the same object for every request of a token.
const factsByRecord = new WeakMap<TokenRecord, CallerToken>();

/** The properties of a token that handlers see. */
function factsOf(record: TokenRecord): CallerToken {
  let facts = factsByRecord.get(record);
  if (facts === undefined) {
    facts = {
      hash: record.key,
      accessor: record.accessor,
      type: record.type,
      namespaceId: record.namespaceId,
      policies: record.policies,
      displayName: record.displayName,
      path: record.path,
      meta: record.meta,
      mountId: record.mountId,
      entityId: record.entityId ?? '',
      usesLeft: record.usesLeft ?? 0,
      expiresAtMs: record.expiresAtMs ?? null,
      orphan: record.orphan,
      role: record.role,
      createdAtMs: record.createdAtMs,
      authenticatedAtMs: record.authenticatedAtMs,
      lastRenewalMs: record.lastRenewalMs,
      ttlSeconds: record.ttlSeconds,
      explicitMaxTtlSeconds: record.explicitMaxTtlSeconds,
      periodSeconds: record.periodSeconds,
      numUses: record.numUses,
      renewable: record.renewable,
      boundCidrs: record.boundCidrs,
    };
    factsByRecord.set(record, facts);
  }
  return facts;
}

function denied(): Refusal {
  return new Refusal('denied', 'permission denied');
}

/** The properties of the path's target that the decision needs. */
export interface Existence {
  readonly isThere: boolean;
  readonly stored?: unknown;
}

/** A refusal by a policy, with the rule that refused the request; the rule appears only in the audit log. */
export class PolicyDenied extends Refusal {
  constructor(
    readonly decision: Decision,
    what = '',
  ) {
    super('denied', `permission denied${what}`);
  }
}

/**
 * Checks the caller's policies. If a path can be both created and changed and the rules grant both, nothing is read. If
 * they grant only one of these, `exists` decides, and the commit checks this again. Throws `denied`.
 */
export function authorize(
  kernel: Kernel,
  request: Request,
  context: Located,
  { access }: Bearer,
  exists: (kernel: Kernel, request: Request, context: Located) => Promise<Existence>,
): Soon<Grant> {
  const { match, wrapTtlSeconds } = context;
  if (access.root) return { capability: capabilityOf(request), sudo: true, guard: undefined, decision: undefined };
  const capability = capabilityOf(request);
  const question = {
    ...questionOf(match),
    operation: capability,
    parameters: request.sent.fields,
    wrapTtlSeconds: wrapTtlSeconds > 0 ? wrapTtlSeconds : undefined,
  };
  const decision = access.decide(question);
  if (request.verb === 'write' && (match.declared?.exists || match.declared?.stored)) {
    const create = access.decide({ ...question, operation: 'create' });
    if (create.allowed !== decision.allowed) {
      const guard = create.allowed ? 'absent' : 'present';
      return exists(kernel, request, context).then(({ isThere, stored }) => {
        if (isThere !== (guard === 'present')) throw new PolicyDenied(decision.allowed ? create : decision);
        return create.allowed
          ? grant(match, 'create', create, guard, stored)
          : grant(match, capability, decision, guard, stored);
      });
    }
  }
  return grant(match, capability, decision);
}

function grant(
  match: RouteMatch,
  capability: Capability,
  decision: Decision,
  guard?: Grant['guard'],
  stored?: unknown,
): Grant {
  if (!decision.allowed) throw new PolicyDenied(decision);
  const needsSudo = match.operation?.sudo ?? match.declared?.sudo ?? false;
  if (needsSudo && !decision.sudo) throw new PolicyDenied(decision);
  return { capability, sudo: decision.sudo, guard, decision, stored };
}

/**
 * Refuses a request without a target, with a message that this caller may read: only root learns which mounts exist.
 */
export function requireOperation(match: RouteMatch, bearer: Bearer | undefined): void {
  if (match.operation) return;
  if (!match.mount) {
    if (bearer?.access.root) {
      throw new Refusal('unsupported-path', `no handler for route "${match.path}". route entry not found.`);
    }
    throw listed('denied', 'permission denied');
  }
  const isDeclared = match.declared !== undefined;
  if (match.declared?.responseFormat === 'raw') throw new Refusal('unsupported-operation', '');
  const text = isDeclared ? 'unsupported operation' : 'unsupported path';
  const kind = isDeclared ? 'unsupported-operation' : 'unsupported-path';
  const { elsewhere } = match.mount.backend;
  if (!isDeclared && elsewhere !== undefined) throw new Misguided(listedText(text), elsewhere);
  throw match.auth === 'none' ? new Refusal(kind, text) : listed(kind, text);
}

function capabilityOf(request: Request): Capability {
  return request.verb === 'write' ? 'update' : request.verb;
}

/**
 * The path does not exist. A warning names the correct path, because tools show the warnings and not the message of
 * this refusal.
 */
export class Misguided extends Refusal {
  constructor(
    message: string,
    readonly warning: string,
  ) {
    super('unsupported-path', message);
  }
}

/** A page requested something that its session allows only after a step-up. */
export class StepUpRequired extends Refusal {
  constructor() {
    super('denied', 'step-up-required: confirm your identity at /ui/session/step-up, then send the request again');
  }
}

/** Throws `StepUpRequired` for sessions that need a step-up; never for callers who send a token. */
export function requireStepUp({ session }: Pick<Request, 'session'>, operation: AnyOperation | undefined): void {
  if (session && !session.steppedUp && operation?.stepUp) throw new StepUpRequired();
}
