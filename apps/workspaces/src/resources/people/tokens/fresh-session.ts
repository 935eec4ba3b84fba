import { Refusal } from '@keystead/refusal';
import type { Principal } from '../../../kernel/access/principal';
import type { Database } from '../../../kernel/database/database';

/**
 * Refuses to issue credentials that outlive a session if one of the user's organizations considers the session expired,
 * because an API token would give access to that organization again. Throws `denied`.
 */
export async function requireFreshSession(db: Database, { id, session }: Principal, now: number): Promise<void> {
  if (session === undefined) return;
  const [limits] = await db.prisma.$queryRaw<{ timeout: number | null; remember: number | null }[]>`
    SELECT min(o.session_timeout) AS timeout, min(o.session_remember) AS remember
      FROM organization o JOIN membership m ON m.organization_id = o.id
     WHERE m.user_id = ${id} AND m.status = 'active' AND o.removed_at IS NULL`;
  const restedMs = Math.max(session.longestRestMs, now - session.idleSinceMs);
  const isOver =
    restedMs > (limits?.timeout ?? Number.POSITIVE_INFINITY) * 60_000 ||
    now - session.startedAtMs > (limits?.remember ?? Number.POSITIVE_INFINITY) * 60_000;
  if (isOver) {
    throw new Refusal(
      'denied',
      'the session has been idle for longer than one of your organizations allows: sign in again',
    );
  }
}
