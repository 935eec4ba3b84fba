import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { triggerOf } from './notification-triggers';
import type { RunStatus } from './statuses';

/**
 * Notes, together with what happened to a run, whom to tell of it: one delivery for each configuration of its workspace
 * or project that wants to know. A run that goes on by itself does not need attention.
 */
export async function noteStatus(
  tx: Database,
  runId: string,
  status: RunStatus,
  actor?: Pick<Actor, 'type' | 'id'>,
): Promise<void> {
  const trigger = triggerOf(status);
  if (trigger === undefined) return;
  await tx.prisma.$executeRaw`
    INSERT INTO notification_delivery (id, configuration_id, run_id, trigger, run_status, actor_type, actor_id)
    SELECT 'nd-' || gen_random_uuid(), c.id, r.id, ${trigger}, ${status}, ${actor?.type ?? null}, ${actor?.id ?? null}
      FROM run r JOIN workspace w ON w.id = r.workspace_id
      JOIN notification_configuration c ON c.workspace_id = w.id OR c.project_id = w.project_id
     WHERE r.id = ${runId} AND c.enabled AND ${trigger} = ANY(c.triggers)
       AND NOT (${trigger} = 'run:needs_attention' AND r.auto_apply)`;
}
