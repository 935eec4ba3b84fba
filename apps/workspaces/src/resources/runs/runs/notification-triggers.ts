import type { RunStatus } from './statuses';

/** Events of runs that trigger notifications. */
export const runTriggers = [
  'run:created',
  'run:planning',
  'run:needs_attention',
  'run:applying',
  'run:completed',
  'run:errored',
] as const;
export type RunTriggerName = (typeof runTriggers)[number];

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

const triggers: { readonly [S in RunStatus]?: readonly [RunTriggerName, string] } = {
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

/** The trigger of a run status; undefined if there is none. */
export const triggerOf = (status: RunStatus): RunTriggerName | undefined => triggers[status]?.[0];

/** The headline of a notification about a run. */
export const headlineOf = (status: string): string => triggers[status as RunStatus]?.[1] ?? 'Run Changed';

/** The headline of a notification about a workspace; undefined for triggers of runs. */
export const workspaceHeadlineOf = (trigger: string): string | undefined =>
  (({ ...workspaceTriggers, ...teamTriggers }) as Readonly<Record<string, string>>)[trigger];
