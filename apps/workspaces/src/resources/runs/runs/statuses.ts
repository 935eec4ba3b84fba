import { taskStages } from '../../workspaces/run-tasks/run-task';
import { finishedStatuses } from '../../workspaces/workspaces/workspace';

/** The source of scheduled destroy runs. */
export const autoDestroySource = 'tfe-infrastructure-lifecycle';

/** The source of runs that follow runs of other workspaces. */
export const runTriggerSource = 'tfe-run-trigger';

/** Statuses of runs that have not ended. Statuses of stages that are not built never occur. */
export const runStatuses = [
  'pending',
  'pre_plan_running',
  'pre_plan_awaiting_decision',
  'pre_plan_completed',
  'plan_queued',
  'planning',
  'planned',
  'cost_estimated',
  'policy_checked',
  'policy_override',
  'post_plan_running',
  'post_plan_awaiting_decision',
  'post_plan_completed',
  'confirmed',
  'pre_apply_running',
  'pre_apply_awaiting_decision',
  'pre_apply_completed',
  'apply_queued',
  'applying',
  ...finishedStatuses,
  'planned_and_saved',
] as const;
export type RunStatus = (typeof runStatuses)[number];

/** The status in which a run ends. */
export type FinalStatus = (typeof finishedStatuses)[number];

/** Statuses of runs that are over. */
export const finalStatuses: readonly string[] = finishedStatuses;

/** Statuses of plans and applies. */
export const phaseStatuses = [
  'pending',
  'queued',
  'running',
  'finished',
  'errored',
  'canceled',
  'unreachable',
] as const;
export type PhaseStatus = (typeof phaseStatuses)[number];

const confirmable = new Set([
  'planned',
  'cost_estimated',
  'policy_checked',
  'post_plan_completed',
  'planned_and_saved',
]);
/** Statuses of runs that wait for their tasks, or for a decision about failed tasks. */
const taskStatuses = taskStages
  .filter((stage) => stage !== 'post_apply')
  .flatMap((stage) => [`${stage}_running`, `${stage}_awaiting_decision`]);
const decidable = taskStatuses.filter((status) => status.endsWith('_awaiting_decision'));
const cancelable = new Set([
  ...['pending', 'plan_queued', 'planning', 'confirmed', 'apply_queued', 'applying'],
  ...taskStatuses,
]);

/** Statuses of saved plans that are being applied. In these statuses, the run holds the workspace. */
export const applyingStatuses: readonly string[] = [
  ...['confirmed', 'pre_apply_running', 'pre_apply_awaiting_decision', 'pre_apply_completed'],
  ...['apply_queued', 'applying'],
];

/** Statuses of runs that wait for confirmation. */
export const confirmableStatuses: readonly string[] = [...confirmable];

/** Statuses from which a run can be discarded. */
export const discardableStatuses: readonly string[] = ['pending', ...confirmable, 'policy_override', ...decidable];

/** Statuses of runs that wait for a worker, or have one. */
export const queuedStatuses: readonly string[] = [
  'pending',
  'plan_queued',
  'planning',
  'confirmed',
  'apply_queued',
  'applying',
];

/** Statuses of runs that wait until their workspace or a worker is free. */
export const waitingStatuses: readonly string[] = ['pending', 'plan_queued', 'confirmed', 'apply_queued'];

interface RunFacts {
  readonly status: string;
  readonly canceledAt: Date | null;
  readonly forceCancelAt: Date | null;
}

/** The actions possible for a run now, permissions aside. `now` is the database's time, like the times of the run. */
export function actionsOf(run: RunFacts, now: Date) {
  const isOver = finalStatuses.includes(run.status);
  return {
    'is-cancelable': cancelable.has(run.status) && run.canceledAt === null,
    'is-confirmable': confirmable.has(run.status),
    'is-discardable': discardableStatuses.includes(run.status),
    'is-force-cancelable': !isOver && run.canceledAt !== null && run.forceCancelAt !== null && run.forceCancelAt <= now,
  };
}

/** The statuses of a group in filters; undefined for an unknown group. */
export function statusesOfGroup(group: string): { in?: readonly string[]; notIn?: readonly string[] } | undefined {
  switch (group) {
    case 'non_final':
      return { notIn: finalStatuses };
    case 'final':
      return { in: finalStatuses };
    case 'discardable':
      return { in: discardableStatuses };
    default:
      return undefined;
  }
}
