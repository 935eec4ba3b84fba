import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { Claims } from '../git-hosts/claims';

/** The claims under which tokens are renewed. */
export const tokenClaims = new Claims({
  table: 'oauth_token',
  keys: ['id'],
  due: 'renew_at',
  claim: 'renew_claim',
  attempts: 'renew_attempts',
  lease: "interval '1 minute'",
  owner: 'oauth_client y ON y.id = x.oauth_client_id',
});

/** Ends the renewal of a token that could not be renewed. It is tried again when its claim ends, or never. */
export const endRenewal = (
  db: Database,
  row: { readonly id: string; readonly claim: number },
  problem: string,
  isOver: boolean,
): Promise<boolean> =>
  tokenClaims.end(db, row, Prisma.raw(isOver ? 'NULL' : 'renew_at'), Prisma.sql`renew_problem = ${problem}`);
