import { Refusal } from '@keystead/refusal';
import type { ConsoleRules } from '../../kernel/console/types';
import type { WriteSet } from '../../kernel/storage/types';
import { add } from '../../kernel/storage/write-set';
import type { TokenRecord } from '../../kernel/tokens/types';
import type { Kernel } from '../../pipeline/kernel';
import { lifetime } from '../../sdk/lifetime';
import { withinCidrs } from '../../sdk/token-params';
import type { From } from './trail';

/** The path of console tokens, so that they can be listed and revoked together. */
const path = 'auth/token/console';
const childSeconds = 3600;

/** Looks up a pasted token. Throws `unauthenticated` without details if it may not be used. */
export async function findPasted(kernel: Kernel, token: string, from: From): Promise<TokenRecord> {
  const record = await kernel.tokens.find(token);
  if (record === undefined || (record.boundCidrs.length > 0 && !withinCidrs(from.address, record.boundCidrs))) {
    throw new Refusal('unauthenticated', 'this token is not valid here');
  }
  if (record.wrapping) {
    throw new Refusal('unauthenticated', 'this is a wrapping token: unwrap it, and sign in with the result');
  }
  if (record.entityId !== undefined) {
    const entity = await kernel.identity.find(record.entityId);
    if (entity === undefined || entity.disabled) throw new Refusal('unauthenticated', 'this token is not valid here');
  }
  requireUnlimited(record);
  return record;
}

/** Throws `unauthenticated` for a token with limited uses, because pages send many requests. */
export function requireUnlimited({ usesLeft }: TokenRecord): void {
  if (usesLeft === undefined) return;
  throw new Refusal(
    'unauthenticated',
    'a token with a limited number of uses cannot sign in, because each page would spend some',
  );
}

/**
 * The token that a session uses instead of a pasted one: a child with the same policies. The child expires after an
 * hour unless it is used, and ends with its parent. A batch token cannot have a child and is used itself. Decision
 * 0103.
 */
export function exchange(
  kernel: Kernel,
  { token, record }: { readonly token: string; readonly record: TokenRecord },
  rules: ConsoleRules,
  set: WriteSet,
): { readonly token: string; readonly record: TokenRecord } {
  if (record.type === 'batch') {
    if (record.parentHash) add(set, 'authorities', record.parentHash);
    return { token, record };
  }
  const namespace = kernel.namespaces.find(record.namespaceId);
  const mount = namespace && kernel.mounts.at(namespace.uuid, 'auth/token/');
  if (!namespace || !mount) throw new Refusal('unauthenticated', 'this token is not valid here');
  const nowMs = kernel.clock.now();
  const { ttlSeconds } = lifetime({
    nowMs,
    issuedAtMs: nowMs,
    incrementSeconds: childSeconds,
    explicitMaxTtlSeconds: rules.sessionSeconds,
    mount: mount.view,
  });
  return kernel.tokens.mint(
    {
      type: 'service',
      parent: record,
      namespaceId: namespace.uuid,
      namespaceShortId: namespace.parentUuid === undefined ? '' : namespace.id,
      path,
      displayName: record.displayName,
      policies: record.policies,
      meta: record.meta,
      entityId: record.entityId,
      mountId: mount.uuid,
      ttlSeconds,
      explicitMaxTtlSeconds: rules.sessionSeconds,
      renewable: true,
      boundCidrs: record.boundCidrs,
    },
    set,
  );
}
