import { z } from 'zod';
import { int, string } from './fields';

/** Fields of a listing that may be large. */
export const PageInput = z.object({
  after: string().optional().describe('List only what comes after this key.'),
  limit: int().optional().describe('Most keys to list; all by default.'),
});

/** The page a listing asks for; an empty `after` and anything but a positive limit mean all. */
export function pageOf({ after, limit }: z.output<typeof PageInput>): { after?: string; limit?: number } {
  return { after: after || undefined, limit: limit !== undefined && limit > 0 ? limit : undefined };
}
