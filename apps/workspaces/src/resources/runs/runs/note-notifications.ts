import { Prisma } from '../../../generated/prisma/client';
import { maskOf } from '../../../kernel/access/capabilities';
import { organizationRights, rightsOf, withImplied } from '../../../kernel/access/organization-rights';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { type TeamTriggerName, triggerOf, type WorkspaceTriggerName } from './notification-triggers';
import { autoDestroySource, finalStatuses, type RunStatus } from './statuses';

/**
 * SQL that queues notifications together with a change of a run: one delivery for each configuration of its workspace
 * or project with that trigger. A run that applies without confirmation does not need attention. The end of an
 * auto-destroy run also has a separate trigger. `runs`: the name of a relation with only that run. Undefined: the
 * status has no trigger.
 */
export function notesOf(
  runs: Prisma.Sql,
  status: RunStatus,
  actor: Pick<Actor, 'type' | 'id'> | undefined,
): Prisma.Sql | undefined {
  const trigger = triggerOf(status);
  if (trigger === undefined) return undefined;
  const triggers: string[] = [trigger];
  const results: WorkspaceTriggerName = 'workspace:auto_destroy_run_results';
  if (finalStatuses.includes(status)) triggers.push(results);
  return Prisma.sql`
    INSERT INTO notification_delivery (id, configuration_id, run_id, trigger, run_status, actor_type, actor_id)
    SELECT 'nd-' || gen_random_uuid(), c.id, r.id, t.name, ${status}, ${actor?.type ?? null}, ${actor?.id ?? null}
      FROM ${runs} r JOIN workspace w ON w.id = r.workspace_id
      JOIN notification_configuration c ON c.workspace_id = w.id OR c.project_id = w.project_id
      JOIN unnest(${triggers}::text[]) t(name) ON t.name = ANY(c.triggers)
     WHERE c.enabled
       AND NOT (t.name = 'run:needs_attention' AND r.auto_apply AND ${!status.endsWith('_awaiting_decision')})
       AND (t.name <> ${results} OR r.source = ${autoDestroySource})`;
}

/** The same for events of a workspace that do not belong to a run. */
export async function tellOfWorkspace(
  tx: Database,
  workspaceId: string,
  trigger: WorkspaceTriggerName,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  await tx.prisma.$executeRaw`
    INSERT INTO notification_delivery (id, configuration_id, workspace_id, trigger, details)
    SELECT 'nd-' || gen_random_uuid(), c.id, w.id, ${trigger}, ${JSON.stringify(details)}::jsonb
      FROM workspace w JOIN notification_configuration c ON c.workspace_id = w.id OR c.project_id = w.project_id
     WHERE w.id = ${workspaceId} AND c.enabled AND ${trigger} = ANY(c.triggers)`;
}

/** Rights in a whole organization that include reading its workspaces. */
const readingRights = rightsOf(
  ...organizationRights.filter((right) => (withImplied(rightsOf(right)) & rightsOf('read-workspaces')) !== 0),
);
const reading = maskOf('runs:read');

/** SQL: the team `t` may read the workspace `w`. */
const teamReads = Prisma.sql`t.organization_id = w.organization_id AND (t.is_owners OR t.rights & ${readingRights} <> 0
  OR EXISTS (SELECT FROM team_workspace g WHERE g.team_id = t.id AND g.workspace_id = w.id AND g.capabilities & ${reading} <> 0)
  OR EXISTS (SELECT FROM team_project g WHERE g.team_id = t.id AND g.project_id = w.project_id AND g.capabilities & ${reading} <> 0))`;

/** Whether a team may still get messages about a workspace, because a message may wait for hours. */
export async function mayTell({ prisma }: Database, teamId: string, workspaceId: string): Promise<boolean> {
  const found = await prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM team t JOIN workspace w ON ${teamReads} WHERE t.id = ${teamId} AND w.id = ${workspaceId}`;
  return found.length > 0;
}

/** Notifies the teams that may read a workspace of an event. */
export async function tellTeamsOf(
  tx: Database,
  workspaceId: string,
  trigger: TeamTriggerName,
  actor: Pick<Actor, 'type' | 'id'>,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  await tx.prisma.$executeRaw`
    INSERT INTO notification_delivery (id, configuration_id, workspace_id, trigger, details, actor_type, actor_id)
    SELECT 'nd-' || gen_random_uuid(), c.id, w.id, ${trigger}, ${JSON.stringify(details)}::jsonb, ${actor.type}, ${actor.id}
      FROM workspace w JOIN team t ON ${teamReads}
      JOIN notification_configuration c ON c.team_id = t.id
     WHERE w.id = ${workspaceId} AND c.enabled AND ${trigger} = ANY(c.triggers)`;
}
