import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';

/**
 * Sessions that were started through a provider: all of them, those of one user of the provider, or those of one
 * session at the provider.
 */
export interface FromProvider {
  readonly providerId: string;
  readonly subject?: string;
  /** The provider's id of its session. */
  readonly providerSession?: string;
}

/** Ends console sessions with the tokens that were created for them. Returns the number of sessions. */
export async function endSessionsOf(db: Database, from: FromProvider): Promise<number> {
  const { providerId, subject, providerSession } = from;
  return db.prisma.$executeRaw`
    WITH over AS (
      DELETE FROM console_session c USING external_identity i
       WHERE i.id = c.identity_id AND i.provider_id = ${providerId}
         AND ${subject === undefined ? Prisma.sql`TRUE` : Prisma.sql`i.subject = ${subject}`}
         AND ${providerSession === undefined ? Prisma.sql`TRUE` : Prisma.sql`c.provider_session = ${providerSession}`}
      RETURNING c.token_id, c.owns_token)
    DELETE FROM token WHERE id IN (SELECT token_id FROM over WHERE owns_token)`;
}
