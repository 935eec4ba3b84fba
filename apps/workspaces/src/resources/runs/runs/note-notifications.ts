import { Prisma } from '../../../generated/prisma/client';
import { maskOf, organizationRights, rightsOf, withImplied } from '../../../kernel/access/capabilities';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { autoDestroySource, finalStatuses, type RunStatus } from './statuses';

/** Events of runs that trigger notifications. */
export const runTriggers = [
  'run:created',
  'run:planning',
  'run:needs_attention',
  'run:applying',
  'run:completed',
  'run:errored',
] as const;
type RunTriggerName = (typeof runTriggers)[number];

/** Events of workspaces that trigger notifications, each with its headline. */
export const workspaceTriggers = {
  'workspace:auto_destroy_reminder': 'Auto Destroy Reminder',
  'workspace:auto_destroy_run_results': 'Auto Destroy Results',
  'assessment:drifted': 'Drift Detected',
  'assessment:check_failure': 'Check Failed',
  'assessment:failed': 'Health Assessment Failed',
} as const;
export type WorkspaceTriggerName = keyof typeof workspaceTriggers;

/** Events of workspaces for the teams that may read them, each with its headline. */
export const teamTriggers = { 'change_request:created': 'Change Request Created' } as const;
export type TeamTriggerName = keyof typeof teamTriggers;

/** The trigger of a run status, and its headline. */
const triggerOf: { readonly [S in RunStatus]?: readonly [RunTriggerName, string] } = {
  pending: ['run:created', 'Run Created'],
  planning: ['run:planning', 'Run Planning'],
  planned: ['run:needs_attention', 'Run Needs Attention'],
  planned_and_saved: ['run:needs_attention', 'Run Needs Attention'],
  pre_plan_awaiting_decision: ['run:needs_attention', 'Run Needs Attention'],
  post_plan_awaiting_decision: ['run:needs_attention', 'Run Needs Attention'],
  pre_apply_awaiting_decision: ['run:needs_attention', 'Run Needs Attention'],
  applying: ['run:applying', 'Run Applying'],
  applied: ['run:completed', 'Run Applied'],
  planned_and_finished: ['run:completed', 'Run Planned and Finished'],
  discarded: ['run:errored', 'Run Discarded'],
  canceled: ['run:errored', 'Run Canceled'],
  errored: ['run:errored', 'Run Errored'],
};

/** The headline of a notification about a run. */
export const headlineOf = (status: string): string => triggerOf[status as RunStatus]?.[1] ?? 'Run Changed';

/** The headline of a notification about a workspace; undefined for triggers of runs. */
export const workspaceHeadlineOf = (trigger: string): string | undefined =>
  (({ ...workspaceTriggers, ...teamTriggers }) as Readonly<Record<string, string>>)[trigger];

/**
 * SQL that queues notifications together with a change of a run: one delivery for each configuration of its workspace
 * or project with that trigger. There is no "needs attention" notification for a run that applies without confirmation.
 * The end of an auto-destroy run also has a separate trigger. `runs` is the name of a relation with only that run.
 * Undefined if the status has no trigger.
 */
export function notesOf(
  runs: Prisma.Sql,
  status: RunStatus,
  actor: Pick<Actor, 'type' | 'id'> | undefined,
): Prisma.Sql | undefined {
  const trigger = triggerOf[status]?.[0];
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

/** Queues notifications of an event of a workspace that does not belong to a run. */
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

/** SQL: whether the team `t` may read the workspace `w`. */
const teamReads = Prisma.sql`t.organization_id = w.organization_id AND (t.is_owners OR t.rights & ${readingRights} <> 0
  OR EXISTS (SELECT FROM team_workspace g WHERE g.team_id = t.id AND g.workspace_id = w.id AND g.capabilities & ${reading} <> 0)
  OR EXISTS (SELECT FROM team_project g WHERE g.team_id = t.id AND g.project_id = w.project_id AND g.capabilities & ${reading} <> 0))`;

/**
 * Whether a team may still get messages about a workspace. This is checked again, because a message may wait for hours.
 */
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
