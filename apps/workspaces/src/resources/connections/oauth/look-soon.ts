import type { Database } from '../../../kernel/database/database';

/** Has it read where an app is installed, after those that wait already. */
export async function lookSoon(db: Database, oauthClientId: string): Promise<void> {
  await db.prisma.$executeRaw`
    UPDATE github_app SET look_at = least(look_at, now()), attempts = 0 WHERE oauth_client_id = ${oauthClientId}`;
}
