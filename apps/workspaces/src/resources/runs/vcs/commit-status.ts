import type { CommitState } from '../../connections/git-hosts/git-host';

/** The status of a commit's configuration, and of its run. */
export interface Progress {
  readonly configurationStatus: string;
  readonly configurationError: string | null;
  readonly autoQueueRuns: boolean;
  readonly runStatus: string | null;
  readonly statusReason: string | null;
  readonly hasChanges: boolean | null;
  readonly additions: number | null;
  readonly changes: number | null;
  readonly destructions: number | null;
  /** The number of policies that were evaluated for the plan, and the number that failed; null if there were none. */
  readonly policies: { readonly judged: number; readonly against: number } | null;
}

/** The status of a commit. */
export interface Standing {
  readonly state: CommitState;
  readonly description: string;
}

const longest = 140;

/** A workspace by its names. */
interface NamedWorkspace {
  readonly organization: string;
  readonly workspace: string;
}

/** Whether the organization reports a single status for all its workspaces. */
interface Aggregation {
  readonly isAggregated: boolean;
}

/** The key of a commit's status: the organization if all of its workspaces share one, otherwise the workspace. */
export const contextOf = ({ organization, workspace, isAggregated }: NamedWorkspace & Aggregation): string =>
  isAggregated ? `keystead/${organization}` : `keystead/${organization}/${workspace}`;

/** The page of a workspace. */
export const workspacePage = (publicUrl: string, { organization, workspace }: NamedWorkspace): string =>
  `${publicUrl}/ui/organizations/${organization}/workspaces/${workspace}`;

const waiting: ReadonlyMap<string, string> = new Map(
  Object.entries({
    pending: 'Waiting for its turn',
    plan_queued: 'Waiting for a worker',
    planning: 'Planning',
    confirmed: 'Confirmed; waiting to be applied',
    apply_queued: 'Waiting for a worker to apply',
    applying: 'Applying',
  }),
);

function planned({ hasChanges, additions, changes, destructions, policies }: Progress): string {
  const plan =
    hasChanges === false
      ? 'No changes'
      : `${additions ?? 0} to add, ${changes ?? 0} to change, ${destructions ?? 0} to destroy`;
  if (!policies) return plan;
  const { judged, against } = policies;
  return `${plan}; ${against === 0 ? `${judged} ${judged === 1 ? 'policy' : 'policies'} passed` : `${against} of ${judged} policies did not pass`}`;
}

/** The status to report for a commit; undefined if there is nothing to report. */
export function commitStatusOf(progress: Progress): Standing | undefined {
  const { configurationStatus, configurationError, runStatus } = progress;
  const statusOf = (state: CommitState, text: string) => ({ state, description: text.slice(0, longest) });
  if (configurationStatus === 'errored')
    return statusOf('error', configurationError ?? 'The commit could not be fetched');
  if (runStatus === null) return progress.autoQueueRuns ? statusOf('pending', 'Fetching the commit') : undefined;
  const wait = waiting.get(runStatus);
  if (wait) return statusOf('pending', wait);
  if (runStatus === 'planned_and_finished') return statusOf('success', planned(progress));
  if (runStatus === 'applied') return statusOf('success', `Applied: ${planned(progress)}`);
  if (runStatus === 'errored') return statusOf('failure', progress.statusReason ?? 'The run failed');
  if (runStatus === 'canceled') return statusOf('error', 'The run was canceled');
  if (runStatus === 'discarded') return statusOf('error', 'The run was discarded');
  const waitsFor = runStatus.endsWith('_awaiting_decision') ? 'overridden' : 'confirmed';
  return statusOf('pending', `Planned: ${planned(progress)}. Waiting to be ${waitsFor}`);
}

/**
 * The combined status of several workspaces for one commit, with their names. If one of them has failed, the combined
 * status is a failure.
 */
export function together(
  all: readonly (Standing & { readonly workspace: string; readonly hasChanges: boolean | null })[],
): Standing {
  const [only] = all;
  if (all.length === 1) return { state: only!.state, description: only!.description };
  const statusOf = (state: CommitState, text: string) => ({ state, description: text.slice(0, longest) });
  const bad = all.filter(({ state }) => state === 'failure' || state === 'error');
  const names = (some: readonly { readonly workspace: string }[]) => some.map(({ workspace }) => workspace).join(', ');
  if (bad.length > 0) {
    const state = bad.some((one) => one.state === 'failure') ? 'failure' : 'error';
    return statusOf(state, `${bad.length} of ${all.length} workspaces failed: ${names(bad)}`);
  }
  const open = all.filter(({ state }) => state === 'pending');
  if (open.length > 0) return statusOf('pending', `${all.length - open.length} of ${all.length} workspaces done`);
  const changed = all.filter(({ hasChanges }) => hasChanges !== false);
  if (changed.length === 0) return statusOf('success', `No changes in ${all.length} workspaces`);
  return statusOf('success', `${changed.length} of ${all.length} workspaces with changes: ${names(changed)}`);
}
