import { isRefusal } from '@keystead/refusal';
import { parseListFilter } from '../kernel/policy/list-filter';
import { questionOf, SentPath } from '../kernel/routing/sent-path';
import { Pauses } from '../kernel/storage/slices';
import { missing, type Reply } from '../sdk/reply';
import type { Kernel } from './kernel';
import type { Bearer, Located } from './request';

/**
 * A listing as the caller's policies allow it: only keys to which the caller has access, and at most one page. While a
 * long list is checked, other requests run in between.
 */
export function shapeListing(kernel: Kernel, context: Located, reply: Reply): Reply | Promise<Reply> {
  const { grant, bearer, match } = context;
  const { listFilter, paginationLimit } = grant?.decision ?? {};
  if ((listFilter === undefined && paginationLimit === undefined) || reply.kind !== 'data' || !bearer) return reply;
  const keys = reply.data?.keys;
  if (!Array.isArray(keys)) return reply;
  const path = match.full.endsWith('/') ? match.full : `${match.full}/`;
  const pathOf = listFilter === undefined ? undefined : parseListFilter(listFilter);
  const most = paginationLimit ?? keys.length;
  if (!pathOf) return withKeys(reply, keys.slice(0, most));
  return visibleOf(keys, most, (key) => isAccessible(kernel, bearer, pathOf(path, key))).then((visible) =>
    withKeys(reply, visible),
  );
}

async function visibleOf(
  keys: readonly string[],
  most: number,
  isVisible: (key: string) => boolean,
): Promise<string[]> {
  const visible: string[] = [];
  const pauses = new Pauses();
  for (const key of keys) {
    if (visible.length >= most) break;
    if (pauses.due) await pauses.take();
    if (isVisible(key)) visible.push(key);
  }
  return visible;
}

function withKeys(reply: Extract<Reply, { kind: 'data' }>, visible: readonly string[]): Reply {
  if (visible.length === 0) return missing;
  const info = reply.data?.key_info;
  return {
    ...reply,
    data: { ...reply.data, keys: visible, ...(isRecord(info) && { key_info: pick(info, visible) }) },
  };
}

function isAccessible(kernel: Kernel, bearer: Bearer, text: string | undefined): boolean {
  if (text === undefined) return false;
  try {
    const sent = SentPath.ofField(text, 'path');
    const match = sent.locate(kernel.namespaces, kernel.mounts, text.endsWith('/') ? 'list' : 'read', '');
    const { path, folding } = questionOf(match);
    return bearer.access.capabilities(path, folding)[0] !== 'deny';
  } catch (error) {
    // No caller has rights on a path that cannot be requested.
    if (isRefusal(error)) return false;
    throw error;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function pick(info: Readonly<Record<string, unknown>>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(info, key)).map((key) => [key, info[key]]));
}
