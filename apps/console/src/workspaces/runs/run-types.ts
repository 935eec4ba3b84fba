import type { Permissions } from '../data/documents';

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
}

/** A run, as the list and its page look at it. */
export interface RunAttributes {
  readonly status: string;
  readonly 'status-reason': string | null;
  readonly 'status-timestamps': Readonly<Record<string, string>>;
  readonly message: string | null;
  readonly source: string;
  readonly 'trigger-reason': string;
  readonly 'created-at': string;
  readonly 'is-destroy': boolean;
  readonly 'plan-only': boolean;
  readonly 'save-plan': boolean;
  readonly 'refresh-only': boolean;
  readonly 'auto-apply': boolean;
  readonly 'infra-version': string | null;
  readonly 'position-in-queue': number;
  readonly 'target-addrs': readonly string[] | null;
  readonly 'replace-addrs': readonly string[] | null;
  readonly 'force-cancel-available-at'?: string;
  readonly 'secrets-logins': readonly {
    readonly phase: string;
    readonly accessor: string;
    readonly namespace: string;
  }[];
  readonly actions: {
    readonly 'is-cancelable': boolean;
    readonly 'is-confirmable': boolean;
    readonly 'is-discardable': boolean;
    readonly 'is-force-cancelable': boolean;
  };
  readonly permissions: Permissions;
}

/** What the stream of a run tells of it. */
export interface LiveRun extends RunAttributes {
  readonly id: string;
  readonly phases: readonly Phase[];
  readonly events: number;
  readonly comments: number;
}

/** What kind of run it is, in a few words. */
export function kindOf(run: RunAttributes): string {
  if (run['is-destroy']) return run['plan-only'] ? 'destroy plan only' : 'destroy';
  if (run['refresh-only']) return 'refresh only';
  if (run['plan-only']) return 'plan only';
  if (run['save-plan']) return 'saved plan';
  return 'plan and apply';
}

/** Who or what made it. */
export const sources: Readonly<Record<string, string>> = {
  'tfe-api': 'API',
  'terraform+cloud': 'command line',
  'tfe-configuration-version': 'upload',
  'tfe-run-trigger': 'another workspace',
  'tfe-ui': 'console',
};
