import { z } from 'zod';
import { int, string } from './fields';
import { missing, type Reply } from './reply';

/**
 * The page parameters of every listing. Large listings declare them and read only the page. For others, `path` cuts the
 * response.
 */
export const PageInput = z.object({
  after: string().optional().describe('List only keys after this one.'),
  limit: int().optional().describe('Maximum number of keys to list. Default: all.'),
});

/** The requested page of a listing; an empty `after` and a limit that is not positive mean all. */
export function pageOf({ after, limit }: z.output<typeof PageInput>): { after?: string; limit?: number } {
  return { after: after || undefined, limit: limit !== undefined && limit > 0 ? limit : undefined };
}

/** One page of a whole listing, in byte order. A page after the last name is answered with 404, like an empty list. */
export function cutPage(reply: Reply, input: z.output<typeof PageInput>): Reply {
  const { after = '', limit } = pageOf(input);
  if (reply.kind !== 'data' || reply.data === null || (after === '' && limit === undefined)) return reply;
  const { keys, key_info: info } = reply.data as {
    keys: readonly string[];
    key_info?: Readonly<Record<string, unknown>>;
  };
  const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  const names = keys
    .filter((name) => byBytes(name, after) > 0)
    .sort(byBytes)
    .slice(0, limit);
  if (names.length === 0) return missing;
  const ofPage = Object.entries(reply.data).map(([field, value]) => [field, Array.isArray(value) ? names : value]);
  const keyInfo = info && { key_info: Object.fromEntries(names.map((name) => [name, info[name]])) };
  return { ...reply, data: { ...Object.fromEntries(ofPage), ...keyInfo } };
}
