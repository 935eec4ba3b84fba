import type { CommitState } from '../../connections/git-hosts/git-host';

/** How a configuration of a commit, and the run that follows, fare. */
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
}

/** What is told beside a commit. */
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

/** What tells apart the statuses that a commit has of several workspaces. */
export const contextOf = ({ organization, workspace }: NamedWorkspace): string =>
  `keystead/${organization}/${workspace}`;

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

function planned({ hasChanges, additions, changes, destructions }: Progress): string {
  if (hasChanges === false) return 'No changes';
  return `${additions ?? 0} to add, ${changes ?? 0} to change, ${destructions ?? 0} to destroy`;
}

/** What to tell of a commit; undefined where there is nothing to say. */
export function standingOf(progress: Progress): Standing | undefined {
  const { configurationStatus, configurationError, runStatus } = progress;
  const told = (state: CommitState, text: string) => ({ state, description: text.slice(0, longest) });
  if (configurationStatus === 'errored') return told('error', configurationError ?? 'The commit could not be fetched');
  if (runStatus === null) {
    return progress.autoQueueRuns ? told('pending', 'Fetching the commit') : undefined;
  }
  const wait = waiting.get(runStatus);
  if (wait) return told('pending', wait);
  if (runStatus === 'planned_and_finished') return told('success', planned(progress));
  if (runStatus === 'applied') return told('success', `Applied: ${planned(progress)}`);
  if (runStatus === 'errored') return told('failure', progress.statusReason ?? 'The run failed');
  if (runStatus === 'canceled') return told('error', 'The run was canceled');
  if (runStatus === 'discarded') return told('error', 'The run was discarded');
  return told('pending', `Planned: ${planned(progress)}. Waiting to be confirmed`);
}
