import { isRefusal } from '@keystead/refusal';
import type { AuditCaller, AuditedRequest } from '../../kernel/audit/audit';
import { add, newWriteSet } from '../../kernel/storage/write-set';
import type { TokenRecord } from '../../kernel/tokens/types';
import type { Kernel } from '../../pipeline/kernel';
import { statusOf } from '../../pipeline/request';

/** The origin of a page's request. */
export interface From {
  readonly address: string;
  readonly requestId: string;
}

/** A sign-in, step-up or sign-out at the console. */
export interface Deed {
  readonly operation: 'update' | 'delete';
  readonly path: 'ui/session' | 'ui/session/step-up';
  /** The fields of the audit lines; `token` and everything that is not marked clear is hashed. */
  readonly fields: Readonly<Record<string, string>>;
  readonly caller?: { readonly token: string; readonly record: TokenRecord };
  readonly from: From;
}

/** The statuses of the console's own endpoints, which differ from the API's. */
const doorStatus = { ...statusOf, unauthenticated: 401, invalid: 422 };
const clear = ['method', 'mount', 'username', 'namespace'];
const declared: ReadonlySet<string> = new Set([...clear, 'token']);

/**
 * Runs a sign-in, step-up or sign-out with the audit lines of a request: one before it starts and one with its result.
 * The chained table gets its row before anything changes. Throws what `work` throws.
 */
export async function onTrail<T>(
  kernel: Pick<Kernel, 'audit' | 'chained' | 'committer' | 'namespaces'>,
  action: Deed,
  status: number,
  work: () => Promise<T>,
): Promise<T> {
  const { audit, chained, committer } = kernel;
  if (!audit.active && !chained) return work();
  const entry = entryOf(kernel, action);
  await (audit.active ? audit.request(entry) : audit.prepare(entry));
  if (chained) {
    const set = newWriteSet();
    add(set, 'audit', audit.line(entry));
    await committer.commit(set);
  }
  try {
    const result = await work();
    await audit.response(entry, { status });
    return result;
  } catch (error) {
    const message = isRefusal(error) ? error.message : 'internal error';
    await audit.response(entry, { status: isRefusal(error) ? doorStatus[error.kind] : 500 }, { message });
    throw error;
  }
}

function entryOf(
  { namespaces }: Pick<Kernel, 'namespaces'>,
  { operation, path, fields, caller, from }: Deed,
): AuditedRequest {
  const text = JSON.stringify(fields);
  const { id, path: at } = (caller && namespaces.find(caller.record.namespaceId)) ?? namespaces.root;
  return {
    id: from.requestId,
    operation,
    path,
    namespace: { id, path: at },
    fields,
    declared,
    sent: { bytes: Buffer.byteLength(text), text },
    address: from.address,
    wrapTtlSeconds: 0,
    caller: caller && callerOf(caller),
    clear,
  };
}

function callerOf({ token, record }: NonNullable<Deed['caller']>): AuditCaller {
  return {
    token,
    accessor: record.accessor,
    displayName: record.displayName,
    policies: record.policies,
    tokenPolicies: record.policies,
    entityId: record.entityId ?? '',
    tokenType: record.type,
  };
}
