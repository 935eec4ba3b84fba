import { invalidAll } from '@keystead/jsonapi';
import type { Issue } from '@keystead/refusal';
import type { Edition } from '../../../kernel/installation/edition';
import { type OrganizationSettings, organizationAttributes } from './attributes';
import type { OrganizationChanges } from './schema';

/** The requested pool; undefined if the request omits it. An empty id means no pool. */
function poolOf(changes: OrganizationChanges): string | null | undefined {
  const requested = changes.defaultAgentPoolId !== undefined ? changes.defaultAgentPoolId : changes.defaultAgentPool;
  return requested === '' ? null : requested;
}

function statusIssues(after: OrganizationSettings, changes: OrganizationChanges, edition: Edition): Issue[] {
  const passingField = 'sendPassingStatusesForUntriggeredSpeculativePlans';
  if (edition === 'self-hosted' && changes[passingField] === true) {
    return [{ path: [passingField], message: 'is always false in this edition' }];
  }
  if (!after.sendPassingStatuses || !after.aggregatedCommitStatusEnabled) return [];
  const named = changes.aggregatedCommitStatusEnabled === true ? 'aggregatedCommitStatusEnabled' : passingField;
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
 * The settings after a change, checked against all rules between them. Throws `invalid` with one issue for each failing
 * attribute. Spec: Organizations
 */
export function settingsAfter(
  before: OrganizationSettings,
  changes: OrganizationChanges,
  edition: Edition,
): OrganizationSettings {
  const pool = poolOf(changes);
  const sendsPassing = changes.sendPassingStatusesForUntriggeredSpeculativePlans;
  const after: OrganizationSettings = { ...before, ...organizationAttributes.plain(changes) };
  after.sendPassingStatuses = edition === 'self-hosted' ? false : (sendsPassing ?? before.sendPassingStatuses);
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
