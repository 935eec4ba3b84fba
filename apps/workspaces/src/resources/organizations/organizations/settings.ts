import { invalidAll } from '@keystead/jsonapi';
import type { Issue } from '@keystead/refusal';
import type { Edition } from '../../../kernel/installation/edition';
import { type OrganizationSettings, organizationAttributes } from './attributes';
import type { OrganizationChanges } from './schema';

/** The requested pool: undefined if the request omits it. An empty id means none. */
function poolOf(changes: OrganizationChanges): string | null | undefined {
  const requested = changes.defaultAgentPoolId !== undefined ? changes.defaultAgentPoolId : changes.defaultAgentPool;
  return requested === '' ? null : requested;
}

function statusIssues(after: OrganizationSettings, changes: OrganizationChanges, edition: Edition): Issue[] {
  const passing = 'sendPassingStatusesForUntriggeredSpeculativePlans';
  if (edition === 'self-hosted' && changes[passing] === true) {
    return [{ path: [passing], message: 'is always false in this edition' }];
  }
  if (!after.sendPassingStatuses || !after.aggregatedCommitStatusEnabled) return [];
  const named = changes.aggregatedCommitStatusEnabled === true ? 'aggregatedCommitStatusEnabled' : passing;
  return [
    {
      path: [named],
      message: 'cannot be true: send-passing-statuses and aggregated-commit-status cannot both be true',
    },
  ];
}

function poolIssues(after: OrganizationSettings, pool: string | null | undefined, named: string): Issue[] {
  if (after.defaultExecutionMode !== 'agent') {
    const message = "Default agent pool must not be specified unless using 'agent' execution mode";
    return pool === null || pool === undefined ? [] : [{ path: [named], message }];
  }
  const message = "Default agent pool must be specified when using 'agent' execution mode";
  return after.defaultAgentPoolId === null ? [{ path: [named], message }] : [];
}

/**
 * The settings after a change, with every rule between them. Throws `invalid`, one issue per failing attribute.
 * Spec: Organizations
 */
export function settingsAfter(
  before: OrganizationSettings,
  changes: OrganizationChanges,
  edition: Edition,
): OrganizationSettings {
  const pool = poolOf(changes);
  const passing = changes.sendPassingStatusesForUntriggeredSpeculativePlans;
  const after: OrganizationSettings = { ...before, ...organizationAttributes.plain(changes) };
  after.sendPassingStatuses = edition === 'self-hosted' ? false : (passing ?? before.sendPassingStatuses);
  if (pool !== undefined) {
    after.defaultAgentPoolId = pool;
  }
  const named = changes.defaultAgentPoolId !== undefined ? 'defaultAgentPoolId' : 'defaultAgentPool';
  const issues = [...statusIssues(after, changes, edition), ...poolIssues(after, pool, named)];
  if (issues.length > 0) throw invalidAll(issues);
  if (after.defaultExecutionMode !== 'agent') {
    after.defaultAgentPoolId = null;
  }
  return after;
}
