import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { AuditChain, ChainHead } from '../../../kernel/audit/chain';
import { object, objectList } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data } from '../../../sdk/reply';
import { entriesPath } from './audit-entries';

const head = z.object({ chain: z.string(), sequence: z.int(), digest: z.string() });
const sentHead = head.extend({ chain: z.guid().toLowerCase(), sequence: z.int().positive() });

export function auditChainPaths(chain: AuditChain, hash: (text: string) => string) {
  return [
    entriesPath(chain, hash),
    path('audit-chain', {
      summary: 'The ends of the chains in the audit table.',
      description: 'Store the answer elsewhere: verification against it finds a truncated chain.',
      sudo: true,
      rootNamespaceOnly: true,
      read: {
        summary: 'Read the ends of the audit chains.',
        operationId: 'auditing-read-chain-heads',
        output: z.object({ heads: z.array(head) }),
        auditClear: 'all',
        run: async () => data({ heads: await chain.heads() }),
      },
    }),
    path('audit-chain/verify', {
      summary: 'Checks every link of the audit table.',
      description:
        'A large table is checked in parts of a few seconds: if an answer has `next`, send it as `after`. Each answer lists the problems and ends of chains of its part. Only the last answer can have `valid: true`, so also check that no earlier answer lists problems.',
      sudo: true,
      rootNamespaceOnly: true,
      write: {
        summary: 'Verify the audit chains, and that nothing up to the stored ends is missing.',
        operationId: 'auditing-verify-chain',
        input: z.object({
          heads: objectList().optional().describe('Chain ends that were stored earlier.'),
          after: object().optional().describe('Continue after this entry: the next value of the previous response.'),
        }),
        output: z.object({
          valid: z.boolean(),
          rows: z.int(),
          heads: z.array(head),
          problems: z.array(z.string()),
          next: head.nullable(),
        }),
        auditClear: 'all',
        async run({ input }) {
          const storedHeads = (input.heads ?? []).map((one) => parseHead('heads must be objects', one));
          const after = input.after && parseHead('after must be an object', input.after);
          const { rows, heads, problems, next } = await chain.verify(storedHeads, after);
          return data({ valid: problems.length === 0 && !next, rows, heads, problems, next: next ?? null });
        },
      },
    }),
  ];
}

function parseHead(what: string, input: Record<string, unknown>): ChainHead {
  const parsed = sentHead.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new Refusal('invalid', `${what} with chain, sequence and digest, as returned by sys/audit-chain`);
}
