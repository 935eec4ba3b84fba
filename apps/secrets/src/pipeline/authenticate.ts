import { Refusal } from '@keystead/refusal';
import type { Identified } from '../kernel/policy/access';
import type { RouteMatch } from '../kernel/routing/sent-path';
import type { TokenRecord } from '../kernel/tokens/types';
import type { CallerToken } from '../sdk/call';
import { withinCidrs } from '../sdk/token-params';
import type { Kernel } from './kernel';
import type { Bearer, Request } from './request';

/**
 * Finds the record of the token that was sent; nothing is counted or changed yet.
 *
 * Undefined if the path requires no token, or if the token is optional and none was sent. Throws the same `denied` for
 * every other reason: no token, an unknown or expired token, a token of another namespace, or a forbidden address.
 */
export async function identify(kernel: Kernel, request: Request, match: RouteMatch): Promise<TokenRecord | undefined> {
  if (match.auth === 'none' || match.auth === 'wrapping') return undefined;
  if (request.token === undefined) {
    if (match.auth === 'optional') return undefined;
    throw denied();
  }
  const record = await kernel.tokens.find(request.token);
  if (record === undefined) throw denied();
  if (record.boundCidrs.length > 0 && !withinCidrs(request.address, record.boundCidrs)) throw denied();
  if (!reaches(kernel, record, match)) throw denied();
  return record;
}

/** Counts one use of a token and finds what it may do. Throws `denied`, also for the token of a disabled entity. */
export async function authenticate(kernel: Kernel, found: TokenRecord): Promise<Bearer> {
  const record = found.usesLeft === undefined ? found : await kernel.tokens.spend(found);
  if (record.entityId === undefined) {
    const query = { namespaceId: record.namespaceId, policies: record.policies };
    const access = kernel.access.peek(query) ?? (await kernel.access.of(query));
    return { record, facts: factsOf(record), access, identity: undefined, policies: record.policies };
  }
  const identity = await kernel.identity.find(record.entityId);
  if (identity === undefined || identity.disabled) throw denied();
  const query = { namespaceId: record.namespaceId, policies: record.policies, identity };
  const access = kernel.access.peek(query) ?? (await kernel.access.of(query));
  return { record, facts: factsOf(record), access, identity, policies: unionOf(record.policies, identity) };
}

// Both are the same objects in all requests until something changes.
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

/** A token works in its own namespace and in those below it. */
function reaches(kernel: Kernel, record: TokenRecord, match: RouteMatch): boolean {
  if (record.namespaceId === match.namespace.uuid) return true;
  const own = kernel.namespaces.find(record.namespaceId);
  return own !== undefined && match.namespace.path.startsWith(own.path);
}

// Cached by record, which is the same object for every request of a token.
const cache = new WeakMap<TokenRecord, CallerToken>();

/** What handlers see of a token. */
function factsOf(record: TokenRecord): CallerToken {
  let facts = cache.get(record);
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
    cache.set(record, facts);
  }
  return facts;
}

function denied(): Refusal {
  return new Refusal('denied', 'permission denied');
}
