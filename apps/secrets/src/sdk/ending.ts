import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import { duration } from './fields';
import { PageInput, pageOf } from './paging';

/** The parameters of listings that can also list items that expire soon. */
export const EndingInput = PageInput.extend({
  expires_within: duration()
    .optional()
    .describe(
      'List only what expires within this time, earliest first. Returns at most `limit` entries (default 100). Cannot be combined with `after`.',
    ),
});

/** A range of time in which items expire. */
export interface Ending {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly limit: number;
}

const most = { usual: 100, ever: 1000 };

/** The range in a request; undefined for an ordinary page. */
export function endingOf(input: z.output<typeof EndingInput>, nowMs: number): Ending | undefined {
  if (input.expires_within === undefined) return undefined;
  const { after, limit = most.usual } = pageOf(input);
  if (after !== undefined) throw new Refusal('invalid', 'after and expires_within cannot be used together');
  return { fromMs: nowMs, untilMs: nowMs + input.expires_within * 1000, limit: Math.min(limit, most.ever) };
}

const digits = 12;

/** A key that sorts by time, earliest first. */
const endKey = (ms: number, name: string): string => `${String(Math.floor(ms / 1000)).padStart(digits, '0')} ${name}`;

/** The location of an engine's index by expiry, which the metric of soon-expiring items counts. */
export const endFolder = 'ends/';
/** The key of an expiring item in this index. */
export const endEntry = (ms: number, name: string): string => endFolder + endKey(ms, name);

/** The name and the time in a key of this index. */
export const readEndKey = (key: string) => ({
  name: key.slice(digits + 1),
  endsAtMs: Number(key.slice(0, digits)) * 1000,
});

/**
 * Reads an index of such keys, as far as needed. `page` reads its keys, and `look` returns the items to list for some
 * names, possibly fewer.
 */
export async function listEnding<T>(
  { fromMs, untilMs, limit }: Ending,
  page: (page: { after: string; limit: number }) => Promise<string[]>,
  look: (names: readonly string[]) => Promise<readonly (readonly [string, T])[]>,
): Promise<(readonly [string, T])[]> {
  const found: (readonly [string, T])[] = [];
  for (let after = endKey(fromMs, '').trimEnd(); found.length < limit; ) {
    const keys = await page({ after, limit });
    const due = keys.map(readEndKey).filter(({ endsAtMs }) => endsAtMs <= untilMs);
    if (due.length > 0) found.push(...(await look(due.map(({ name }) => name))));
    if (due.length < limit) break;
    after = keys.at(-1)!;
  }
  return found.slice(0, limit);
}
