import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { objectList } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data } from '../../sdk/reply';

interface Head {
  readonly chain: string;
  readonly sequence: number;
  readonly digest: string;
}

/** The hash-chained audit table. */
export interface ChainPort {
  heads(): Promise<readonly Head[]>;
  verify(kept: readonly Head[]): Promise<{ rows: number; heads: readonly Head[]; problems: readonly string[] }>;
}

const head = z.object({ chain: z.string(), sequence: z.int(), digest: z.string() });

export function auditChainPaths(chain: ChainPort) {
  return [
    path('audit-chain', {
      summary: 'The ends of the chains in the audit table.',
      description:
        'Keep what this answers somewhere else: a chain that is cut behind a kept end is found by verifying.',
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
      sudo: true,
      rootNamespaceOnly: true,
      write: {
        summary: 'Verify the audit chains, and that nothing behind kept ends is gone.',
        operationId: 'auditing-verify-chain',
        input: z.object({ heads: objectList().optional().describe('Ends that were kept.') }),
        output: z.object({ valid: z.boolean(), rows: z.int(), heads: z.array(head), problems: z.array(z.string()) }),
        auditClear: 'all',
        async run({ input }) {
          const { rows, heads, problems } = await chain.verify((input.heads ?? []).map(parseHead));
          return data({ valid: problems.length === 0, rows, heads, problems });
        },
      },
    }),
  ];
}

function parseHead(given: Record<string, unknown>): Head {
  const parsed = head.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new Refusal(
    'invalid',
    'heads must be objects with chain, sequence and digest, as sys/audit-chain answers them',
  );
}
