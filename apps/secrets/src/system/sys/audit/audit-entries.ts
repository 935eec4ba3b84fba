import { z } from 'zod';
import type { AuditChain } from '../../../kernel/audit/chain';
import type { ChainPlace } from '../../../kernel/audit/chain-search';
import { announced, int, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data } from '../../../sdk/reply';
import { readAfter, readLimit, refuseField } from '../list-input';

const mostEntries = 1000;
const usualEntries = 100;

const input = z.object({
  since: string().optional().describe('Only lines from this time, such as 2026-01-31T12:00:00Z.'),
  until: string().optional().describe('Only lines up to this time.'),
  path: string().optional().describe('Only requests whose path, relative to its namespace, begins with this text.'),
  accessor: string()
    .optional()
    .describe('Only requests of the token with this accessor. The accessor in clear, or its hash from an audit line.'),
  entity_id: string().optional().describe('Only requests of this entity.'),
  request_id: string().optional().describe('Only the request with this id.'),
  operation: string().optional().describe('Only this operation: create, update, delete, …'),
  limit: announced(int(), { minimum: 1, maximum: mostEntries, default: usualEntries })
    .optional()
    .describe('Maximum number of lines to return.'),
  after: string().optional().describe('Continue after this line: the next value of the previous response.'),
});

const output = z.object({
  entries: z.array(
    z.object({
      chain: z.string(),
      sequence: z.int().describe('Number of the chain row that contains the line.'),
      line: z.int().describe('Position of the line in the row, from 0.'),
      entry: z.looseObject({ time: z.string(), type: z.string(), request: z.looseObject({}).optional() }),
    }),
  ),
  next: z.string().nullable().describe('Send it as after to get the next page; null on the last page.'),
});

/** `sys/audit-chain/entries`: a search of the audit table. */
export function entriesPath(chain: AuditChain, hash: (text: string) => string) {
  return path('audit-chain/entries', {
    summary: 'Lines of the audit table, newest first.',
    description:
      'The table has requests that changed something, hashed as in every audit device. A large table is searched in parts of a few seconds: an answer may have few lines or none, and still have `next`.',
    sudo: true,
    rootNamespaceOnly: true,
    read: {
      summary: 'Search the audit table.',
      operationId: 'auditing-search-chain',
      input,
      output,
      async run({ input }) {
        const { lines, next } = await chain.search({
          sinceMs: timeOf('since', input.since),
          untilMs: timeOf('until', input.until),
          path: input.path || undefined,
          accessor: input.accessor ? accessorHash(input.accessor, hash) : undefined,
          entityId: input.entity_id || undefined,
          requestId: input.request_id || undefined,
          operation: input.operation || undefined,
          limit: readLimit(input.limit ?? usualEntries, mostEntries),
          after: input.after ? placeOf(input.after) : undefined,
        });
        return data({
          entries: lines.map(({ chain: id, sequence, line, entry }) => ({ chain: id, sequence, line, entry })),
          next: next ? textOf(next) : null,
        });
      },
    },
  });
}

const accessorHash = (accessor: string, hash: (text: string) => string): string =>
  /^hmac-sha256:[0-9a-f]{64}$/.test(accessor) ? accessor : hash(accessor);

/** A time of a search, in epoch milliseconds. Throws `invalid`. */
export function timeOf(field: string, text: string | undefined): number | undefined {
  if (!text) return undefined;
  const ms = Date.parse(text);
  if (Number.isFinite(ms) && /^\d{4}-\d\d-\d\d/.test(text)) return ms;
  throw refuseField(field, 'is not a time such as 2026-01-31T12:00:00Z');
}

const placePattern = /^(\d{1,15})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(\d{1,15})\.(\d{1,9})$/;

const textOf = ({ atMs, chain, sequence, line }: ChainPlace): string => `${atMs}.${chain}.${sequence}.${line}`;

function placeOf(text: string): ChainPlace {
  const [atMs, chain, sequence, line] = readAfter(placePattern, text);
  return { atMs: Number(atMs), chain: chain!, sequence: Number(sequence), line: Number(line) };
}
