import { explicitOfLeases } from './explicit-leases';
import { explicitOfPki } from './explicit-pki';
import { proseOfSecrets } from './explicit-prose-secrets';
import { proseOfWorkspaces } from './explicit-prose-workspaces';
import { explicitOfSecrets } from './explicit-secrets';
import { explicitOfTransit } from './explicit-transit';
import type { Mutant } from './mutant';

const organization = '/organizations/:organization_name';
const whole = (of: string, how: string): Mutant => ({ of, part: '', how });
const ignored = (of: string, part: string): Mutant => ({ of, part, how: 'ignored' });

const autoDestroy = 'apps/workspaces/src/resources/runs/runs/auto-destroy.ts';
const destroying = '{ message, isDestroy: true, autoApply: true }';
const workspaceMessages = 'apps/workspaces/src/resources/runs/notifications/messages.ts';
const workspaceSettings = 'apps/workspaces/src/resources/workspaces/workspaces/settings.ts';
const configurationVersions = 'apps/workspaces/src/resources/runs/configuration-versions/serializer.ts';
const errors = 'packages/jsonapi/src/errors.ts';
const paging = 'packages/jsonapi/src/paging.ts';
/** A name of a project of any length. */
const ignoredLength: Mutant = { of: `body of POST ${organization}/projects`, part: 'name', how: 'unchecked' };

const entitlementLimits = [
  'run-task-limit',
  'run-task-workspace-limit',
  'run-task-mandatory-enforcement-limit',
  'policy-set-limit',
  'policy-limit',
  'policy-mandatory-enforcement-limit',
  'versioned-policy-set-limit',
  'user-limit',
];

/** Mutants of rows that name no declaration: errors, limits, rights, changes. */
export const explicit: Readonly<Record<string, readonly Mutant[]>> = {
  ...explicitOfSecrets,
  ...explicitOfTransit,
  ...explicitOfPki,
  ...explicitOfLeases,
  ...proseOfSecrets,
  ...proseOfWorkspaces,
  'W6.23': [{ of: workspaceSettings, part: "repo.vcshostAppInstallationId === ''", how: 'true' }],
  'W8.1': [whole(`GET ${organization}`, 'another status')],
  'W8.2': [whole('POST /organizations', 'another status')],
  'W8.3': [whole(`DELETE ${organization}`, 'another status')],
  'W8.4': [whole(`GET ${organization}`, 'for everyone')],
  'W8.5': [{ of: errors, part: 'ANSWERS[kind][0]', how: "kind === 'invalid' ? 400 : ANSWERS[kind][0]" }],
  'W9.1': [{ of: paging, part: 'size ?? DEFAULT_SIZE', how: 'size ?? 21' }],
  'W9.2': [{ of: paging, part: "size === undefined && paging === 'optional'", how: 'false' }],
  'W9.3': [ignoredLength],
  'W9.4': [
    { of: 'body of POST /organizations', part: 'session-timeout', how: 'left out means 77' },
    { of: 'body of POST /organizations', part: 'session-remember', how: 'left out means 77' },
  ],
  'W9.5': entitlementLimits.map((part) => ({ of: 'attributes of entitlement-sets', part, how: 'missing' })),
  'WA.1': [whole('GET /organizations', 'without a token')],
  // An organization token cannot create another organization even if the endpoint allows it, because the owner must be
  // a person.
  'WA.2': [whole(`GET ${organization}/ssh-keys`, 'for every token'), whole(`PATCH ${organization}`, 'for everyone')],
  'WA.3': [whole(`GET ${organization}/ssh-keys`, 'for everyone')],
  'WA.4': [whole(`PATCH ${organization}`, 'for everyone')],
  'WV.1': [ignoredLength],
  'WV.2': [ignored(`body of POST ${organization}/teams`, 'organization-access')],
  'WV.3': [
    ignored(`query of GET ${organization}/projects`, 'sort'),
    { of: 'attributes of projects', part: 'description', how: 'null' },
    { of: 'attributes of projects', part: 'project-count', how: 'other' },
    { of: 'attributes of projects', part: 'workspace-count', how: 'other' },
  ],
  'WV.4': [
    { of: 'attributes of entitlement-sets', part: 'private-vcs', how: 'missing' },
    ignored(`query of GET ${organization}/varsets`, 'q'),
    ignored('body of POST /runs', 'debugging-mode'),
  ],
  'WV.5': [
    ignored(`body of POST ${organization}/oauth-clients`, 'organization-scoped'),
    whole('POST /oauth-clients/:oauth_client_id/relationships/projects', 'missing'),
    whole('DELETE /oauth-clients/:oauth_client_id/relationships/projects', 'missing'),
    { of: 'attributes of oauth-clients', part: 'organization-scoped', how: 'true' },
    { of: 'relationships of oauth-clients', part: 'projects', how: 'missing' },
  ],
  'WV.7': [
    whole(`POST ${organization}/relationships/data-retention-policy`, 'missing'),
    whole(`GET ${organization}/relationships/data-retention-policy`, 'for every edition'),
  ],
  'WV.8': [
    ignored('body of POST /organizations', 'aggregated-commit-status-enabled'),
    { of: 'attributes of organizations', part: 'aggregated-commit-status-enabled', how: 'other' },
  ],
  'WV.10': [
    ignored(`body of POST ${organization}/varsets`, 'priority'),
    ignored('body of PATCH /workspaces/:workspace_id', 'auto-destroy-activity-duration'),
    ignored('body of PATCH /workspaces/:workspace_id', 'auto-apply-run-trigger'),
  ],
  'WV.13': [
    ignored('body of PATCH /workspaces/:workspace_id', 'auto-destroy-at'),
    { of: 'attributes of workspaces', part: 'auto-destroy-at', how: 'null' },
    { of: autoDestroy, part: destroying, how: destroying.replace('isDestroy: true', 'isDestroy: false') },
    { of: autoDestroy, part: destroying, how: destroying.replace('autoApply: true', 'autoApply: false') },
    { of: workspaceMessages, part: 'event.details', how: '{}' },
  ],
  'WV.14': [
    { of: 'attributes of workspaces', part: 'setting-overwrites.execution-mode', how: 'false' },
    ignored('body of PATCH /workspaces/:workspace_id', 'setting-overwrites'),
    ignored(`body of PATCH ${organization}`, 'default-execution-mode'),
  ],
  'WV.16': [ignored('body of POST /runs', 'save-plan')],
  'WV.19': [ignored(`query of GET ${organization}/workspaces`, 'sort')],
  'WV.21': [ignored('query of GET /workspaces/:workspace_id/runs', 'filter[operation]')],
  'WV.22': [ignored(`body of POST ${organization}/workspaces`, 'project')],
  'WV.23': [whole('POST /workspaces/:workspace_id/actions/safe-delete', 'missing')],
  'WV.24': [
    ignored('body of POST /workspaces/:workspace_id/state-versions', 'json-state'),
    ignored('body of POST /workspaces/:workspace_id/state-versions', 'json-state-outputs'),
    { of: 'attributes of state-versions', part: 'hosted-json-state-download-url', how: 'null' },
    { of: 'attributes of state-version-outputs', part: 'detailed-type', how: 'null' },
    { of: 'attributes of state-version-outputs', part: 'detailed-type', how: 'constant' },
  ],
  'WV.26': [
    ignored(`query of GET ${organization}/workspaces`, 'search[tags]'),
    ignored(`query of GET ${organization}/workspaces`, 'search[exclude-tags]'),
  ],
  'WV.29': [
    ignored(`query of GET ${organization}/ssh-keys`, 'page[number]'),
    ignored('query of GET /organizations', 'page[number]'),
  ],
  // Showing an undefined value changes nothing: it is left out of the answer.
  'WV.30': [{ of: configurationVersions, part: 'cv.uploadUrl === undefined', how: 'true' }],
};
