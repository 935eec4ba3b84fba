import {
  flag,
  hasMany,
  hasOne,
  hasOneOf,
  instant,
  linksTo,
  related,
  serializer,
  sometimes,
  type ToOne,
  text,
  toMany,
  toOne,
  whole,
} from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import { actorTypes } from '../../../kernel/audit/audit';
import type { View } from '../../../kernel/endpoints/endpoint';
import { retentionType, retentionTypes } from '../../organizations/organizations/serializer';
import { workspacePolicy } from './policy';
import { effectiveMode, isAssessed, type Workspace } from './workspace';

const path = ({ organization, name }: Workspace): string => `/api/v2/organizations/${organization}/workspaces/${name}`;
const below = ({ id }: Workspace, rest: string): string => `/api/v2/workspaces/${id}/${rest}`;

function repository(workspace: Workspace) {
  const { vcsIdentifier, oauthTokenId, vcsInstallationId } = workspace;
  if (vcsIdentifier === null) {
    return null;
  }
  return {
    branch: workspace.vcsBranch,
    'display-identifier': vcsIdentifier,
    identifier: vcsIdentifier,
    'ingress-submodules': workspace.vcsIngressSubmodules,
    'oauth-token-id': oauthTokenId,
    ...(vcsInstallationId === null ? {} : { 'vcshost-app-installation-id': vcsInstallationId }),
    'repository-http-url': workspace.vcsHttpUrl === null ? null : `${workspace.vcsHttpUrl}/${vcsIdentifier}`,
    'service-provider': workspace.vcsProvider,
    'tags-regex': workspace.vcsTagsRegex,
    'webhook-url': null,
  };
}

function lockedBy({ lockedByType, lockedById }: Workspace): ToOne {
  return { data: lockedByType === null || lockedById === null ? null : { id: lockedById, type: lockedByType } };
}

const workspaceAttributes = {
  name: text,
  description: text.nullable(),
  environment: text,
  'execution-mode': z.enum(['agent', 'remote', 'local']),
  operations: flag,
  'allow-destroy-plan': flag,
  'auto-apply': flag,
  'auto-apply-run-trigger': flag,
  'auto-destroy-at': instant.nullable(),
  'auto-destroy-activity-duration': text.nullable(),
  'file-triggers-enabled': flag,
  'global-remote-state': flag,
  'project-remote-state': flag,
  'secrets-role': text.nullable(),
  'secrets-namespace': text.nullable(),
  'queue-all-runs': flag,
  'speculative-enabled': flag,
  'structured-run-output-enabled': flag,
  'assessments-enabled': flag.optional(),
  locked: flag,
  'locked-reason': text.nullable(),
  'locked-at': instant.nullable(),
  'infra-version': text,
  'trigger-prefixes': z.array(text),
  'trigger-patterns': z.array(text),
  'tag-names': z.array(text),
  'working-directory': text.nullable(),
  'vcs-repo': z
    .object({
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
    })
    .nullable(),
  'vcs-repo-identifier': text.nullable(),
  source: text,
  'source-name': text.nullable(),
  'source-url': text.nullable(),
  'source-module-id': text.nullable(),
  'migration-environment': text.nullable(),
  'created-at': instant,
  'updated-at': instant,
  'latest-change-at': instant,
  'last-assessment-result-at': instant.nullable(),
  'resource-count': whole,
  'apply-duration-average': whole.nullable(),
  'plan-duration-average': whole.nullable(),
  'policy-check-failures': whole.nullable(),
  'run-failures': whole.nullable(),
  'workspace-kpis-runs-count': whole.nullable(),
  'setting-overwrites': z.object({
    'execution-mode': flag,
    'agent-pool': flag,
  }),
  'can-queue-destroy-plan': flag,
  actions: z.object({
    'is-destroyable': flag,
  }),
  permissions: permissions(workspacePolicy),
};

const workspaceRelations = {
  organization: hasOne('organizations'),
  project: hasOne('projects'),
  'agent-pool': hasOne('agent-pools'),
  'current-configuration-version': hasOne('configuration-versions'),
  'current-run': hasOne('runs'),
  'latest-run': hasOne('runs'),
  'current-state-version': hasOne('state-versions'),
  'current-assessment-result': hasOne('assessment-results'),
  'locked-by': hasOneOf(actorTypes),
  'ssh-key': hasOne('ssh-keys'),
  outputs: hasMany('workspace-outputs'),
  readme: hasOne('workspace-readme'),
  vars: hasMany('vars'),
  'remote-state-consumers': linksTo(),
  'tag-bindings': linksTo(),
  'effective-tag-bindings': linksTo('effective-tag-bindings'),
  'data-retention-policy': sometimes(hasOne(...retentionTypes)),
};

/** Spec: Workspace (type `workspaces`; id of the form `ws-<id>`) */
export const workspaceSerializer = serializer<Workspace, View, typeof workspaceAttributes, typeof workspaceRelations>({
  type: 'workspaces',
  shape: workspaceAttributes,
  relations: workspaceRelations,
  id: ({ id }) => id,
  self: path,
  links: ({ organization, name }) => ({ 'self-html': `/app/${organization}/workspaces/${name}` }),
  aliases: {
    'infra-version': 'terraform-version',
    'vcs-repo.vcshost-app-installation-id': 'vcs-repo.github-app-installation-id',
  },
  attributes: (ws, view) => {
    const { mode } = effectiveMode(ws);
    const overwrites = ws.executionMode !== null;
    const permissions = abilities(workspacePolicy, view.access, ws);
    return {
      name: ws.name,
      description: ws.description,
      environment: 'default',
      'execution-mode': mode,
      operations: mode !== 'local',
      'allow-destroy-plan': ws.allowDestroyPlan,
      'auto-apply': ws.autoApply,
      'auto-apply-run-trigger': ws.autoApplyRunTrigger,
      'auto-destroy-at': ws.autoDestroyAt,
      'auto-destroy-activity-duration': ws.autoDestroyActivityDuration,
      'file-triggers-enabled': ws.fileTriggersEnabled,
      'global-remote-state': ws.globalRemoteState,
      'project-remote-state': ws.projectRemoteState,
      'secrets-role': ws.secretsRole,
      'secrets-namespace': ws.secretsNamespace,
      'queue-all-runs': ws.queueAllRuns,
      'speculative-enabled': ws.speculativeEnabled,
      'structured-run-output-enabled': ws.structuredRunOutputEnabled,
      ...(view.edition === 'hosted' ? { 'assessments-enabled': isAssessed(ws) } : {}),
      locked: ws.lockedAt !== null,
      'locked-reason': ws.lockedReason,
      'locked-at': ws.lockedAt,
      'infra-version': ws.infraVersion,
      'trigger-prefixes': ws.triggerPrefixes,
      'trigger-patterns': ws.triggerPatterns,
      'tag-names': ws.tagNames,
      'working-directory': ws.workingDirectory,
      'vcs-repo': repository(ws),
      'vcs-repo-identifier': ws.vcsIdentifier,
      source: ws.source,
      'source-name': ws.sourceName,
      'source-url': ws.sourceUrl,
      'source-module-id': null,
      'migration-environment': null,
      'created-at': ws.createdAt,
      'updated-at': ws.updatedAt,
      'latest-change-at': ws.latestChangeAt,
      'last-assessment-result-at': null,
      'resource-count': ws.resourceCount,
      'apply-duration-average': ws.kpis?.applyMs ?? null,
      'plan-duration-average': ws.kpis?.planMs ?? null,
      // Policies are not built, so none fails.
      'policy-check-failures': ws.kpis === null ? null : 0,
      'run-failures': ws.kpis?.failures ?? null,
      'workspace-kpis-runs-count': ws.kpis?.runs ?? null,
      'setting-overwrites': { 'execution-mode': overwrites, 'agent-pool': overwrites },
      'can-queue-destroy-plan': ws.allowDestroyPlan && permissions['can-queue-destroy'],
      actions: { 'is-destroyable': ws.allowDestroyPlan },
      permissions,
    };
  },
  relationships: (ws, view) => ({
    organization: toOne('organizations', ws.organization),
    project: toOne('projects', ws.projectId),
    'agent-pool': toOne('agent-pools', effectiveMode(ws).poolId),
    'current-configuration-version': toOne('configuration-versions', ws.currentConfigurationId),
    'current-run': toOne('runs', ws.currentRunId),
    'latest-run': toOne('runs', ws.latestRunId),
    'current-state-version': toOne(
      'state-versions',
      ws.currentStateVersionId,
      ws.currentStateVersionId === null ? undefined : below(ws, 'current-state-version'),
    ),
    'current-assessment-result': toOne('assessment-results', null),
    'locked-by': lockedBy(ws),
    'ssh-key': toOne('ssh-keys', ws.sshKeyId),
    outputs: toMany('workspace-outputs', ws.outputIds, below(ws, 'current-state-version-outputs')),
    readme: toOne('workspace-readme', ws.readmeId),
    vars: toMany('vars', ws.variableIds),
    'remote-state-consumers': related(below(ws, 'relationships/remote-state-consumers')),
    'tag-bindings': related(below(ws, 'tag-bindings')),
    'effective-tag-bindings': related(below(ws, 'effective-tag-bindings')),
    ...(view.edition === 'self-hosted'
      ? {
          'data-retention-policy': {
            data: ws.retentionId === null ? null : { id: ws.retentionId, type: retentionType(ws.retentionDays) },
            links: { related: below(ws, 'relationships/data-retention-policy') },
          },
        }
      : {}),
  }),
});
