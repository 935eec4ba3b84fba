/** Statuses of runs that are over: lists of workspaces tell them apart from those that are not, which are few. */
export const over = ['applied', 'planned_and_finished', 'errored', 'canceled', 'discarded'] as const;
