import type { Resource } from '../../api/workspaces';

export interface Phase {
  readonly id: string;
  readonly kind: 'plan' | 'apply';
  readonly status: string;
  readonly 'status-timestamps': Readonly<Record<string, string>>;
  readonly 'has-changes': boolean;
  readonly 'resource-additions': number | null;
  readonly 'resource-changes': number | null;
  readonly 'resource-destructions': number | null;
  readonly 'resource-imports': number | null;
  readonly 'error-message': string | null;
  readonly 'log-bytes': number;
  /** When the results and the log of the run were hidden. */
  readonly 'data-hidden-at': string | null;
}

/** A run, as the service shows it. */
export type RunAttributes = Resource<'RunsResource'>['attributes'];

/** A run in the event stream. */
export interface LiveRun extends RunAttributes {
  readonly id: string;
  readonly phases: readonly Phase[];
  readonly events: number;
  readonly comments: number;
}

/** The kind of a run, in a few words. */
export function kindOf(run: RunAttributes): string {
  if (run['is-destroy']) return run['plan-only'] ? 'destroy plan only' : 'destroy';
  if (run['refresh-only']) return 'refresh only';
  if (run['plan-only']) return 'plan only';
  if (run['save-plan']) return 'saved plan';
  return 'plan and apply';
}

/** The user or event that created it. */
export const sources: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'tfe-api': 'API',
    'terraform+cloud': 'command line',
    terraform: 'command line',
    'tfe-configuration-version': 'upload',
    'tfe-run-trigger': 'another workspace',
    'tfe-ui': 'console',
  }),
);

/** The service's default messages. */
const generatedMessage = /^(Queued manually|Triggered) (via|from) /;

/** The title of a run: its message, or its source. */
export function titleOf({ message, source }: Pick<RunAttributes, 'message' | 'source'>, id: string): string {
  if (message === null || message === '') return id;
  return generatedMessage.test(message) ? `Run from the ${sources.get(source) ?? source}` : message;
}

interface Counted {
  readonly 'resource-additions'?: number | null;
  readonly 'resource-changes'?: number | null;
  readonly 'resource-destructions'?: number | null;
}

/** How many resources a plan adds, changes and destroys, in a short form for lists. */
export function ChangeCounts({ plan }: { readonly plan: Counted | undefined }) {
  const { 'resource-additions': adds, 'resource-changes': changes, 'resource-destructions': destroys } = plan ?? {};
  if (adds === undefined || adds === null) return <span className="second">–</span>;
  return (
    <span className="row change-counts">
      <span className="added">+{adds}</span>
      <span className="changed">~{changes ?? 0}</span>
      <span className="removed">−{destroys ?? 0}</span>
    </span>
  );
}
