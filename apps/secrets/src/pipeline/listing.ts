import { isRefusal } from '@keystead/refusal';
import { parseListFilter } from '../kernel/policy/list-filter';
import { missing, type Reply } from '../sdk/reply';
import type { Running } from './call';
import { askedOf } from './place';
import { SentPath } from './sent-path';

/** A listing as the caller's policies let it be seen: only keys they have rights on, and no longer than a page. */
export function shapeListing(reply: Reply, running: Running): Reply {
  const { grant, bearer, place } = running;
  const { listFilter, paginationLimit } = grant?.decision ?? {};
  if ((listFilter === undefined && paginationLimit === undefined) || reply.kind !== 'data' || !bearer) return reply;
  const keys = reply.data?.keys;
  if (!Array.isArray(keys)) return reply;
  const path = place.full.endsWith('/') ? place.full : `${place.full}/`;
  const pathOf = listFilter === undefined ? undefined : parseListFilter(listFilter);
  const visible = pathOf ? keys.filter((key) => isAccessible(running, pathOf(path, key))) : keys;
  const kept = paginationLimit === undefined ? visible : visible.slice(0, paginationLimit);
  if (kept.length === 0) return missing;
  const info = reply.data?.key_info;
  return {
    ...reply,
    data: { ...reply.data, keys: kept, ...(isRecord(info) && { key_info: pick(info, kept) }) },
  };
}

function isAccessible({ kernel, bearer }: Running, text: string): boolean {
  try {
    const sent = SentPath.ofField(text, 'path');
    const place = sent.locate(kernel.namespaces, kernel.mounts, text.endsWith('/') ? 'list' : 'read', '');
    const { path, folding } = askedOf(place);
    return bearer!.access.capabilities(path, folding)[0] !== 'deny';
  } catch (error) {
    // What nobody could ask for, nobody has rights on.
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
