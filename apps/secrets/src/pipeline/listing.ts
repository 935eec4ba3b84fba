import { parseListFilter } from '../kernel/policy/list-filter';
import { missing, type Reply } from '../sdk/reply';
import type { Running } from './call';

/** A listing as the caller's policies let it be seen: only keys they have rights on, and no longer than a page. */
export function shapeListing(reply: Reply, { grant, bearer, place }: Running): Reply {
  const { listFilter, paginationLimit } = grant?.decision ?? {};
  if ((listFilter === undefined && paginationLimit === undefined) || reply.kind !== 'data' || !bearer) return reply;
  const keys = reply.data?.keys;
  if (!Array.isArray(keys)) return reply;
  const folder = place.namespace.path + place.path;
  const path = folder.endsWith('/') ? folder : `${folder}/`;
  const pathOf = listFilter === undefined ? undefined : parseListFilter(listFilter);
  const visible = pathOf ? keys.filter((key) => isAccessible(bearer.access.capabilities(pathOf(path, key)))) : keys;
  const kept = paginationLimit === undefined ? visible : visible.slice(0, paginationLimit);
  if (kept.length === 0) return missing;
  const info = reply.data?.key_info;
  return {
    ...reply,
    data: { ...reply.data, keys: kept, ...(isRecord(info) && { key_info: pick(info, kept) }) },
  };
}

function isAccessible(capabilities: readonly string[]): boolean {
  return capabilities[0] !== 'deny';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function pick(info: Readonly<Record<string, unknown>>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(info, key)).map((key) => [key, info[key]]));
}
