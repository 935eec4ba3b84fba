import { z } from 'zod';
import type { ReadPlace, ReadTrail } from '../../../kernel/audit/reads';
import { announced, int, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { withoutOuterSlashes } from '../../../sdk/path-text';
import { data } from '../../../sdk/reply';
import { readAfter, readLimit } from '../list-input';
import { timeOf } from './audit-entries';

const mostRows = 1000;
const usualRows = 100;

const input = z.object({
  path: string()
    .optional()
    .describe(
      'Only reads of this path, relative to its namespace. With a slash at the end: reads of everything below it.',
    ),
  namespace: string().optional().describe('Only reads in this namespace, such as team/. The root namespace is /.'),
  entity_id: string().optional().describe('Only reads by this entity.'),
  since: string().optional().describe('Only reads from this time, such as 2026-01-31T12:00:00Z.'),
  until: string().optional().describe('Only reads up to this time.'),
  limit: announced(int(), { minimum: 1, maximum: mostRows, default: usualRows })
    .optional()
    .describe('Maximum number of rows to return.'),
  after: string().optional().describe('Continue after this row: the next value of the previous response.'),
});

const output = z.object({
  recording: z.boolean().describe('Whether this node records reads: SECRETS_AUDIT_READS.'),
  kept_days: z.int().describe('For how many days recorded reads are kept.'),
  reads: z.array(
    z.object({
      namespace_path: z.string(),
      path: z.string(),
      first_time: z.string(),
      last_time: z.string(),
      times: z.int().describe('How many times the token read the path from this address between these times.'),
      entry: z.looseObject({}).describe('The audit line of the first read.'),
    }),
  ),
  next: z.string().nullable().describe('Send it as after to get the next page; null on the last page.'),
});

/** `sys/audit-reads`: who read which secret. */
export function auditReadsPath(trail: ReadTrail) {
  return path('audit-reads', {
    summary: 'Who read which secret, newest first.',
    description:
      'Successful reads of secrets engines, if SECRETS_AUDIT_READS is on: one row for all reads of an hour by the same token, from the same address, of the same path. What a write returns, such as an issued certificate, is in sys/audit-chain/entries.',
    sudo: true,
    rootNamespaceOnly: true,
    read: {
      summary: 'Search the recorded reads of secrets.',
      operationId: 'auditing-search-reads',
      input,
      output,
      async run({ input }) {
        const limit = readLimit(input.limit ?? usualRows, mostRows);
        const found = await trail.search({
          path: input.path || undefined,
          namespace: input.namespace ? namespacePath(input.namespace) : undefined,
          entityId: input.entity_id || undefined,
          sinceMs: timeOf('since', input.since),
          untilMs: timeOf('until', input.until),
          limit,
          after: input.after ? placeOf(input.after) : undefined,
        });
        const last = found.length === limit ? found.at(-1) : undefined;
        return data({
          recording: trail.recording,
          kept_days: trail.days,
          reads: found.map(({ namespace, path: at, firstMs, lastMs, times, entry }) => ({
            namespace_path: namespace,
            path: at,
            first_time: new Date(firstMs).toISOString(),
            last_time: new Date(lastMs).toISOString(),
            times,
            entry,
          })),
          next: last ? `${last.firstMs}.${last.id}` : null,
        });
      },
    },
  });
}

/** A namespace path in the form of recorded reads: with a final slash, empty for the root namespace. */
function namespacePath(text: string): string {
  const bare = withoutOuterSlashes(text);
  return bare === '' ? '' : `${bare}/`;
}

const placePattern = /^(\d{1,15})\.([0-9a-f]{64})$/;

function placeOf(text: string): ReadPlace {
  const [firstMs, id] = readAfter(placePattern, text);
  return { firstMs: Number(firstMs), id: id! };
}
