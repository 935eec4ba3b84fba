import type { Database } from '../../../kernel/database/database';

/** Schedules an app to have its installations read soon, after the apps that already wait. */
export async function lookSoon(db: Database, oauthClientId: string): Promise<void> {
  await db.prisma.$executeRaw`
    UPDATE github_app SET look_at = least(look_at, now()), attempts = 0 WHERE oauth_client_id = ${oauthClientId}`;
}
