import type { Mutant } from './mutant';

const organization = '/organizations/:organization_name';
const workspace = '/workspaces/:workspace_id';
const whole = (how: string, ...of: string[]): Mutant[] => of.map((one) => ({ of: one, part: '', how }));
/** An expression of a source file, with its replacement. */
const text = (of: string, part: string, how: string): Mutant => ({ of, part, how });
const each = (of: string, how: string, ...parts: string[]): Mutant[] => parts.map((part) => ({ of, part, how }));

const app = 'apps/workspaces/src/http/app.ts';
const organizationPolicy = 'apps/workspaces/src/resources/organizations/organizations/policy.ts';
const creators = "access.can(org.id, 'manage-workspaces') || access.createsInSome(org.id) || ownToken(access, org)";
const targetProject = 'apps/workspaces/src/resources/workspaces/workspaces/target-project.ts';
const attributeTable = 'packages/jsonapi/src/attribute-table.ts';
const input = 'packages/jsonapi/src/input.ts';
const paging = 'packages/jsonapi/src/paging.ts';
const sshKeys = [`GET ${organization}/ssh-keys`, 'GET /ssh-keys/:ssh_key_id', `POST ${organization}/ssh-keys`];

/** The prefix of another version is equally valid. */
const prefixed = [text(app, 'path.startsWith(`${PREFIX}/`)', "path.startsWith('/api/')")];
const typed = [text(input, '!allowed.includes(type)', 'false')];
const booleans = [
  ...['cost-estimation', 'configuration-designer', 'module-tests-generation', 'operations', 'private-module-registry'],
  ...['policy-enforcement', 'polengine', 'run-tasks', 'state-storage', 'teams', 'vcs-integrations', 'usage-reporting'],
  ...['self-serve-billing', 'audit-logging', 'agents', 'sso'],
];
const limits = [
  ...['run-task-limit', 'run-task-workspace-limit', 'run-task-mandatory-enforcement-limit', 'policy-set-limit'],
  ...['policy-limit', 'policy-mandatory-enforcement-limit', 'versioned-policy-set-limit'],
];

/** Mutants of the sentences of the workspace service's specification outside tables. */
export const proseOfWorkspaces: Readonly<Record<string, readonly Mutant[]>> = {
  'WP.3': whole('for every edition', `GET ${organization}/relationships/module-producers`),
  'WP.4': [
    ...each(`body of POST ${organization}/workspaces`, 'ignored', 'vcs-repo'),
    ...whole('missing', `POST ${workspace}/state-versions`, 'POST /organizations', `POST ${organization}/workspaces`),
  ],
  'WP.5': prefixed,
  'WP.6': [
    text(
      'apps/workspaces/src/http/messages.ts',
      'sendText(res, answer.status, JSON_API, answer.body, headers)',
      "sendText(res, answer.status, 'application/json', answer.body, headers)",
    ),
  ],
  'WP.7': [
    text('apps/workspaces/src/http/messages.ts', '!accepted.includes(type)', 'false'),
    text('apps/workspaces/src/http/messages.ts', '!accepted.includes(type)', "type !== 'application/json'"),
  ],
  'WP.8': each('query of GET /organizations', 'ignored', 'page[number]', 'page[size]'),
  'WP.9': [
    ...each(
      'answer of GET /organizations',
      'other',
      ...['self', 'first', 'prev', 'next', 'last'].map((n) => `links.${n}`),
    ),
    ...each(
      'answer of GET /organizations',
      'other',
      ...['current-page', 'page-size', 'prev-page', 'next-page', 'total-pages', 'total-count'].map(
        (name) => `meta.pagination.${name}`,
      ),
    ),
    text(paging, 'page.number > 1 ? page.number - 1 : null', 'page.number - 1'),
    text(paging, 'page.number < pages ? page.number + 1 : null', 'page.number + 1'),
    text(paging, "page['prev-page'] === null ? null : link(page['prev-page'])", "link(page['prev-page'] ?? 1)"),
    text(paging, "page['next-page'] === null ? null : link(page['next-page'])", "link(page['next-page'] ?? 1)"),
  ],
  'WP.10': [
    ...each('id of workspaces', 'other', 'id'),
    ...each('links of workspaces', 'other', 'self'),
    text(
      'packages/jsonapi/src/serializer.ts',
      "typeof spec.type === 'string' ? spec.type : spec.type(item, view)",
      "'things'",
    ),
    text('packages/jsonapi/src/serializer.ts', 'spec.relationships !== undefined', 'false'),
  ],
  'WP.11': [
    ...each(
      'relationships of organizations',
      'missing',
      ...['default-agent-pool', 'oauth-tokens', 'authentication-token', 'entitlement-set', 'subscription'],
      ...['module-producers', 'data-retention-policy'],
    ),
    ...each('relationships of organizations', 'null', 'default-agent-pool.data', 'entitlement-set.data'),
    ...each(
      'relationships of organizations',
      'other',
      ...['default-agent-pool.data.id', 'entitlement-set.data.id', 'entitlement-set.links.related'],
      ...['oauth-tokens.links.related', 'authentication-token.links.related', 'subscription.links.related'],
      ...['module-producers.links.related', 'data-retention-policy.links.related'],
    ),
  ],
  'WP.12': [
    ...each(`query of GET ${organization}`, 'ignored', 'include'),
    ...each('query of GET /organizations', 'ignored', 'include'),
  ],
  'WP.13': each('attributes of entitlement-sets', 'null', ...booleans),
  'WP.14': each('attributes of entitlement-sets', 'missing', ...limits),
  'WP.15': each('attributes of entitlement-sets', 'missing', 'user-limit'),
  'WP.16': [
    ...each('links of entitlement-sets', 'other', 'self'),
    ...each('links of entitlement-sets', 'missing', 'self'),
  ],
  'WP.17': [
    text(attributeTable, 'edition === undefined || edition === view.edition', 'true'),
    text(attributeTable, 'edition === undefined || edition === view.edition', 'edition === undefined'),
    ...each(`body of PATCH ${workspace}`, 'ignored', 'assessments-enabled'),
  ],
  'WP.18': [
    ...each(
      'relationships of workspaces',
      'missing',
      ...['agent-pool', 'current-configuration-version', 'current-run', 'current-state-version'],
      ...['current-assessment-result', 'latest-run', 'organization', 'outputs', 'readme', 'project', 'vars'],
      'remote-state-consumers',
    ),
    ...each('relationships of workspaces', 'other', 'remote-state-consumers.links.related'),
  ],
  'WP.19': [
    ...each(
      'relationships of workspaces',
      'null',
      ...['agent-pool', 'current-configuration-version', 'current-run', 'current-state-version', 'latest-run'].map(
        (name) => `${name}.data`,
      ),
      ...['organization.data', 'project.data'],
    ),
    ...each(
      'relationships of workspaces',
      'other',
      'outputs.data',
      'vars.data',
      'current-assessment-result.data',
      'readme.data',
    ),
  ],
  'WP.21': [
    ...each('attributes of ssh-keys', 'null', 'name'),
    ...each('attributes of ssh-keys', 'constant', 'name'),
    ...each('links of ssh-keys', 'other', 'self'),
  ],
  'WP.22': [
    text(
      'apps/workspaces/src/resources/connections/ssh-keys/routes.ts',
      'sshKeys.create(db, env, actorOf(call), target.organizationId, body)',
      'sshKeys.create(db, env, actorOf(call), target.organizationId, body).then((key) => ({ ...key, kind: body.value }))',
    ),
  ],
  'WP.23': [
    ...whole('missing', `PATCH ${workspace}/relationships/ssh-key`),
    ...each('relationships of workspaces', 'null', 'ssh-key.data'),
    ...each('body of PATCH /oauth-tokens/:oauth_token_id', 'ignored', 'ssh-key'),
  ],
  'WP.26': prefixed,
  'WP.27': each('id of organizations', 'other', 'id'),
  'WP.29': each('query of GET /organizations', 'ignored', 'q', 'q[email]', 'q[name]', 'page[number]', 'page[size]'),
  'WP.30': [
    text(paging, "size === undefined && paging === 'optional'", 'false'),
    text(paging, 'number ?? 1', 'number ?? 2'),
    text(paging, 'size ?? DEFAULT_SIZE', 'size ?? 21'),
  ],
  'WP.31': [...typed, ...each('body of POST /organizations', 'unchecked', 'name', 'email')],
  'WP.33': typed,
  'WP.34': each(`body of POST ${organization}/workspaces`, 'unchecked', 'name'),
  'WP.35': [
    { of: `body of PATCH ${workspace}`, part: 'auto-apply', how: 'left out means true' },
    { of: `body of PATCH ${organization}/workspaces/:name`, part: 'description', how: 'left out means null' },
    { of: `body of PATCH ${organization}/workspaces/:name`, part: 'allow-destroy-plan', how: 'left out means true' },
  ],
  'WP.36': [
    ...each(
      `query of GET ${organization}/workspaces`,
      'ignored',
      ...['page[number]', 'page[size]', 'search[name]', 'search[tags]', 'search[exclude-tags]'],
    ),
    text(paging, 'size ?? DEFAULT_SIZE', 'size ?? 21'),
  ],
  'WP.38': each(`query of GET ${organization}/workspaces`, 'ignored', 'sort'),
  'WP.39': [
    ...whole('for everyone', `GET ${workspace}`, `PATCH ${workspace}`),
    ...whole('for everyone', ...['lock', 'unlock', 'force-unlock'].map((name) => `POST ${workspace}/actions/${name}`)),
    ...each('rules of workspaces/workspaces', 'false', 'can-read-settings', 'can-update', 'can-lock', 'can-unlock'),
    ...each('rules of workspaces/workspaces', 'false', 'can-force-unlock'),
  ],
  'WP.40': [
    text(organizationPolicy, creators, "access.can(org.id, 'manage-workspaces') || ownToken(access, org)"),
    text(organizationPolicy, creators, 'owner(access, org)'),
    text(targetProject, "!access.hasProject(target, 'workspaces:create')", 'false'),
  ],
  'WP.41': whole('for every token', ...sshKeys),
  'WP.42': whole('for everyone', `POST ${organization}/ssh-keys`),
};
