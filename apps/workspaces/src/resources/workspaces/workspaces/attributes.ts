import { attributesOf, flag, instant, sentInstant, text, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import type { View } from '../../../kernel/endpoints/endpoint';
import { webhookUrl } from '../../connections/repositories/repository';
import { secretsLogin } from '../../installation/identity-tokens/schema';
import { workspacePolicy } from './policy';
import { effectiveMode, isAssessed, type Workspace } from './workspace';

const { setting, toggle, ruled, writeOnly, shown, table } = attributesOf<Workspace, View>();

const NAME = /^[A-Za-z0-9_-]+$/;
const MOST_PATHS = 1000;
const DURATION = /^\d{1,4}[dh]$/;

const name = z.string().min(1).max(90).regex(NAME, 'Name can only include letters, numbers, dashes and underscores');
const textUpTo = (longest: number) => z.string().max(longest).nullable();
const paths = z.array(z.string().max(4096)).max(MOST_PATHS).nullable();

/** A folder, with or without a leading slash, like trigger prefixes. */
const folder = z
  .string()
  .max(4096)
  .refine((value) => !value.split('/').includes('..'), 'must be a path in the repository');

/**
 * Files of variables, like the tool's `-var-file`. A path that begins with a slash is relative to the root of the
 * repository.
 */
const varFiles = z.array(folder.min(1)).max(100);

const duration = z
  .string()
  .refine(
    (value) => DURATION.test(value) && Number.parseInt(value, 10) > 0,
    "Auto destroy activity duration has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')",
  );

const timestamp = sentInstant('must be an ISO 8601 timestamp');

const address = z
  .string()
  .max(2048)
  .regex(/^https?:\/\//, 'must be an http or https address');

const repositorySent = z.object({
  branch: z.string().max(255).nullable().optional(),
  identifier: z
    .string()
    .max(512)
    .regex(/^[^/\s]+(?:\/[^/\s]+)+$|^$/, 'must have the form :org/:repo')
    .optional(),
  'ingress-submodules': z.boolean().optional(),
  'oauth-token-id': z.string().nullable().optional(),
  'vcshost-app-installation-id': z.string().nullable().optional(),
  'tags-regex': z.string().max(1024).nullable().optional(),
});

const repositoryShown = z.object({
  branch: text.nullable(),
  'display-identifier': text,
  identifier: text,
  'ingress-submodules': flag,
  'oauth-token-id': text.nullable(),
  'vcshost-app-installation-id': text.optional(),
  'repository-http-url': text.nullable(),
  'service-provider': text.nullable(),
  'tags-regex': text.nullable(),
  'webhook-url': text.nullable(),
});

function repository(workspace: Workspace, { publicUrl }: View) {
  const { vcsIdentifier, oauthTokenId, vcsInstallationId } = workspace;
  if (vcsIdentifier === null) return null;
  return {
    branch: workspace.vcsBranch,
    'display-identifier': workspace.vcsDisplayIdentifier ?? vcsIdentifier,
    identifier: vcsIdentifier,
    'ingress-submodules': workspace.vcsIngressSubmodules,
    'oauth-token-id': vcsInstallationId === null ? oauthTokenId : null,
    ...(vcsInstallationId === null ? {} : { 'vcshost-app-installation-id': vcsInstallationId }),
    'repository-http-url':
      workspace.vcsRepositoryUrl ?? (workspace.vcsHttpUrl === null ? null : `${workspace.vcsHttpUrl}/${vcsIdentifier}`),
    'service-provider': workspace.vcsProvider,
    'tags-regex': workspace.vcsTagsRegex,
    'webhook-url':
      workspace.vcsRepositoryId === null || vcsInstallationId !== null
        ? null
        : webhookUrl(publicUrl, workspace.vcsRepositoryId),
  };
}

/** Whether execution mode and agent pool are set in the workspace itself. The two change together. */
const overwritten = z.object({ 'execution-mode': flag, 'agent-pool': flag });

function overwrites({ executionMode }: Workspace) {
  const isOwn = executionMode !== null;
  return { 'execution-mode': isOwn, 'agent-pool': isOwn };
}

/**
 * The attributes of a workspace, one row each. Request bodies, responses, columns, the API description and the import
 * are derived from this table. The rules between them are in `settings.ts`.
 * Spec: Workspace (type `workspaces`; id of the form `ws-<id>`)
 */
export const workspaceAttributes = table({
  name: setting('name', { type: text, takes: name, initial: '', when: 'required' }),
  description: setting('description', { type: text.nullable(), takes: textUpTo(65_536), initial: null }),
  environment: shown(text, () => 'default'),
  'execution-mode': ruled({
    type: z.enum(['agent', 'remote', 'local']),
    takes: z.enum(['remote', 'local', 'agent']).nullable(),
    show: (ws) => effectiveMode(ws).mode,
    columns: { executionMode: null },
  }),
  // The attribute is shown as a relationship.
  'agent-pool-id': writeOnly(z.string().nullable(), { agentPoolId: null }),
  operations: ruled({ type: flag, takes: flag, show: (ws) => effectiveMode(ws).mode !== 'local' }),
  'allow-destroy-plan': toggle('allowDestroyPlan', true),
  'auto-apply': toggle('autoApply', false),
  'auto-apply-run-trigger': toggle('autoApplyRunTrigger', false),
  'auto-destroy-at': ruled({
    type: instant.nullable(),
    takes: timestamp.nullable(),
    show: (ws) => ws.autoDestroyAt ?? ws.autoDestroyDueAt,
    columns: { autoDestroyAt: null },
  }),
  'auto-destroy-activity-duration': ruled({
    type: text.nullable(),
    takes: duration.nullable(),
    show: (ws) => (ws.inheritsProjectAutoDestroy ? ws.projectAutoDestroy : ws.autoDestroyActivityDuration),
    columns: { autoDestroyActivityDuration: null },
  }),
  'inherits-project-auto-destroy': ruled({
    type: flag,
    takes: flag,
    show: (ws) => ws.inheritsProjectAutoDestroy,
    columns: { inheritsProjectAutoDestroy: true },
  }),
  'file-triggers-enabled': toggle('fileTriggersEnabled', true),
  // The default for new workspaces is a setting of the installation.
  'global-remote-state': ruled({
    type: flag,
    takes: flag,
    show: (ws) => ws.globalRemoteState,
    columns: { globalRemoteState: false },
  }),
  'project-remote-state': ruled({
    type: flag,
    takes: flag,
    show: (ws) => ws.projectRemoteState,
    columns: { projectRemoteState: false },
  }),
  'secrets-role': setting('secretsRole', {
    type: text.nullable(),
    takes: secretsLogin['secrets-role'],
    initial: null,
  }),
  'secrets-namespace': setting('secretsNamespace', {
    type: text.nullable(),
    takes: secretsLogin['secrets-namespace'],
    initial: null,
  }),
  'queue-all-runs': toggle('queueAllRuns', false),
  'speculative-enabled': toggle('speculativeEnabled', true),
  'structured-run-output-enabled': toggle('structuredRunOutputEnabled', true),
  'assessments-enabled': toggle('assessmentsEnabled', false, {
    type: flag.optional(),
    show: isAssessed,
    edition: 'hosted',
  }),
  locked: shown(flag, (ws) => ws.lockedAt !== null),
  'locked-reason': shown(text.nullable(), (ws) => ws.lockedReason),
  'locked-at': shown(instant.nullable(), (ws) => ws.lockedAt),
  // New workspaces get the newest version.
  'infra-version': ruled({
    type: text,
    takes: textUpTo(255),
    show: (ws) => ws.infraVersion,
    columns: { infraVersion: '' },
    alias: 'terraform-version',
  }),
  'trigger-prefixes': ruled({
    type: z.array(text),
    takes: paths,
    show: (ws) => ws.triggerPrefixes,
    columns: { triggerPrefixes: [] },
  }),
  'trigger-patterns': ruled({
    type: z.array(text),
    takes: paths,
    show: (ws) => ws.triggerPatterns,
    columns: { triggerPatterns: [] },
  }),
  'tag-names': shown(z.array(text), (ws) => ws.tagNames),
  'working-directory': ruled({
    type: text.nullable(),
    takes: folder.nullable(),
    show: (ws) => ws.workingDirectory,
    columns: { workingDirectory: null },
  }),
  'var-files': setting('varFiles', { type: z.array(text), takes: varFiles, initial: [] }),
  'vcs-repo': ruled({
    type: repositoryShown.nullable(),
    takes: repositorySent.nullable(),
    show: repository,
    columns: {
      vcsIdentifier: null,
      vcsBranch: null,
      vcsIngressSubmodules: false,
      vcsTagsRegex: null,
      oauthTokenId: null,
      vcsInstallationId: null,
    },
    alias: { 'vcshost-app-installation-id': 'github-app-installation-id' },
  }),
  'vcs-repo-identifier': shown(text.nullable(), (ws) => ws.vcsIdentifier),
  source: shown(text, (ws) => ws.source),
  'source-name': ruled({ type: text.nullable(), takes: textUpTo(255), show: (ws) => ws.sourceName, when: 'create' }),
  'source-url': ruled({ type: text.nullable(), takes: address.nullable(), show: (ws) => ws.sourceUrl, when: 'create' }),
  'source-module-id': shown(text.nullable(), (ws) => ws.sourceModuleId),
  'migration-environment': shown(text.nullable(), () => null),
  'created-at': shown(instant, (ws) => ws.createdAt),
  'updated-at': shown(instant, (ws) => ws.updatedAt),
  'latest-change-at': shown(instant, (ws) => ws.latestChangeAt),
  'last-assessment-result-at': shown(instant.nullable(), (ws) => ws.lastAssessmentResultAt),
  'resource-count': shown(whole, (ws) => ws.resourceCount),
  'apply-duration-average': shown(whole.nullable(), (ws) => ws.kpis?.applyMs ?? null),
  'plan-duration-average': shown(whole.nullable(), (ws) => ws.kpis?.planMs ?? null),
  'policy-check-failures': shown(whole.nullable(), (ws) => ws.kpis?.policyFailures ?? null),
  'run-failures': shown(whole.nullable(), (ws) => ws.kpis?.failures ?? null),
  'workspace-kpis-runs-count': shown(whole.nullable(), (ws) => ws.kpis?.runs ?? null),
  'setting-overwrites': ruled({
    type: overwritten,
    takes: overwritten.partial().nullable(),
    show: overwrites,
  }),
  'can-queue-destroy-plan': shown(
    flag,
    (ws, { access }) => ws.allowDestroyPlan && workspacePolicy['can-queue-destroy'](access, ws),
  ),
  actions: shown(z.object({ 'is-destroyable': flag }), (ws) => ({ 'is-destroyable': ws.allowDestroyPlan })),
  permissions: shown(permissions(workspacePolicy), (ws, { access }) => abilities(workspacePolicy, access, ws)),
});

/** The columns of a workspace that its users set. */
export type WorkspaceSettings = typeof workspaceAttributes.initial;
